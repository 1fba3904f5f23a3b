"""The usage intervals in memory while they are brought up to date: ended, begun, and written at once."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from cluster.models import CapacityState, Run, UsageInterval
from cluster.pipeline.bulk import update_rows

Key = tuple[str, int, int | None]
"""(state, GPU model key, run key)"""
OF_RUNS = frozenset(
    {
        CapacityState.BUSY,
        CapacityState.IDLE_ALLOCATED,
        CapacityState.UNKNOWN_ALLOCATED,
        CapacityState.STARTING,
    }
)


def key_of(row: UsageInterval) -> Key:
    return (row.state, row.gpu_model_id, row.run_id)


@dataclass
class Book:
    """The open rows by key, and what is to be written of rows old and new."""

    at: datetime
    open: dict[Key, UsageInterval]
    _ended: dict[int, UsageInterval] = field(default_factory=dict)
    _empty: set[int] = field(default_factory=set)
    _fresh: list[UsageInterval] = field(default_factory=list)

    @classmethod
    def opened(cls, at: datetime) -> "Book":
        rows = UsageInterval.objects.filter(ended_at=None).select_related("run")
        of_run = ("run__state", "run__job", "run__ready_at", "run__ended_at")
        own = [field.attname for field in UsageInterval._meta.concrete_fields]
        return cls(at, {key_of(row): row for row in rows.only(*own, *of_run)})

    def end(self, row: UsageInterval, moment: datetime) -> None:
        """End a row, or end it earlier. One that would have no length never was: it is taken away."""
        if row.ended_at is None:
            del self.open[key_of(row)]
        row.ended_at = moment
        if moment > row.started_at:
            if row.pk is not None:
                self._ended[row.pk] = row
        elif row.pk is None:
            self._fresh.remove(row)
        else:
            self._empty.add(row.pk)
            self._ended.pop(row.pk, None)

    def begin(
        self,
        key: Key,
        gpus: int,
        loan_gpus: int,
        usd_per_gpu_hour: Decimal,
        run: Run | None = None,
        start: datetime | None = None,
    ) -> None:
        """Open a row, now or from an earlier moment on."""
        state, model_id, run_id = key
        row = self.open[key] = UsageInterval(
            state=state,
            gpu_model_id=model_id,
            run_id=run_id,
            job_id=run.job_id if run else None,
            tenant_id=run.job.tenant_id if run else None,
            gpus=gpus,
            loan_gpus=loan_gpus,
            usd_per_gpu_hour=usd_per_gpu_hour,
            started_at=start or self.at,
        )
        self._fresh.append(row)

    def past(
        self, like: UsageInterval, state: str, gpus: int, start: datetime, end: datetime, loan_gpus: int = 0
    ) -> None:
        """Add a stretch that is over: of the model and rate of `like`; of its run, too, in a run's state."""
        if not gpus or start >= end:
            return
        held = state in OF_RUNS
        self._fresh.append(
            UsageInterval(
                state=state,
                gpu_model_id=like.gpu_model_id,
                run_id=like.run_id if held else None,
                job_id=like.job_id if held else None,
                tenant_id=like.tenant_id if held else None,
                gpus=gpus,
                loan_gpus=loan_gpus,
                usd_per_gpu_hour=like.usd_per_gpu_hour,
                started_at=start,
                ended_at=end,
            )
        )

    def write(self) -> None:
        UsageInterval.objects.filter(pk__in=self._empty).delete()
        update_rows(self._ended.values(), ["ended_at"])
        UsageInterval.objects.bulk_create(self._fresh, batch_size=500)
