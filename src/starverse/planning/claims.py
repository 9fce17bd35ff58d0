"""The claims table: every line of the reference cluster's article, computed afresh from the models."""

from starverse.planning.claim import Claim
from starverse.planning.claims_cooling import cooling_claims
from starverse.planning.claims_network import network_claims
from starverse.planning.claims_platform import platform_claims, scheduler_claims
from starverse.planning.claims_power import power_claims


def claims() -> list[Claim]:
    """All rows in the article's order: N1 to N6, C1 to C6, P1 and P2, S1 to S3, U1 to U7."""
    return [
        *network_claims(),
        *cooling_claims(),
        *power_claims(),
        *scheduler_claims(),
        *platform_claims(),
    ]
