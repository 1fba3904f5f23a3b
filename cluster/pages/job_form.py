"""The form for a new job: every field a tenant gives, with errors that name the value and the mend."""

import re
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError

from cluster.models import Job, Kind, Locality, Objective, Tier
from cluster.pages.words import duration
from cluster.services.submit_job import submit_job
from fleet.models import GpuModel
from tenancy.models import Tenant, User
from tenancy.permissions import Action, Grants

_UNITS_S = {"s": 1, "min": 60, "m": 60, "h": 3600, "d": 86400}
_PART = re.compile(r"\s*(\d+(?:[.,]\d+)?)\s*(min|s|m|h|d)?\s*", re.IGNORECASE)


class DurationField(forms.CharField):
    """`90 s`, `45 min`, `6 h`, `2 d 4 h` or plain seconds → whole seconds."""

    def to_python(self, value: Any) -> int | None:
        text = super().to_python(value)
        if not text:
            return None
        seconds, at = 0.0, 0
        while at < len(text):
            part = _PART.match(text, at)
            if part is None or part.end() == at:
                raise ValidationError(
                    f"{text!r} is not a duration: write it like 90 s, 45 min, 6 h or 2 d 4 h"
                )
            seconds += float(part[1].replace(",", ".")) * _UNITS_S[(part[2] or "s").lower()]
            at = part.end()
        if seconds > 10 * 365 * 86400:
            raise ValidationError(f"{text!r} is longer than ten years: give a shorter duration")
        return round(seconds)

    def prepare_value(self, value: Any) -> Any:
        return duration(value) if isinstance(value, int) else value


