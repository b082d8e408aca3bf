from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.nn.training.workers import SHARES, Workers


@given(count=st.integers(0, 40), threads=st.integers(1, 4))
def test_the_shares_cover_the_batch_once_and_do_not_depend_on_the_threads(count, threads):
    calls = []
    with Workers(threads) as workers:
        workers.each_share(count, lambda *call: calls.append(call))
    covered = [i for _, begin, end in sorted(calls) for i in range(begin, end)]
    assert covered == list(range(count))
    assert sorted(calls) == [
        (s, count * s // SHARES, count * (s + 1) // SHARES)
        for s in range(SHARES)
        if count * s // SHARES < count * (s + 1) // SHARES
    ]


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_in_a_share_reaches_the_caller(threads):
    def fail(share: int, begin: int, end: int) -> None:
        if share == 2:
            raise ValueError("share 2")

    with Workers(threads) as workers, pytest.raises(ValueError, match="share 2"):
        workers.each_share(80, fail)


def test_the_threads_end_with_the_context():
    before = threading.active_count()
    with Workers(3) as workers:
        workers.each_share(80, lambda *_: None)
        assert threading.active_count() > before
    assert threading.active_count() == before
