"""Compare an output with its reference, in each way in which a problem may have it judged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from rooftile.lab.judge.verdict import Verdict
from rooftile.ops import FORMATS, AnyArray, Array, ErrorModel, Float64
from rooftile.ops.judgement import Budget, Exact, Judgement, Normwise, Properties, Unordered

_FLOOR = 2.0**-40
"""The share of an item's largest magnitude that any of its elements may be off by."""
_FINER = 2.0**-29
"""float64's unit roundoff over float32's."""
_UNDERFLOW = 2.0**-149
"""Spacing of float32's subnormal numbers: the error of a product that underflows."""


def compare(
    output: Array,
    judgement: Judgement,
    out: AnyArray,
    reference: AnyArray,
    magnitude: AnyArray | None,
    model: ErrorModel,
    arrays: Sequence[AnyArray],
) -> Verdict:
    """The verdict on an output or some items of it; the index counts from the first of them.

    ``arrays`` is what `Properties.wrong` takes: all outputs, then what they were computed from.
    """
    if isinstance(judgement, Budget):
        assert magnitude is not None
        budget = budget_of(output, judgement, reference, magnitude, model)
        return _within(output, out, reference, budget)
    if isinstance(judgement, Exact):
        return _exactly(out, reference)
    if isinstance(judgement, Unordered):
        axis = judgement.axis
        return _exactly(np.sort(out, axis=axis), np.sort(reference, axis=axis))
    if isinstance(judgement, Normwise):
        return _by_norm(output, out, reference, judgement.limit)
    if isinstance(judgement, Properties):
        wrong = str(judgement.wrong(*arrays) or "")
        fraction = math.inf if wrong else 0.0
        return Verdict(not wrong, wrong, budget_fraction=fraction, index=(0,) * out.ndim)
    assert_never(judgement)


def budget_of(
    output: Array,
    judgement: Budget,
    reference: AnyArray,
    magnitude: AnyArray,
    model: ErrorModel,
    items: int = 1,
) -> Float64:
    """The largest distance of each element from the reference.

    ``items``: the number of items in a weighted sum, as ``rooftile.lab.audit.checks.projection``
    makes it. The part by an item's largest magnitude, and the constant part, count that number of
    times.
    """
    item = _item_axes(output, magnitude.ndim)
    # What float64 does not hold has no budget.
    scale = np.where(np.isfinite(magnitude), magnitude, 0.0)
    largest = scale.max(axis=item, keepdims=True, initial=0.0)
    value = np.where(np.isfinite(reference), np.abs(reference), 0.0)
    if model.spreads and judgement.plane:
        scale = items * scale.max(axis=judgement.plane, keepdims=True)
    unit, smallest = replace(model, results=_results(output, model)).rounding
    finer = _FINER if output.dtype == "float64" else 1.0
    budget: Float64 = (
        model.factor * model.unit * finer * math.sqrt(judgement.terms) * scale
        + judgement.roundings * model.unit * finer * value
        + unit * (np.maximum(value, smallest) if items == 1 else value + items * smallest)
        + items * _FLOOR * finer * largest
        + items * model.factor * judgement.terms * _UNDERFLOW
    )
    return budget


def _results(output: Array, model: ErrorModel) -> str:
    """The format that results are rounded to, by the model or because the output has no more
    bits."""
    narrow: dict[str, str] = {form.dtype: name for name, form in FORMATS.items() if form.bytes == 2}
    return narrow.get(output.dtype, model.results)