class JobForm(forms.Form):
    """Fields by group, in the order of the page. An empty field takes the model's default."""

    GROUPS = (
        (
            "Job",
            "Who asks, and for what.",
            ("name", "tenant", "tier", "kind", "dataset", "dataset_gb", "code_version"),
        ),
        (
            "Gang",
            "All of it starts, or none. Give the GPUs, or nodes × GPUs on each.",
            (
                *("gpus", "nodes", "gpus_per_node", "gpu_model", "gpu_draw_w"),
                *("locality_required", "locality_preferred", "objective", "deadline"),
            ),
        ),
        (
            "Time",
            "The planner counts on the expected duration; expected starts of others depend on it.",
            ("expected_duration_s", "time_limit_s", "not_before", "readiness_timeout_s", "retry_limit"),
        ),
        (
            "Checkpoints and preemption",
            "What can be preempted may also run on other tenants' idle guarantee.",
            (
                "preemptible",
                "checkpoint_on_signal",
                "checkpoint_interval_s",
                "checkpoint_cost_s",
                "grace_s",
                "restart_cost_s",
                "preemption_budget",
            ),
        ),
        ("Workload", "Handed to the engine as it is: image, command, environment.", ("workload",)),
    )

    name = forms.CharField(max_length=128, help_text="How you will find it again.")
    tenant = forms.ModelChoiceField(Tenant.objects.none(), to_field_name="name", empty_label=None)
    tier = forms.ChoiceField(
        choices=Tier.choices,
        initial=Tier.RESEARCH,
        help_text="Higher tiers go first; best effort runs on loans.",
    )
    kind = forms.ChoiceField(choices=Kind.choices, initial=Kind.TRAINING)
    dataset = forms.CharField(max_length=200, required=False)
    dataset_gb = forms.FloatField(min_value=0, required=False, label="Dataset size")
    code_version = forms.CharField(max_length=200, required=False, help_text="Commit, tag or image digest.")

    gpus = forms.IntegerField(min_value=1, required=False, label="GPUs", help_text="Of the whole gang.")
    nodes = forms.IntegerField(min_value=1, required=False, help_text="Only with GPUs per node.")
    gpus_per_node = forms.IntegerField(min_value=1, required=False, label="GPUs per node")
    gpu_model = forms.ModelChoiceField(
        GpuModel.objects.all(),
        to_field_name="name",
        required=False,
        label="GPU model",
        empty_label="What the tenant has most of",
    )
    locality_required = forms.ChoiceField(
        choices=Locality.choices,
        initial=Locality.CLUSTER,
        label="Must be within",
        help_text="It waits until it fits so close together.",
    )
    locality_preferred = forms.ChoiceField(
        choices=Locality.choices,
        initial=Locality.BLOCK,
        label="Better within",
        help_text="It may wait for such a set, if it is done sooner there.",
    )
    objective = forms.ChoiceField(
        choices=Objective.choices,
        initial=Objective.COMPLETION,
        required=False,
        help_text="What counts when it could start now, spread out, or later on a closer set.",
    )
    deadline = forms.DateTimeField(
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
        help_text="Only with that objective. On the cluster's clock, in your time zone.",
    )
    gpu_draw_w = forms.FloatField(
        min_value=1,
        required=False,
        label="Draw of a GPU (W)",
        help_text="At work. Empty: what its model usually draws.",
    )

    expected_duration_s = DurationField(label="Expected duration", help_text="Like 45 min, 6 h or 2 d 4 h.")
    time_limit_s = DurationField(
        required=False, label="Time limit", help_text="A run is stopped after it. Empty: no limit."
    )
    not_before = forms.DateTimeField(
        required=False,
        label="Not before",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
        help_text="On the cluster's clock, in your time zone.",
    )
    readiness_timeout_s = DurationField(
        required=False, label="Ready within", help_text="Else the gang is torn down whole and requeued."
    )
    retry_limit = forms.IntegerField(
        min_value=0, required=False, label="Retries", help_text="Failed starts and lost nodes survived."
    )

    preemptible = forms.BooleanField(
        required=False, initial=True, label="May be preempted", help_text="Production never is."
    )
    checkpoint_on_signal = forms.BooleanField(
        required=False, initial=True, label="Saves a checkpoint on signal"
    )
    checkpoint_interval_s = DurationField(
        required=False, label="Own checkpoint every", help_text="Empty: none by itself."
    )
    checkpoint_cost_s = DurationField(required=False, label="A checkpoint takes")
    grace_s = DurationField(required=False, label="Grace", help_text="From signal to stop, at the most.")
    restart_cost_s = DurationField(
        required=False, label="A restart costs", help_text="Restore and warm-up, lost at each start."
    )
    preemption_budget = forms.IntegerField(
        min_value=0,
        required=False,
        label="Preemption budget",
        help_text="So often a higher tier may preempt it.",
    )
    workload = forms.JSONField(
        required=False,
        label="Workload (JSON)",
        initial=dict,
        widget=forms.Textarea(attrs={"rows": 5, "spellcheck": "false"}),
    )

    def __init__(self, grants: Grants, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.grants = grants
        allowed = Tenant.objects.filter(pk__in=grants.tenants(Action.SUBMIT_JOB), children__isnull=True)
        self.fields["tenant"].queryset = allowed.order_by("name")  # type: ignore[attr-defined]
        for name, field in self.fields.items():
            default = _default(name)
            if field.initial is None and default is not None:
                field.initial = default
            field.widget.attrs["aria-describedby"] = f"about-{name}"

    @property
    def groups(self) -> list[dict[str, Any]]:
        return [
            {"title": t, "about": a, "fields": [self[name] for name in names]} for t, a, names in self.GROUPS
        ]

    @property
    def has_tenants(self) -> bool:
        return bool(self.fields["tenant"].queryset)  # type: ignore[attr-defined]

    def submit(self, by: User) -> Job | None:
        """The accepted job, or None with the errors on their fields. Raises NotAllowed."""
        asked = {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}
        try:
            return submit_job(by=by, **asked)
        except ValidationError as error:
            self._take_over(error)
            return None

    def _take_over(self, error: ValidationError) -> None:
        by_field = error.error_dict if hasattr(error, "error_dict") else {NON_FIELD_ERRORS: error.error_list}
        for name, problems in by_field.items():
            self.add_error(name if name in self.fields else None, problems)
        for name in self.errors:
            if name in self.fields:
                self.fields[name].widget.attrs["aria-invalid"] = "true"


def _default(name: str) -> Any:
    """What the model takes when the tenant says nothing."""
    if name in ("workload", "gpus", "nodes", "gpus_per_node", "name", "tenant"):
        return None
    field = Job._meta.get_field(name)
    return field.default if field.has_default() and not callable(field.default) else None
