"""Serializer fields that several resources use. An empty word is unknown, and so null."""

from typing import Any

from django.db.models.enums import TextChoices
from rest_framework import serializers


class Name(serializers.SlugRelatedField):
    """A row of another table by its name."""

    def __init__(self, slug_field: str = "name", **kwargs: Any) -> None:
        if "queryset" not in kwargs:
            kwargs.setdefault("read_only", True)
        super().__init__(slug_field=slug_field, **kwargs)


class Word(serializers.ChoiceField):
    """One word of a closed list."""

    default_error_messages = {"invalid_choice": "{input!r} is not known"}

    def __init__(self, words: type[TextChoices] | list[tuple[str, str]], **kwargs: Any) -> None:
        choices = words.choices if isinstance(words, type) else words
        super().__init__(choices=choices, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):  # a list or an object has no hash to look it up by
            self.fail("invalid_choice", input=data)
        return super().to_internal_value(data)


class WordOrNull(Word):
    """The same, read only, where a word may be missing."""

    def __init__(self, words: type[TextChoices] | list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(words, read_only=True, allow_null=True, **kwargs)

    def to_representation(self, value: Any) -> Any:
        return value or None


class TextOrNull(serializers.CharField):
    """Text, read only; empty text is null."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read_only=True, allow_null=True, **kwargs)

    def to_representation(self, value: Any) -> Any:
        return str(value) if value else None


class Row(serializers.ModelSerializer):
    """A row as it is read: nothing of it is taken from a client."""

    def get_fields(self) -> dict[str, serializers.Field]:
        fields: dict[str, serializers.Field] = super().get_fields()
        for field in fields.values():
            field.read_only, field.required = True, False
        return fields


class Text(serializers.CharField):
    """Text that a client sends. A number is not taken for text."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Closed(serializers.Serializer):
    """Refuses fields that it does not know: a misspelt one must not be passed over."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = sorted(str(key) for key in data if key not in self.fields)
            if unknown:
                message = f"there is no such field; allowed: {', '.join(self.fields)}"
                raise serializers.ValidationError(dict.fromkeys(unknown, message))
        return super().to_internal_value(data)
