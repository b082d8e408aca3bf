"""Every rung of `argreduce`: places as NumPy has them, ties and NaN included."""

from __future__ import annotations

from rooftile.ops.patterns.argreduce import Argreduce
from tests.support.every_rung import EveryRung, Wrong


class TestRungs(EveryRung):
    problems = (
        Argreduce((1,)),
        Argreduce((37, 1000), -1, operator="min"),
        Argreduce((300, 130), 0, "bfloat16"),
        Argreduce((3, 100, 7), 1, "int64"),
        Argreduce((31,), None, "uint8", "min"),
        Argreduce((70, 5), -1, "uint64"),
        Argreduce((70001,)),
    )
    near = (Argreduce((300, 130), 0), Argreduce((5000,)))
    # A text for 31 numbers of 8 bits may have a few of them in local memory.
    compiled = (Argreduce((300, 130), 0, "bfloat16"), Argreduce((70001,)))
    wrong = Wrong(
        Argreduce((300, 130), 0),
        ("naive", "int64 j = 1; j < columns", "int64 j = 1; j < columns - 1"),
        ("columns", "place[e] = at + i * down", "place[e] = at"),
    )
