"""Tiles of `register_tile` whose rows lie end to end."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.devices.cpu.native import vector
from rooftile.errors import VerificationFailure
from rooftile.lab.judge.verify import verify
from rooftile.ops import Conv2d
from rooftile.strategies.contract.cpu import CpuStrategy
from rooftile.strategies.conv2d.cpu import _register_source, register_tile
from rooftile.strategies.conv2d.cpu._flat_rows import FlatRows, lies_flat
from tests.support.unwritten import check_new_memory

pytestmark = pytest.mark.skipif(
    vector.lanes() != 16, reason="rows lie end to end in vectors of 16 lanes alone"
)


class Flat(CpuStrategy):
    """`register_tile` of one tile, its kernel generated anew."""

    operation = "conv2d"
    name = "flat"
    takes = register_tile.STRATEGY.takes

    def __init__(self, number=0):
        self.number = number

    def kernel(self, problem):
        tiles = register_tile.flat_tiles(problem.with_batch(1))
        return register_tile.tile_kernel(tiles[self.number % len(tiles)])


@st.composite
def problems(draw):
    mask = draw(st.tuples(st.integers(1, 5), st.integers(2, 7)))
    padding = draw(st.tuples(st.integers(0, 3), st.integers(1, mask[1] - 1)))
    least = [max(1, taps - 2 * ghosts) for taps, ghosts in zip(mask, padding, strict=True)]
    height, width = draw(st.integers(least[0], 12)), draw(st.integers(least[1], 50))
    return Conv2d(
        draw(st.integers(1, 3)), draw(st.integers(1, 3)), height, width, draw(st.integers(1, 11)),
        mask, padding=padding,
        activation=draw(st.sampled_from(["none", "relu", "tanh"])),
    )  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(problem=problems().filter(lambda p: lies_flat(p, 16)), number=st.integers(0, 3))
def test_results_are_right_and_nothing_else_is_written(problem, number):
    verify(problem, Flat(number), neighbours=False).raise_if_wrong()
    check_new_memory(Flat(number), problem)


@pytest.mark.parametrize("channels", [60, 200])
def test_an_image_of_several_bands_and_long_sums(channels):
    problem = Conv2d(2, channels, 24, 44, 9, (3, 3), padding=(1, 1), activation="relu")
    tile = register_tile.flat_tiles(problem)[0]
    assert tile.bands > 1
    assert (tile.chunk > 0) == (channels == 200)
    verify(problem, Flat(), neighbours=False).raise_if_wrong()
    check_new_memory(Flat(), problem)


def test_they_lie_so_where_it_pays():
    def chosen(channels, width, mask):
        problem = Conv2d(1, channels, width, width, 16, (mask, mask), padding=(mask // 2,) * 2)
        return register_tile.choose_tile(problem).flat

    assert chosen(16, 28, 3)
    assert chosen(16, 20, 3)
    # Short sums do not pay for the stores, and rows of whole vectors have no idle lanes.
    assert not chosen(1, 28, 5)
    assert not chosen(16, 32, 3)


def test_a_vector_stored_as_if_it_were_of_one_row_is_caught(monkeypatch):
    problem = Conv2d(2, 2, 6, 19, 4, (3, 3), padding=(1, 1))
    verify(problem, Flat(), neighbours=False).raise_if_wrong()
    right = _register_source.generate
    monkeypatch.setattr(
        register_tile, "generate", lambda tile: right(tile).replace("start + 19", "start + 16")
    )
    with pytest.raises(VerificationFailure):
        verify(problem, Flat(), neighbours=False).raise_if_wrong()


def test_rows_staged_without_zeros_between_them_are_caught(monkeypatch):
    problem = Conv2d(2, 2, 6, 16, 4, (3, 3), padding=(1, 1))
    verify(problem, Flat(), neighbours=False).raise_if_wrong()
    row = FlatRows.row.fget
    emit = FlatRows.emit

    def careless(self, *given):
        # As far as the image's columns go, and no further.
        with monkeypatch.context() as patch:
            patch.setattr(FlatRows, "row", property(lambda rows: row(rows) - 1))
            emit(self, *given)

    monkeypatch.setattr(FlatRows, "emit", careless)
    with pytest.raises(VerificationFailure):
        verify(problem, Flat(), neighbours=False).raise_if_wrong()
