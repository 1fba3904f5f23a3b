"""The kinds of values that stand in our files, each with the words that tell a reader what is allowed."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any
from zoneinfo import available_timezones

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from cluster.imports.ranges import expand

SLUG = r"^[a-z0-9][a-z0-9._-]*$"
WORD = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
USER_NAME = r"^[\w.@+-]+$"
EMAIL = r"^[^@\s]+@[^@\s]+$"
PATTERN_WORDS = {
    SLUG: "lower-case letters, digits, '.', '_' or '-', beginning with a letter or digit",
    WORD: "letters, digits, '.', '_' or '-', beginning with a letter or digit",
    USER_NAME: "letters, digits and @ . + - _",
    EMAIL: "an address such as alice@example.org",
}


class Entry(BaseModel):
    """Base of everything in a file: unknown keys are refused, and a number in quotes is not a number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _range(text: str) -> str:
    expand(text)
    return text


def _zone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError(f"'{name}' is not a time zone; give an IANA name such as Europe/London")
    return name


def _moment(value: Any) -> Any:
    """A time must name its zone: what 08:00 means is not for us to guess."""
    moment = value
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return value
    if isinstance(moment, datetime) and moment.tzinfo is None:
        raise ValueError(f"'{value}' has no zone; write it as 2026-03-01T08:00:00Z")
    return moment


def _price(value: Any) -> Any:
    """Prices go through their written form: 2.1 must not become 2.1000000000000000888."""
    return Decimal(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else value


Slug = Annotated[str, Field(pattern=SLUG, max_length=64)]
Word = Annotated[str, Field(pattern=WORD, max_length=64)]
Name = Annotated[str, Field(min_length=1, max_length=64)]
UserName = Annotated[str, Field(pattern=USER_NAME, max_length=150)]
Email = Annotated[str, Field(pattern=EMAIL, max_length=254)]
Text = Annotated[str, Field(max_length=200)]
NameRange = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_range)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
CountOrNone = Annotated[int, Field(ge=0, le=1_000_000)]
Seconds = Annotated[int, Field(ge=0, le=10**9)]
SomeSeconds = Annotated[int, Field(ge=1, le=10**9)]
Duration = Annotated[float, Field(ge=0, le=10**9)]
Watts = Annotated[int, Field(ge=0, le=10**7)]
Usd = Annotated[Decimal, BeforeValidator(_price), Field(ge=0, max_digits=8, decimal_places=4)]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Zone = Annotated[str, AfterValidator(_zone)]
Moment = Annotated[datetime, BeforeValidator(_moment)]
