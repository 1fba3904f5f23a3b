"""Measuring: replay speed, tick time and page time at 10,000 GPUs, on a database that is thrown away."""
