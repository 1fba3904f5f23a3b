"""While Lockstep starts, nobody ticks; the demo's clock must not run ahead meanwhile."""

from datetime import timedelta

import pytest
import time_machine

from cluster.engines.simulated import SimulatedEngine, start_clock
from cluster.engines.standing_clock import standing_clock
from cluster.models import SimulatedClock

pytestmark = pytest.mark.django_db


def test_the_clock_stands_during_the_start_and_then_goes_on_at_its_speed():
    with time_machine.travel("2026-03-01T08:00Z", tick=False) as wall:
        start_clock(60.0)
        began = SimulatedEngine().now()
        with standing_clock():
            wall.shift(timedelta(seconds=10))
            assert SimulatedEngine().now() == began
        wall.shift(timedelta(seconds=2))
        assert SimulatedEngine().now() == began + timedelta(seconds=120)


def test_an_installation_without_a_virtual_clock_gets_none():
    with standing_clock():
        pass
    assert not SimulatedClock.objects.exists()
