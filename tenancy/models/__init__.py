from tenancy.models.entitlement import Entitlement
from tenancy.models.membership import Membership, Role
from tenancy.models.policy import PolicyVersion
from tenancy.models.tenant import Tenant
from tenancy.models.user import User

__all__ = ["Entitlement", "Membership", "PolicyVersion", "Role", "Tenant", "User"]
