"""How a use case speaks to the loop: a request is written, taken up, and answered in a sentence."""

from starverse.model.errors import Refused
from starverse.model.requests import Request
from starverse.service.platform import Platform


def tell(platform: Platform, request: Request) -> bool:
    """Ask the loop for something; False when it has not answered yet. Raises Refused when it refuses."""
    return heard(platform, platform.requests.submit(request))


def heard(platform: Platform, number: int) -> bool:
    """Wait for the answer to a request that is written; see `tell`."""
    refusal = platform.requests.answer_of(number, platform.limits.answer_wait_s)
    if refusal:
        what, stop, remedy = refusal.partition(". ")
        raise Refused(what + "." if stop else what, remedy)
    return refusal is not None
