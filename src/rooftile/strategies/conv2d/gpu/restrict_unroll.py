"""`restrict_unroll`: what the compiler may know.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
chapter 6 (unrolling among the optimisations of its checklist).
"""

from __future__ import annotations

from rooftile.strategies.contract.gpu import Tunable
from rooftile.strategies.conv2d.gpu.naive import Naive


class RestrictUnroll(Naive):
    """`naive` with pointers that do not overlap and taps written out."""

    name = "restrict_unroll"
    summary = "__restrict__ pointers and unrolled taps"
    tunables = (
        *Naive.tunables,
        Tunable("RESTRICTED", (0, 1), 1),
        Tunable("UNROLLED", (0, 1), 1),
    )


STRATEGY = RestrictUnroll()
