"""What an import creates, changes, takes away and leaves alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db import models

M = TypeVar("M", bound=models.Model)


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One value of one thing, before and after."""

    kind: str
    name: str
    field: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.field} {self.before} → {self.after}"


@dataclass(slots=True)
class Changes:
    """The record of one import, for the person who asked for it."""

    created: dict[str, list[str]] = field(default_factory=dict)
    changed: list[FieldChange] = field(default_factory=list)
    removed: dict[str, list[str]] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)
    """in the database, not in the file, and left as they are"""

    @property
    def is_empty(self) -> bool:
        return not (self.created or self.changed or self.removed)

    def create(self, kind: str, name: str) -> None:
        self.created.setdefault(kind, []).append(name)

    def change(self, kind: str, name: str, field_name: str, before: object, after: object) -> None:
        self.changed.append(FieldChange(kind, name, field_name, shown(before), shown(after)))

    def remove(self, kind: str, name: str) -> None:
        self.removed.setdefault(kind, []).append(name)

    def miss(self, kind: str, names: list[str]) -> None:
        if names:
            self.missing[kind] = sorted(names)


def shown(value: object) -> str:
    if value is None or value == "":
        return "unknown"
    return str(value)


def bring_in_line(
    kind: str,
    manager: models.Manager[M],
    wanted: Mapping[str, Mapping[str, Any]],
    changes: Changes,
    related: tuple[str, ...] = (),
    new: Mapping[str, Any] | None = None,
) -> dict[str, M]:
    """Rows by name, created or changed so that they hold the wanted values. `new` is set on creation only."""
    rows = {row.name: row for row in manager.select_related(*related).filter(name__in=wanted)}  # type: ignore[attr-defined]
    fresh, touched, fields = [], [], set()
    for name, values in wanted.items():
        row = rows.get(name)
        if row is None:
            changes.create(kind, name)
            fresh.append(manager.model(name=name, **values, **(new or {})))
            continue
        differing = [key for key, value in values.items() if getattr(row, key) != value]
        for key in differing:
            changes.change(kind, name, key, getattr(row, key), values[key])
            setattr(row, key, values[key])
        if differing:
            touched.append(row)
            fields |= set(differing)
    manager.bulk_create(fresh)
    if touched:
        manager.bulk_update(touched, sorted(fields), batch_size=500)
    return rows | {row.name: row for row in fresh}  # type: ignore[attr-defined]
