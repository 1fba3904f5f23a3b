"""Give a user a key to the REST API."""

from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables
from knox.settings import knox_settings

from tenancy.models import ApiToken, User

LONGEST = timedelta(days=366)


@sensitive_variables("key")
def issue_token(*, user: User, label: str = "", expires_in: timedelta | None = None) -> tuple[ApiToken, str]:
    """The token's row and its key, which is not kept and can be shown only now.

    `expires_in` of None means the usual time (REST_KNOX TOKEN_TTL). Raises ValidationError naming the field.
    """
    lifetime = knox_settings.TOKEN_TTL if expires_in is None else expires_in
    if not timedelta(0) < lifetime <= LONGEST:
        days = lifetime / timedelta(days=1)
        raise ValidationError(
            {"expires_in_days": f"{days:g} days is not possible: give 1 to {LONGEST.days} days"}
        )
    label = label.strip()
    most = ApiToken._meta.get_field("label").max_length
    if most is not None and len(label) > most:
        raise ValidationError({"label": f"{len(label)} characters are too many: use at most {most}"})
    _check_limit(user)
    token, key = ApiToken.objects.create(user=user, expiry=lifetime, label=label)
    return token, key


def _check_limit(user: User) -> None:
    limit = knox_settings.TOKEN_LIMIT_PER_USER
    living = ApiToken.objects.filter(Q(expiry=None) | Q(expiry__gt=timezone.now()), user=user)
    if limit is not None and living.count() >= limit:
        raise ValidationError(f"you have {limit} tokens, the most that are allowed: revoke one first")
