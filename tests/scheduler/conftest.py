"""What the tests of the pure planner may use. Nothing here touches a database."""

import pytest

from tests.scheduler.worlds import Story


@pytest.fixture
def world() -> Story:
    """64 GPUs on 8 nodes, in blocks of 2 and pods of 4 nodes."""
    return Story()
