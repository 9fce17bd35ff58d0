"""What an operator types to set a quota becomes the quota; what is left empty stays as it is."""

import pytest

from starverse.faces.console.levers import QuotaWishes, named
from starverse.faces.schemas import Quota
from starverse.faces.typed import bound, whole
from starverse.model.errors import BadInput

KNOWN = {"t-1": Quota("t-1", "lab", 2, 4, 1.5, 0, 3, 1)}

ROWS = [
    (QuotaWishes("lab"), Quota("lab", "", 1, 0, None, None)),
    (QuotaWishes(" lab ", guaranteed="0.25"), Quota("lab", "", 1, 0.25, None, None)),
    (QuotaWishes("t-1", guaranteed="8"), Quota("t-1", "lab", 2, 8, 1.5, 0, 3, 1)),
    (QuotaWishes("t-1", borrow_max="any", lend_max="2"), Quota("t-1", "lab", 2, 4, None, 2, 3, 1)),
    (QuotaWishes("t-1", parent="-", weight="0"), Quota("t-1", "", 0, 4, 1.5, 0, 3, 1)),
]


@pytest.mark.parametrize(("wishes", "wanted"), ROWS)
def test_a_form_becomes_a_quota(wishes: QuotaWishes, wanted: Quota) -> None:
    assert wishes.ask(KNOWN) == wanted


@pytest.mark.parametrize("text", ["", "many", "-1", "nan", "inf", "1e99"])
def test_what_is_no_bound_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="is no bound"):
        bound(text)
    with pytest.raises(BadInput, match="not a whole number"):
        whole(text)


def test_a_limit_is_somebodys() -> None:
    with pytest.raises(BadInput, match="There is no name"):
        named("  ")
    with pytest.raises(BadInput, match="There is no name"):
        QuotaWishes(guaranteed="1").ask(KNOWN)
