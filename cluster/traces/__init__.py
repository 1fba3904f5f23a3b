"""Readers of public workload traces. Pure Python: no Django, no clock."""

from cluster.traces.registry import FORMATS, detect_format, read_trace
from cluster.traces.trace import Trace, TraceError, TraceJob

__all__ = ["FORMATS", "Trace", "TraceError", "TraceJob", "detect_format", "read_trace"]