def _within(output: Array, out: AnyArray, reference: AnyArray, budget: Float64) -> Verdict:
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(out.astype(np.float64) - reference)
        # What float64 holds and the output's dtype does not is an infinity.
        expected = reference.astype(out.dtype)
    special = ~np.isfinite(expected)
    not_finite = special | ~np.isfinite(out)
    same = (out == expected) | (np.isnan(out) & np.isnan(expected))
    error = np.where(special, np.where(same, 0.0, np.inf), error)
    # A NaN or infinity in place of a number is infinitely wrong.
    error = np.where(np.isfinite(error), error, np.inf)
    item = _item_axes(output, error.ndim)
    largest = np.where(special, 0.0, np.abs(reference)).max(axis=item, initial=0.0)
    with np.errstate(over="ignore"):
        # An item that should be zeros has no largest magnitude.
        relative = error.max(axis=item) / np.maximum(largest, np.finfo(np.float64).tiny)
    return _worst(
        out,
        reference,
        error,
        error / budget,
        budget,
        max_rel=float(np.max(relative)),
        not_finite=int((not_finite & ~same).sum()),
    )


def _exactly(out: AnyArray, reference: AnyArray) -> Verdict:
    with np.errstate(invalid="ignore", over="ignore"):
        # An integer beyond the output's own is never right.
        expected = reference.astype(out.dtype) if out.dtype.kind in "fV" else reference
        error = np.abs(out.astype(np.float64) - reference.astype(np.float64))
    same = out == expected
    if out.dtype.kind in "fV":
        same |= np.isnan(out) & np.isnan(expected)
    least = np.finfo(np.float64).tiny
    error = np.where(same, 0.0, np.maximum(np.nan_to_num(error, nan=np.inf), least))
    fraction = np.where(same, 0.0, np.inf)
    largest = max(float(np.abs(reference.astype(np.float64)).max(initial=0.0)), least)
    return _worst(
        out,
        reference,
        error,
        fraction,
        np.zeros_like(fraction),
        max_rel=float(error.max(initial=0.0)) / largest,
    )


def _by_norm(output: Array, out: AnyArray, reference: AnyArray, limit: float) -> Verdict:
    """The verdict by the norm of each item; it names the worst element of the worst item."""
    items = (len(out), -1) if output.batched else (1, -1)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        apart = np.abs(out.astype(np.float64) - reference)
        same = (out == reference.astype(out.dtype)) | (np.isnan(out) & np.isnan(reference))
        # A NaN or infinity in place of a number is infinitely wrong.
        apart = np.where(same, 0.0, np.where(np.isfinite(apart), apart, np.inf)).reshape(items)
        size = np.where(np.isfinite(reference), np.abs(reference), 0.0).reshape(items)
        norms, off = np.linalg.norm(size, axis=1), np.linalg.norm(apart, axis=1)
        fraction = np.where(off == 0, 0.0, off / norms / limit)
        most = apart.max(axis=1, initial=0.0)
        relative = np.where(most == 0, 0.0, most / size.max(axis=1, initial=0.0))
    worst = int(fraction.argmax())
    element = worst * apart.shape[1] + int(apart[worst].argmax())
    index = tuple(int(i) for i in np.unravel_index(element, out.shape))
    wrong = int((fraction > 1).sum())
    reason = f"{wrong} of {len(fraction)} items are off by their norm" if wrong else ""
    return Verdict(
        wrong == 0,
        reason,
        float(most.max()),
        float(relative.max()),
        float(fraction[worst]),
        index,
        float(out[index]),
        float(reference[index]),
        limit * float(norms[worst]),
        wrong,
    )


def _worst(
    out: AnyArray,
    reference: AnyArray,
    error: NDArray[Any],
    fraction: NDArray[Any],
    budget: NDArray[Any],
    *,
    max_rel: float,
    not_finite: int = 0,
) -> Verdict:
    if not out.size:
        return Verdict(True)
    where = tuple(int(i) for i in np.unravel_index(int(fraction.argmax()), fraction.shape))
    wrong = int((fraction > 1).sum())
    return Verdict(
        passed=wrong == 0,
        max_abs=float(error.max()),
        max_rel=max_rel,
        budget_fraction=float(fraction[where]),
        index=where,
        got=float(out[where]),
        expected=float(reference[where]),
        budget=float(budget[where]),
        wrong_elements=wrong,
        not_finite=not_finite,
    )


def _item_axes(output: Array, rank: int) -> tuple[int, ...]:
    """The axes of one item: all but the batch."""
    return tuple(range(int(output.batched), rank))
