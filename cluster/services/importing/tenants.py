"""Tenants with their entitlements as a description has them."""

from cluster.imports.description import ClusterDescription, TenantSpec
from cluster.services.importing.changes import Changes, bring_in_line
from tenancy.models import Entitlement, Tenant

Values = dict[str, int | None]


def import_tenants(description: ClusterDescription, changes: Changes) -> dict[str, Tenant]:
    """The tenants by name. Those the file does not name are listed and left as they are."""
    tenants: dict[str, Tenant] = {}
    # Parents stand first; each level is written before the next one points to it.
    for spec in description.tenants:
        values = {
            "title": spec.title,
            "weight": spec.weight,
            "parent": tenants[spec.parent] if spec.parent else None,
        }
        tenants |= bring_in_line("tenant", Tenant.objects, {spec.name: values}, changes, related=("parent",))
    _entitlements(description.tenants, tenants, changes)
    others = Tenant.objects.exclude(name__in=tenants).values_list("name", flat=True)
    changes.miss("tenant", list(others))
    return tenants


def _entitlements(specs: list[TenantSpec], tenants: dict[str, Tenant], changes: Changes) -> None:
    rows = {
        (row.tenant_id, row.gpu_model): row for row in Entitlement.objects.filter(tenant__in=tenants.values())
    }
    for spec in specs:
        tenant = tenants[spec.name]
        for model in spec.models:
            row = rows.pop((tenant.pk, model), None)
            _entitlement(tenant, model, row, _values(spec, model), changes)
    for (_, model), row in rows.items():
        changes.remove("entitlement", f"{row.tenant.name} {model}")
        row.delete()


def _values(spec: TenantSpec, model: str) -> Values:
    return {
        "gpus": spec.entitlement.get(model, 0),
        "lending_limit": spec.lending_limit.get(model),
        "borrowing_limit": spec.borrowing_limit.get(model),
    }


def _entitlement(
    tenant: Tenant, model: str, row: Entitlement | None, values: Values, changes: Changes
) -> None:
    name = f"{tenant.name} {model}"
    if row is None:
        changes.create("entitlement", name)
        Entitlement.objects.create(tenant=tenant, gpu_model=model, **values)
        return
    differing = {key: value for key, value in values.items() if getattr(row, key) != value}
    for key, value in differing.items():
        before = getattr(row, key)
        changes.change("entitlement", name, key, _limit(key, before), _limit(key, value))
        setattr(row, key, value)
    if differing:
        row.save(update_fields=list(differing))


def _limit(key: str, value: int | None) -> int | str:
    return "unlimited" if value is None and key != "gpus" else value or 0
