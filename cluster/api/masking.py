"""Jobs of tenants that the reader does not belong to are shown as numbers: what names anything is null."""

from typing import Any

from rest_framework import serializers

from cluster.api.access import reader_of


class Masked(serializers.Serializer):
    """Sets the fields named in `hidden` to null unless the reader may see the jobs of the row's tenant."""

    hidden: tuple[str, ...] = ()

    def tenant_id_of(self, row: Any) -> int | None:
        """Whose row it is; None = nobody's, and open to all."""
        return row.tenant_id

    def is_open(self, row: Any) -> bool:
        """May this reader see what is hidden from others?"""
        request = self.context.get("request")
        return request is not None and reader_of(request).sees(self.tenant_id_of(row))

    def get_fields(self) -> dict[str, serializers.Field]:
        fields = super().get_fields()
        for name in self.hidden:
            fields[name].allow_null = True  # for the schema: a client must expect it
        return fields

    def to_representation(self, instance: Any) -> dict[str, Any]:
        data = super().to_representation(instance)
        if not self.is_open(instance):
            data.update(dict.fromkeys(self.hidden))
        return data
