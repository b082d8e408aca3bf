"""The streamed addition: each segment's parts in their order, and right on a GPU."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.errors import InputError, VerificationFailure
from rooftile.lab.measure.streamed import ORDERS, StreamedAdd, schedule, time_orders


def words(order, segments, streams):
    return " ".join(f"{p.what}{p.segment}@{p.stream}" for p in schedule(order, segments, streams))


def test_orders():
    assert words("one stream", 2, 3) == "in0@0 add0@0 out0@0 in1@0 add1@0 out1@0"
    assert words("depth first", 3, 2) == (
        "in0@0 add0@0 out0@0 in1@1 add1@1 out1@1 in2@0 add2@0 out2@0"
    )
    assert words("breadth first", 3, 2) == (
        "in0@0 in1@1 add0@0 add1@1 out0@0 out1@1 in2@0 add2@0 out2@0"
    )


@given(st.sampled_from(ORDERS), st.integers(1, 20), st.integers(1, 5))
def test_a_stream_finishes_a_segment_before_the_next(order, segments, streams):
    """A stream has one slot, so a later segment must not enter it before an earlier one left."""
    parts = list(schedule(order, segments, streams))
    assert len(set(parts)) == len(parts) == 3 * segments
    for stream in range(streams):
        own = [(p.segment, p.what) for p in parts if p.stream == stream]
        numbers = sorted({segment for segment, _ in own})
        assert own == [(n, what) for n in numbers for what in ("in", "add", "out")]


def test_bad_input_names_the_argument():
    for wrong in (("sideways", 1, 1), ("one stream", 0, 1), ("one stream", 1, 0)):
        with pytest.raises(InputError):
            list(schedule(*wrong))


def test_right_in_every_order(cuda_device):
    work = StreamedAdd(cuda_device, 7 * 4099, 4099)
    for order in ORDERS:
        work.out[:] = -1
        work.run(order)
        work.check()
    work.out[5] += 1
    with pytest.raises(VerificationFailure):
        work.check()
    with pytest.raises(InputError, match="count"):
        StreamedAdd(cuda_device, 100, 33)


def test_every_order_is_timed(cuda_device):
    found = time_orders(cuda_device, 2**18, 2**15)
    assert [one.order for one in found] == list(ORDERS)
    assert all(one.device.median > 0 for one in found)
