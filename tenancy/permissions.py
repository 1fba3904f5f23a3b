"""Who may do what: one table, read by pages, API, websocket and commands alike."""

from collections.abc import Iterable
from enum import StrEnum
from functools import cached_property

from tenancy.models import Membership, Role, Tenant, User


class Action(StrEnum):
    SEE_CLUSTER = "see_cluster"  # totals, nodes, capacity, how much each tenant uses
    SEE_JOB = "see_job"  # name, owner, dataset, code version of a tenant's jobs
    SUBMIT_JOB = "submit_job"
    CHANGE_OWN_JOB = "change_own_job"  # cancel, hold and release what one submitted oneself
    CHANGE_JOB = "change_job"  # the same for every job of the tenant
    EDIT_TENANT = "edit_tenant"
    CHANGE_NODE = "change_node"  # drain, resume
    SIGN_ACCEPTANCE = "sign_acceptance"


ALLOWED: dict[Role, frozenset[Action]] = {
    Role.CLUSTER_OWNER: frozenset(Action) - {Action.SIGN_ACCEPTANCE},
    Role.TENANT_ADMIN: frozenset(
        {
            Action.SEE_CLUSTER,
            Action.SEE_JOB,
            Action.SUBMIT_JOB,
            Action.CHANGE_OWN_JOB,
            Action.CHANGE_JOB,
            Action.EDIT_TENANT,
        }
    ),
    Role.RELEASE_OWNER: frozenset(
        {Action.SEE_CLUSTER, Action.SEE_JOB, Action.CHANGE_NODE, Action.SIGN_ACCEPTANCE}
    ),
    Role.RESEARCHER: frozenset(
        {Action.SEE_CLUSTER, Action.SEE_JOB, Action.SUBMIT_JOB, Action.CHANGE_OWN_JOB}
    ),
    Role.VIEWER: frozenset({Action.SEE_CLUSTER}),
}


class NotAllowed(Exception):
    """The user lacks the right; says which one and where."""

    def __init__(self, action: Action, where: str) -> None:
        super().__init__(f"you may not {action.value.replace('_', ' ')} in {where}")
        self.action = action


class Grants:
    """One user's rights, read once (two queries) and asked many times."""

    def __init__(self, user: User) -> None:
        self.user = user

    @classmethod
    def of_many(cls, users: Iterable[User]) -> dict[int, "Grants"]:
        """The rights of many users by their ids: two queries for all of them, none when they are asked."""
        grants = {user.pk: cls(user) for user in users}
        roles: dict[int, list[tuple[int | None, Role]]] = {pk: [] for pk in grants}
        rows = Membership.objects.filter(user_id__in=grants).values_list("user_id", "tenant_id", "role")
        for user_id, tenant_id, role in rows:
            roles[user_id].append((tenant_id, Role(role)))
        parents = dict(Tenant.objects.values_list("pk", "parent_id"))
        for pk, each in grants.items():
            each._roles, each._parents = roles[pk], parents
        return grants

    @cached_property
    def _roles(self) -> list[tuple[int | None, Role]]:
        rows = Membership.objects.filter(user_id=self.user.pk).values_list("tenant_id", "role")
        return [(tenant_id, Role(role)) for tenant_id, role in rows]

    @cached_property
    def _parents(self) -> dict[int, int | None]:
        return dict(Tenant.objects.values_list("pk", "parent_id"))

    def may(self, action: Action, tenant_id: int | None = None) -> bool:
        """A cluster-wide role counts everywhere; a tenant's role in that tenant and below it.

        Rights over the cluster as a whole (no tenant named) come from any role for SEE_CLUSTER,
        and only from cluster-wide roles otherwise.
        """
        if not self.user.is_authenticated or not self.user.is_active:
            return False
        if self.user.is_superuser and action is not Action.SIGN_ACCEPTANCE:
            return True
        if action is Action.SEE_CLUSTER:
            return any(action in ALLOWED[role] for _, role in self._roles)
        above = self._line_above(tenant_id)
        return any(action in ALLOWED[role] and (t is None or t in above) for t, role in self._roles)

    def tenants(self, action: Action) -> set[int]:
        """The ids of all tenants in which the user may do this."""
        return {t for t in self._parents if self.may(action, t)}

    def may_change(self, job: object) -> bool:
        """Cancel, hold or release this job (anything with `tenant_id` and `owner_id`)."""
        tenant_id, owner_id = job.tenant_id, job.owner_id  # type: ignore[attr-defined]
        own = owner_id == self.user.pk and self.may(Action.CHANGE_OWN_JOB, tenant_id)
        return own or self.may(Action.CHANGE_JOB, tenant_id)

    def _line_above(self, tenant_id: int | None) -> set[int]:
        line: set[int] = set()
        while tenant_id is not None and tenant_id not in line:
            line.add(tenant_id)
            tenant_id = self._parents.get(tenant_id)
        return line


def may(user: User, action: Action, tenant: Tenant | int | None = None) -> bool:
    return Grants(user).may(action, tenant.pk if isinstance(tenant, Tenant) else tenant)


def require(allowed: bool, action: Action, where: str) -> None:
    """Raises NotAllowed unless `allowed`."""
    if not allowed:
        raise NotAllowed(action, where)
