"""HiGHS greets on standard output when its first instance is made; a command's output is not the place."""

import os
import sys


def hush_solver() -> None:
    """Make the first HiGHS instance while standard output leads nowhere. Call it before threads write."""
    try:
        import highspy
    except ImportError:  # CBC does as well
        return
    sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:  # no standard output at all
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        highspy.Highs()  # type: ignore[no-untyped-call]
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
