"""One tick in which everything happens at once, for tests that break it in the middle."""

from datetime import timedelta

from cluster.models import Job, JobState, Run, RunState
from cluster.services.cancel_job import cancel_job
from tests.pipeline.audit import AuditedCluster


class BusyScene:
    """A cluster on the verge of a tick that ends, starts, preempts, stops, reserves, fails and books.

    `tiny.now` stands at that tick; `jobs` are all jobs by the part they play.
    """

    def __init__(self, tiny: AuditedCluster) -> None:
        self.tiny = tiny
        crowd = tiny.tenant("crowd", gpus=128)
        work = {"checkpoint_cost_s": 20, "grace_s": 60, "restart_cost_s": 10, "checkpoint_interval_s": 100}
        self.jobs: dict[str, Job] = {}

        def submit(part: str, gpus: int = 8, **more) -> None:
            self.jobs[part] = tiny.submit(crowd, gpus=gpus, name=part, **{**work, **more})

        # A gang is ready 20 to 90 seconds after its launch: these two end between 220 and 300 s.
        submit("completes", expected_duration_s=205, checkpoint_interval_s=None)
        submit("fails", checkpoint_interval_s=None, workload={"fail_after_s": 205})
        submit("loses its node", expected_duration_s=900)
        submit("never ready", readiness_timeout_s=250, retry_limit=0, workload={"never_ready": 1.0})
        submit("is cancelled", expected_duration_s=900)
        submit("first victim", tier="best_effort", expected_duration_s=900)
        submit("second victim", tier="best_effort", expected_duration_s=900)
        submit("goes on", expected_duration_s=700)
        tiny.tick()
        tiny.advance(120)
        submit("waits for all", gpus=64, expected_duration_s=200)
        tiny.advance(100)
        tiny.move(60)
        tiny.lose(self._node("loses its node"), repair_s=600)
        tiny.move(10)
        cancel_job(by=tiny.owner, job=self.jobs["is cancelled"])
        submit("cancelled before it started", gpus=16)
        submit("starts", tier="production", expected_duration_s=200)
        submit("urgent", gpus=40, tier="production", expected_duration_s=200)
        cancel_job(by=tiny.owner, job=self.jobs["cancelled before it started"])
        tiny.move(10)

    def _node(self, part: str) -> str:
        return Run.objects.get(job=self.jobs[part]).allocations.first().node.name

    ENDS = {
        "completes": JobState.COMPLETED,
        "fails": JobState.FAILED,
        "loses its node": JobState.COMPLETED,
        "never ready": JobState.FAILED,
        "is cancelled": JobState.CANCELLED,
        "first victim": JobState.COMPLETED,
        "second victim": JobState.COMPLETED,
        "goes on": JobState.COMPLETED,
        "waits for all": JobState.COMPLETED,
        "cancelled before it started": JobState.CANCELLED,
        "starts": JobState.COMPLETED,
        "urgent": JobState.COMPLETED,
    }

    def assert_no_job_is_charged_for_it(self) -> None:
        """A dead worker is no failed start and no lost node: only one job has lost a node."""
        retried = Job.objects.filter(retries__gt=0).values_list("name", "retries")
        assert list(retried) == [("loses its node", 1)]

    def assert_every_job_reaches_its_end(self) -> None:
        """Let time pass in long strides until nothing is left to do."""
        end = self.tiny.now + timedelta(hours=3)
        while self.tiny.now < end and not all(self.tiny.fresh(job).is_over for job in self.jobs.values()):
            self.tiny.advance(120)
        for part, job in self.jobs.items():
            assert job.state == self.ENDS[part], f"{part}: {job.state} ({job.state_reason})"
        assert not Run.objects.exclude(state=RunState.ENDED).exists()
