"""A whole batch that repeats the items which are verified."""

from __future__ import annotations

import numpy as np

from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verdict import Verdict
from rooftile.ops import AnyArray, Array, ErrorModel


def repeated(array: AnyArray, place: Array) -> AnyArray:
    """An array's items, repeated to the batch."""
    return array if array.shape == place.shape else np.resize(array, place.shape)


def judge_repeated(
    expected: Expected, outs: tuple[AnyArray, ...], errors: ErrorModel, some: int
) -> Verdict:
    """The verdict on a batch that repeats the first ``some`` items, of which this is expected.

    A later result with the same bits as the first one is as right as that one, so only other
    results are compared.
    """
    first = tuple(out[:some].copy() for out in outs)
    worst = expected.judge(first, errors)
    for start in range(some, len(outs[0]), some):
        here = [out[start : start + some] for out in outs]
        if not worst.passed:
            break
        if all(np.array_equal(a, b[: len(a)]) for a, b in zip(here, first, strict=True)):
            continue
        part = tuple(array.copy() for array in first)
        for array, made in zip(part, here, strict=True):
            array[: len(made)] = made
        verdict = expected.judge(part, errors)
        if not verdict.passed or verdict.budget_fraction > worst.budget_fraction:
            worst = verdict
    return worst
