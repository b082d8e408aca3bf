"""`naive_reads`: a thread an element of x, the other mapping of `naive`."""

from __future__ import annotations

from rooftile.strategies.transpose.gpu.naive import Naive


class NaiveReads(Naive):
    """Takes every permutation of up to four axes."""

    name = "naive_reads"
    source = "naive"
    summary = "a thread an element of x: loads are coalesced, stores lie apart"
    reads = 1


STRATEGY = NaiveReads()
