from tenancy.models.api_token import ApiToken
from tenancy.models.entitlement import Entitlement
from tenancy.models.membership import Membership, Role
from tenancy.models.policy import PolicyVersion
from tenancy.models.tenant import Tenant
from tenancy.models.user import User

__all__ = ["ApiToken", "Entitlement", "Membership", "PolicyVersion", "Role", "Tenant", "User"]
