"""Tokens: a user's own keys to this API. Other people's do not exist for them."""

from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.views.decorators.debug import sensitive_variables
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.authentication import BaseAuthentication, BasicAuthentication
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from cluster.api.fields import Closed, Row, Text
from cluster.api.viewset import ReadResource
from tenancy.models import ApiToken
from tenancy.services.issue_token import LONGEST, issue_token


class TokenRow(Row):
    id = serializers.CharField(source="token_key", help_text="The first characters of the key.")
    created_at = serializers.DateTimeField(source="created")
    expires_at = serializers.DateTimeField(source="expiry", allow_null=True)

    class Meta:
        model = ApiToken
        fields: tuple[str, ...] = ("id", "label", "created_at", "expires_at")


class NewToken(TokenRow):
    token = serializers.CharField(help_text="The key. It is not kept and cannot be shown again.")

    class Meta(TokenRow.Meta):
        fields = (*TokenRow.Meta.fields, "token")


class TokenRequest(Closed):
    label = Text(max_length=64, required=False, allow_blank=True, help_text="What it is for.")
    expires_in_days = serializers.IntegerField(
        min_value=1, max_value=LONGEST.days, required=False, help_text="Usually 90."
    )


class Tokens(ReadResource):
    """Send a key as `Authorization: Token <key>`. It carries all the rights of its user."""

    queryset = ApiToken.objects.none()
    serializer_class = TokenRow
    permission_classes = (IsAuthenticated,)
    orderings = {"created_at": "created", "expires_at": "expiry"}
    default_ordering = "-created_at"
    lookup_field = "token_key"
    lookup_url_kwarg = "token_key"
    noun = "token"

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Name and password make a token, and do nothing else."""
        request = getattr(self, "request", None)
        basic = [BasicAuthentication()] if request is not None and request.method == "POST" else []
        return [*super().get_authenticators(), *basic]

    def get_queryset(self) -> QuerySet[ApiToken]:
        if not self.request or not self.request.user.is_authenticated:
            return self.queryset
        return ApiToken.objects.filter(user=self.request.user)

    @extend_schema(
        request=TokenRequest, responses={201: NewToken}, auth=[{"cookieAuth": []}, {"basicAuth": []}]
    )
    @sensitive_variables("key")
    def create(self, request: Request, **kwargs: Any) -> Response:
        """Make a token: signed in to the pages, or with name and password. A token does not make tokens."""
        if isinstance(request.auth, ApiToken):
            raise PermissionDenied("a token cannot make another: sign in, or send name and password")
        asked = self.asked(TokenRequest)
        days = asked.get("expires_in_days")
        token, key = issue_token(
            user=request.user,
            label=asked.get("label", ""),
            expires_in=None if days is None else timedelta(days=days),
        )
        token.token = key  # type: ignore[attr-defined]
        answer = Response(NewToken(token).data, status=status.HTTP_201_CREATED)
        answer["Cache-Control"] = "no-store"
        return answer

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, **kwargs: Any) -> Response:
        """Revoke it: it opens nothing any more."""
        self.get_object().delete()
        return Response(status=status.HTTP_204_NO_CONTENT)
