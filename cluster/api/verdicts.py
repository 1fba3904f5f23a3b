"""Verdicts and explanations as the API shows them."""

from rest_framework import serializers

from cluster.api.job_rows import CONSTRAINTS


class BlockerRow(serializers.Serializer):
    """What stands in the way."""

    kind = serializers.ChoiceField(["run", "reservation", "tenant", "node"])
    id = serializers.CharField(help_text="Job id of a run or a reservation, else a name.")
    gpus = serializers.IntegerField()
    tenant = serializers.CharField(allow_blank=True)
    tier = serializers.CharField(allow_blank=True)
    until_s = serializers.FloatField(
        allow_null=True, help_text="Unix time when it should be gone; null: unknown."
    )


class VerdictRow(serializers.Serializer):
    """Does it fit: used + demand ≤ limit, in this unit, at this scope?"""

    constraint = serializers.ChoiceField(CONSTRAINTS)
    ok = serializers.BooleanField()
    scope = serializers.CharField()
    demand = serializers.FloatField(allow_null=True)
    used = serializers.FloatField(allow_null=True)
    limit = serializers.FloatField(
        allow_null=True, help_text="Null: none applies, or it is unknown (`note`)."
    )
    unit = serializers.CharField(allow_blank=True)
    note = serializers.CharField(allow_blank=True)
    blockers = BlockerRow(many=True)
    until_s = serializers.FloatField(allow_null=True)
    reclaimable = serializers.FloatField(
        allow_null=True, help_text="Of what is missing, to be had by this job."
    )
    names = serializers.ListField(child=serializers.CharField())
    proof = serializers.ChoiceField(
        ["proof", "search"], help_text="`search`: a budget ended before it was certain."
    )


class LineRow(serializers.Serializer):
    """One line of the checklist."""

    constraint = serializers.ChoiceField(CONSTRAINTS)
    title = serializers.CharField()
    mark = serializers.ChoiceField(["pass", "fail", "unknown"])
    text = serializers.CharField()
    binds = serializers.BooleanField()
    blockers = BlockerRow(many=True)


class ExplanationRow(serializers.Serializer):
    """Why a job waits: the same object that the page and `manage.py explain` show."""

    job_id = serializers.IntegerField()
    state = serializers.CharField()
    headline = serializers.CharField(help_text="The reason in one sentence.")
    constraint = serializers.CharField(
        allow_blank=True, help_text="The one that binds; empty unless it is held."
    )
    lines = LineRow(many=True)
    hints = serializers.ListField(
        child=serializers.CharField(), help_text="What would unblock it, each verified by planning anew."
    )
    proof = serializers.ChoiceField(["proof", "search"])
    since = serializers.DateTimeField(allow_null=True)
    evaluated_at = serializers.DateTimeField(allow_null=True)
    expected_median_at = serializers.DateTimeField(allow_null=True)
    expected_p90_at = serializers.DateTimeField(allow_null=True)
    expected_computed_at = serializers.DateTimeField(allow_null=True)
    text = serializers.CharField(help_text="All of it as text, as for a terminal.")


class ForecastRow(serializers.Serializer):
    """When it should start, from replaying the queue. Null: not foreseen."""

    job = serializers.IntegerField()
    expected_start_median_at = serializers.DateTimeField(allow_null=True)
    expected_start_p90_at = serializers.DateTimeField(
        allow_null=True, help_text="With a probability of 90 %."
    )
    samples = serializers.IntegerField(help_text="Replays made; 0: none yet.")
    computed_at = serializers.DateTimeField(allow_null=True)
