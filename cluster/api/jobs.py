"""Jobs: the queue and everything that has been in it; submitting, and acting on one."""

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from cluster.api.decisions import ORDERINGS as DECISION_ORDERINGS
from cluster.api.decisions import DecisionFilter, DecisionRow, decision_rows
from cluster.api.errors import Conflict
from cluster.api.events import EventFilter, EventRow, event_rows, followed
from cluster.api.explain import explanation_for
from cluster.api.job_request import ActionRequest, HoldRequest, JobRequest
from cluster.api.job_rows import ORDERINGS, JobFilter, JobRow, job_rows
from cluster.api.pagination import FollowedLog
from cluster.api.runs import ORDERINGS as RUN_ORDERINGS
from cluster.api.runs import CheckpointFilter, CheckpointRow, RunFilter, RunRow, run_rows
from cluster.api.verdicts import ExplanationRow, ForecastRow
from cluster.api.viewset import ReadResource
from cluster.models import Checkpoint, Forecast, Job
from cluster.services.cancel_job import cancel_job
from cluster.services.hold_job import hold_job, release_job
from cluster.services.submit_job import submit_job
from tenancy.permissions import Action, require

HINTS = OpenApiParameter("hints", bool, description="`false` leaves out what would unblock it: faster.")


class Jobs(ReadResource):
    """What tenants ask for. Jobs of tenants that are not yours are shown as numbers: names are null."""

    queryset = job_rows()
    serializer_class = JobRow
    filterset_class = JobFilter
    orderings = ORDERINGS
    default_ordering = "-submitted_at"
    noun = "job"
    csv_actions = frozenset({"list", "decisions", "runs", "checkpoints", "events"})

    @extend_schema(request=JobRequest, responses={201: JobRow})
    def create(self, request: Request, **kwargs: Any) -> Response:
        """Submit a job. Refused at once if it could never run on the cluster as it is installed."""
        job = submit_job(by=request.user, **self.asked(JobRequest))
        return Response(self._shown(job), status=status.HTTP_201_CREATED)

    # acting on one

    @extend_schema(request=ActionRequest, responses=JobRow)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, **kwargs: Any) -> Response:
        """Cancel it. A pending job is out at once; a running one gets its signal and grace window first."""
        return self._act(ActionRequest, cancel_job)

    @extend_schema(request=HoldRequest, responses=JobRow)
    @action(detail=True, methods=["post"])
    def hold(self, request: Request, **kwargs: Any) -> Response:
        """Hold it: a pending job is kept from starting, for a stated reason."""
        return self._act(HoldRequest, hold_job)

    @extend_schema(request=ActionRequest, responses=JobRow)
    @action(detail=True, methods=["post"])
    def release(self, request: Request, **kwargs: Any) -> Response:
        """Release it: the hold ends, and the job keeps its age."""
        return self._act(ActionRequest, release_job)

    def _act(self, form: type[ActionRequest], service: Callable[..., Job]) -> Response:
        asked = self.asked(form)
        version = asked.pop("version", None)
        job = self.get_object()
        with transaction.atomic():
            done = service(by=self.request.user, job=_claimed(job, version), **asked)
        return Response(self._shown(done))

    def _shown(self, job: Job) -> Any:
        return JobRow(self.get_queryset().get(pk=job.pk), context=self.get_serializer_context()).data

    # reading more of one

    @extend_schema(responses=ExplanationRow, parameters=[HINTS])
    @action(detail=True, filterset_class=None)
    def explain(self, request: Request, **kwargs: Any) -> Response:
        """Why it waits: the reason, the checklist, what would unblock it, expected start."""
        return Response(explanation_for(self._seen(), request))

    @extend_schema(responses=ForecastRow)
    @action(detail=True, filterset_class=None)
    def forecast(self, request: Request, **kwargs: Any) -> Response:
        """When it is expected to start. Blank rather than wrong."""
        job = self.get_object()
        found = Forecast.objects.filter(job=job).first() or Forecast(job=job, samples=0)
        row = ForecastRow(
            {
                "job": job.pk,
                "expected_start_median_at": found.median_at,
                "expected_start_p90_at": found.p90_at,
                "samples": found.samples,
                "computed_at": found.computed_at,
            }
        )
        return Response(row.data)

    @extend_schema(responses=DecisionRow(many=True))
    @action(
        detail=True,
        serializer_class=DecisionRow,
        filterset_class=DecisionFilter,
        orderings=DECISION_ORDERINGS,
        default_ordering="-made_at",
    )
    def decisions(self, request: Request, **kwargs: Any) -> HttpResponseBase:
        """Its decisions: one for each change of the reason, the newest first."""
        return self.listed(decision_rows().filter(job=self._seen()))

    @extend_schema(responses=RunRow(many=True))
    @action(
        detail=True,
        serializer_class=RunRow,
        filterset_class=RunFilter,
        orderings=RUN_ORDERINGS,
        default_ordering="-number",
    )
    def runs(self, request: Request, **kwargs: Any) -> HttpResponseBase:
        """Its runs, the newest first."""
        return self.listed(run_rows().filter(job=self._seen()))

    @extend_schema(responses=CheckpointRow(many=True))
    @action(
        detail=True,
        serializer_class=CheckpointRow,
        filterset_class=CheckpointFilter,
        orderings={"id": "id", "at": "at", "progress_s": "progress_s"},
        default_ordering="-at",
    )
    def checkpoints(self, request: Request, **kwargs: Any) -> HttpResponseBase:
        """Its durable checkpoints, over all runs; the newest first."""
        return self.listed(Checkpoint.objects.select_related("run").filter(run__job=self._seen()))

    @extend_schema(responses=EventRow(many=True))
    @action(
        detail=True,
        serializer_class=EventRow,
        filterset_class=EventFilter,
        pagination_class=FollowedLog,
        orderings={},
    )
    def events(self, request: Request, **kwargs: Any) -> HttpResponseBase:
        """Its events; followed as `/events/` is."""
        rows: QuerySet[Any] = event_rows().filter(job=self._seen())
        return self.listed(followed(rows, request))

    def _seen(self) -> Job:
        """The job, for readers who may see more of it than numbers. Raises NotAllowed."""
        job: Job = self.get_object()
        require(self.reader.sees(job.tenant_id), Action.SEE_JOB, f"tenant {job.tenant}")
        return job


def _claimed(job: Job, version: int | None) -> Job:
    """The job, if it is still as it was read, kept from others by changing its row. Raises Conflict."""
    if version is not None:
        mine = Job.objects.filter(pk=job.pk, version=version).update(version=F("version") + 1)
        if not mine:
            raise Conflict(
                f"job {job.pk} has changed: it is at version {job.version}, not {version}. Read it again"
            )
    return job
