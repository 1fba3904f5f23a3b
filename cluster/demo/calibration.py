"""What the generated workload is fitted to. Nothing here is a record of a real cluster.

Published or measured on public data (all of it CC-BY-4.0):
- Philly, reduction of 82,247 jobs (Jeon et al., USENIX ATC '19): run time median 1,144 s, mean 13,136 s;
  larger gangs run longer (median of 1 GPU 1,117 s, of 8 GPUs 23,683 s); submissions vary about 1 : 3 over
  the day.
- Helios, 1,580,464 GPU jobs (Hu et al., SC '21): run time median 206 s, mean 6,652 s; 3.7 GPUs a job; by jobs
  62 % complete, 22 % are cancelled, 16 % fail. In its Venus cut gangs over several nodes take 86 % of
  GPU-hours, and most gangs of 64 GPUs or more end within five minutes (debug runs).
- Acme Kalos (Hu et al., NSDI '24), a cluster for language models: 26.8 GPUs a job.

Assumed: gangs above 8 GPUs are more frequent than in Helios and rarer than in Kalos (6 to 9 GPUs a job), run
times are cut at 20 hours, users overestimate them, one job in eight idles for a part of its run, the rhythm
of the day is flatter (1 : 2) and there is none of the week, so that the demonstration is alike at all times.
More is asked for than there is (load 1.3); users hold back while twice the cluster is waiting already.
"""

from dataclasses import dataclass
from math import exp, log
from statistics import NormalDist


@dataclass(frozen=True, slots=True)
class SizeClass:
    """Gangs of one size: how frequent, and how long they run (lognormal, in seconds)."""

    gpus: int
    share: float
    median_s: float
    sigma: float

    def mean_s(self, least: float, most: float) -> float:
        """Mean run time when it is cut to these bounds (by quantiles)."""
        log_s = NormalDist(log(self.median_s), self.sigma)
        quantiles = (exp(log_s.inv_cdf((n + 0.5) / 400)) for n in range(400))
        return sum(min(max(s, least), most) for s in quantiles) / 400


SIZES = (
    SizeClass(1, 0.46, 600, 1.8),
    SizeClass(2, 0.10, 700, 1.8),
    SizeClass(4, 0.12, 1500, 1.7),
    SizeClass(8, 0.17, 2400, 1.5),
    SizeClass(16, 0.07, 3600, 1.4),
    SizeClass(32, 0.045, 4200, 1.4),
    SizeClass(64, 0.022, 6000, 1.3),
    SizeClass(128, 0.009, 8000, 1.2),
    SizeClass(192, 0.004, 9000, 1.2),
)
SHORTEST_S, LONGEST_S = 30.0, 20 * 3600.0

DEBUG_SHARE = 0.25
"""of gangs over several nodes: they crash within five minutes"""
DEBUG_S = (30.0, 300.0)
FAILING_SHARE = 0.155
"""of all other jobs: they crash somewhere on the way (Helios by jobs)"""

IDLE_SHARE = 0.125
"""of jobs: they hold their GPUs for a part of the run without computing"""
SILENT_SHARE = 0.02
"""of jobs: no activity signal comes from them at all"""

LOAD = 1.3
"""submitted GPU time over installed"""
PATIENCE = 2.0
"""users submit nothing more while so many times the installed GPUs are waited for"""

PEAK_HOUR = 15
"""UTC hour with the most submissions"""
SWING = 0.35
"""submissions at the peak and in the trough: 1 ± this (about 1 : 2)"""

SWEEP_SHARE = 0.04
"""of submissions: a sweep of equal small jobs at one moment"""
SWEEP_JOBS = (6, 16)

OVERESTIMATE_SIGMA = 0.5
OVERESTIMATE_MEDIAN = 1.5
ESTIMATES_S = (300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200, 86_400)
"""what users write: the next round number above what they guess"""
