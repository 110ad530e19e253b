"""What of a row is padding, and what is attended and at which position without it."""

from typing import Any

import pytest

from tracediff.errors import UsageError

torch = pytest.importorskip("torch", reason="needs torch")
rows = pytest.importorskip("tracediff.integrations.transformers_rows", reason="needs torch")

pytestmark = pytest.mark.transformers


def found(ids: list[list[int]], mask: list[list[int]] | None, pad: int | None) -> list[Any]:
    masks = None if mask is None else torch.tensor(mask)
    pads = frozenset() if pad is None else frozenset({pad})
    return list(rows.find_rows(torch.tensor(ids), masks, pads))


@pytest.mark.parametrize(
    ("ids", "mask", "pad", "padding"),
    [
        pytest.param([[5, 6]], None, 0, [0], id="no-mask"),
        pytest.param([[0, 0, 5], [7, 8, 9]], [[0, 0, 1], [1, 1, 1]], 0, [2, 0], id="padded"),
        pytest.param([[0, 5, 6]], [[0, 1, 1]], 0, [1], id="alone"),
        pytest.param([[4, 5, 6]], [[0, 1, 1]], 0, [0], id="first-id-masked"),
        pytest.param([[4, 5], [7, 8]], [[0, 1], [1, 1]], None, [1, 0], id="unknown-padding"),
        pytest.param([[4, 5, 6], [7, 8, 9]], [[0, 0, 1], [1, 1, 1]], 0, [0, 0], id="two-masked"),
        pytest.param([[5, 6, 7]], [[1, 0, 1]], 0, [0], id="hole"),
        pytest.param([[0, 5, 6, 7]], [[0, 1, 0, 1]], 0, [1], id="padding-and-hole"),
    ],
)
def test_padding(
    ids: list[list[int]], mask: list[list[int]] | None, pad: int | None, padding: list[int]
) -> None:
    """A hidden run of one id at the start is padding, if it is known or another row has text."""
    assert [row.padding for row in found(ids, mask, pad)] == padding


def test_rest_of_a_row() -> None:
    """Ids, mask, positions and runs are those without the padding."""
    mask = [[0, 1, 1, 0, 1]]
    (row,) = found([[0, 5, 6, 7, 8]], mask, 0)
    assert (row.ids, row.mask) == ((5, 6, 7, 8), (1, 1, 0, 1))
    assert row.positions() == [0, 1, 1, 2]
    assert rows.attended(row, torch.tensor(mask), 4) == [[0, 1], [3, 3]]
    assert rows.attended(row, torch.tensor([[0, 1, 1, 1, 1]]), 4) == "all"
    assert rows.attended(row, None, 4) == "all"
    assert rows.attended(row, torch.ones(1, 5, 5), 4) is None
    assert rows.positions_of(row, torch.tensor([[9, 0, 1, 1, 2]]), 0, 4) == [0, 1, 1, 2]
    assert rows.positions_of(row, None, 3, 2) == [3, 4]


@pytest.mark.parametrize(
    "mask",
    [
        pytest.param(torch.tensor([0, 1, 1, 0, 1, 0, 0]).bool(), id="boolean"),
        pytest.param(torch.tensor([-9e9, 0, 0, -9e9, 0, -9e9, -9e9]), id="added"),
    ],
)
def test_mask_for_layers(mask: Any) -> None:
    """A mask that is made for the layers, with places to come, says the same of its last id."""
    (row,) = found([[0, 5, 6, 7, 8]], [[0, 1, 1, 0, 1]], 0)
    made = mask[None, None, None].repeat(1, 1, 5, 1)
    assert rows.attended(row, {"full_attention": made}, 4) == [[0, 1], [3, 3]]
    assert rows.attended(row, {"full_attention": None}, 4) == "all"


def test_hidden_end_is_refused() -> None:
    """A row that ends in padding cannot be continued."""
    with pytest.raises(UsageError, match=r"row 1.*pad on the left"):
        found([[5, 6], [7, 0]], [[1, 1], [1, 0]], 0)


def test_wanted_rows() -> None:
    """Rows are picked by index, in order; another index is refused."""
    every = found([[5], [6], [7]], None, None)
    assert [row.index for row in rows.pick_rows(every, None)] == [0, 1, 2]
    assert [row.index for row in rows.pick_rows(every, [2, 0])] == [0, 2]
    with pytest.raises(UsageError, match="row 3; the batch has rows 0 to 2"):
        rows.pick_rows(every, [3])
