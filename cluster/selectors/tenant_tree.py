"""The tree of tenants."""

from tenancy.models import Tenant


def below(tenant: Tenant) -> set[int]:
    """The ids of a tenant and of all tenants below it. One query."""
    children: dict[int | None, list[int]] = {}
    for pk, parent_id in Tenant.objects.values_list("pk", "parent_id"):
        children.setdefault(parent_id, []).append(pk)
    found, ahead = set(), [tenant.pk]
    while ahead:
        pk = ahead.pop()
        if pk not in found:
            found.add(pk)
            ahead += children.get(pk, [])
    return found
