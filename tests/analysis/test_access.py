"""Sectors, bursts and banks against listing every byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.analysis import access
from rooftile.errors import InputError


@given(
    st.sampled_from((32, 64, 128, 512)), st.sampled_from((1, 2, 4, 8)), st.integers(1, 200),
    st.lists(st.integers(0, 20), min_size=1, max_size=4),
)  # fmt: skip
def test_strided_bandwidth_over_many_threads(burst, elem, stride, offsets):
    """A long array: its ends weigh little."""
    threads = 4000
    read = {stride * i + o for i in range(threads) for o in offsets}
    bursts = {e * elem // burst for e in read}
    share = len(read) * elem / (len(bursts) * burst)
    found = access.strided_bandwidth(100, burst, elem, stride, offsets)
    assert found == pytest.approx(100 * share, rel=0.03)


@given(
    st.integers(1, 100), st.integers(1, 7), st.sampled_from((4, 8)), st.sampled_from((1, 2, 4, 8))
)
def test_sectors_of_a_run_on_average(elements, stride, elem, alignment):
    touched = [
        access.touched_sectors((at + i * stride * elem for i in range(elements)), elem)
        for at in range(0, 32, alignment * elem)
    ]
    expected = elements if stride * elem >= 32 else sum(touched) / len(touched)
    found = access.run_sectors(elements, stride, elem, alignment=alignment)
    assert found == pytest.approx(expected)
    if alignment == 1 and stride == 1:
        assert found == pytest.approx((elements * elem + 32 - elem) / 32)


@given(st.integers(0, 100), st.integers(1, 64), st.sampled_from((16, 32)))
def test_bank_conflicts_of_a_stride(stride, threads, banks):
    words = [t * stride for t in range(threads)]
    assert access.stride_conflicts(stride, threads, banks) == access.bank_conflicts(words, banks)


def test_tiles():
    assert access.bursts_of_tile(16, 16, 4, 64) == 16
    assert access.bursts_of_tile(16, 17, 4, 64) == 32
    assert access.row_segments([10, 6, 6]) == 36


def test_coalescing_looks_at_the_first_thread_index_that_matters():
    assert access.coalesced((1, 100))
    assert access.coalesced((0, 1))
    assert access.coalesced((0, 0))
    assert not access.coalesced((100, 1))
    assert not access.coalesced((2, 0))


def test_bad_input():
    with pytest.raises(InputError, match="offsets"):
        access.strided_bandwidth(100, 32, 4, 4, [])
    with pytest.raises(InputError, match="stride"):
        access.strided_bandwidth(100, 32, 4, 0, [0])
