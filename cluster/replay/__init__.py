"""Replaying a trace through the real planner: the set-up, what is measured, and what it is held against."""
