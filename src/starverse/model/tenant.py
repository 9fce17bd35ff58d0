"""Who may do what: tenants, their projects, and the roles of people in them."""

from typing import Literal

Role = Literal["viewer", "member", "owner"]

RANK_OF_ROLE: dict[Role, int] = {"viewer": 0, "member": 1, "owner": 2}
"""A viewer sees, a member submits and stops, an owner also invites and pays."""
