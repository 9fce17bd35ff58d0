"""Arrays as people write them."""

import pytest

from starverse.model.array import ARRAY_MAX, parse_array
from starverse.model.errors import BadInput


@pytest.mark.parametrize(
    ("text", "indices", "limit"),
    [
        ("0-3", (0, 1, 2, 3), 0),
        ("0-99%10", tuple(range(100)), 10),
        ("7", (7,), 0),
        ("1,4,7-9", (1, 4, 7, 8, 9), 0),
        ("0-20:5 % 2", (0, 5, 10, 15, 20), 2),
        (f"1-{ARRAY_MAX}", tuple(range(1, ARRAY_MAX + 1)), 0),
    ],
)
def test_an_array_is_read(text: str, indices: tuple[int, ...], limit: int) -> None:
    assert parse_array(text) == (indices, limit)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "'' names no indices"),
        ("a-b", "'a-b' names no indices"),
        ("3-1", "'3-1' names no indices"),
        ("-1", "'-1' names no indices"),
        ("0-9:0", "'0-9:0' names no indices"),
        ("٣", "names no indices"),
        ("0-9%", "'' is no number of jobs"),
        ("0-9%0", "'0' is no number of jobs"),
        ("0-9%x", "'x' is no number of jobs"),
        ("1,1", "names an index twice"),
        (f"0-{ARRAY_MAX}", "has 10,000 jobs at most. Submit several arrays."),
        ("0-999999999", "has 10,000 jobs at most"),
        ("0-9999999999", "names no indices"),
    ],
)
def test_what_is_no_array_is_refused(text: str, says: str) -> None:
    with pytest.raises(BadInput, match=None) as error:
        parse_array(text)
    assert says in str(error.value)
