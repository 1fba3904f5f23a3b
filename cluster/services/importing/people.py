"""People and their roles as a description has them."""

from cluster.imports.cluster_schema import UserEntry
from cluster.services.importing.changes import Changes
from tenancy.models import Membership, Tenant, User


def import_people(entries: list[UserEntry], tenants: dict[str, Tenant], changes: Changes) -> None:
    """Users with the roles the file gives them, and no others. People it does not name are left alone."""
    known = {user.username: user for user in User.objects.filter(username__in=[e.name for e in entries])}
    for entry in entries:
        user = known.get(entry.name)
        if user is None:
            user = _create(entry)
            changes.create("user", entry.name)
        else:
            _update(user, entry, changes)
        _roles(user, entry, tenants, changes)


def _create(entry: UserEntry) -> User:
    """Nobody can sign in as this user until a password is set."""
    user = User(username=entry.name, **_stated(entry))
    user.set_unusable_password()
    user.save()
    return user


def _stated(entry: UserEntry) -> dict[str, str]:
    """What the file says; what it leaves out is not erased."""
    values = {}
    if entry.email is not None:
        values["email"] = entry.email
    if "full_name" in entry.model_fields_set:
        first, _, last = entry.full_name.rpartition(" ")
        values |= {"first_name": first or last, "last_name": last if first else ""}
    if "time_zone" in entry.model_fields_set:
        values["time_zone"] = entry.time_zone
    return values


def _update(user: User, entry: UserEntry, changes: Changes) -> None:
    differing = {key: value for key, value in _stated(entry).items() if getattr(user, key) != value}
    for key, value in differing.items():
        changes.change("user", user.username, key, getattr(user, key), value)
        setattr(user, key, value)
    if differing:
        user.save(update_fields=list(differing))


def _roles(user: User, entry: UserEntry, tenants: dict[str, Tenant], changes: Changes) -> None:
    wanted = {(tenants[role.tenant].pk if role.tenant else None, role.role) for role in entry.roles}
    rows = {(row.tenant_id, row.role): row for row in user.memberships.select_related("tenant")}
    names = {tenant.pk: tenant.name for tenant in tenants.values()}
    for tenant_id, role in sorted(wanted - rows.keys(), key=str):
        changes.create("role", f"{user.username}: {role} of {names.get(tenant_id, 'the cluster')}")
        Membership.objects.create(user=user, tenant_id=tenant_id, role=role)
    for key in rows.keys() - wanted:
        row = rows[key]
        changes.remove("role", f"{user.username}: {row.role} of {row.tenant or 'the cluster'}")
        row.delete()
