"""At which precision a peer computes, and how far off its results may be."""

from __future__ import annotations

import math
from dataclasses import replace

from rooftile.lab.judge.verdict import Verdict
from rooftile.ops import ERROR_MODELS, FORMATS, ErrorModel, format_of

PEER_PRECISIONS = ("ieee", *FORMATS)
_UNITS = {name: form.unit for name, form in FORMATS.items()} | {"tf32": 2 * FORMATS["tf32"].unit}
"""The largest relative error of one rounding; for TF32 of cutting an operand off."""
_ROUNDINGS = 16
"""An error of this many roundings is still no wrong result: that of a wrong index is as large as
the values themselves."""
_LENIENCE = 4.0
"""Factor on the budget of a whole network, since a library rounds between its layers, too."""


def array_bytes(precision: str) -> int:
    """Bytes of an element of a peer's input, parameters and result."""
    return format_of(precision).bytes


def errors_of(precision: str) -> ErrorModel:
    """The budget that a peer is held against.

    It is that of a rung of the peer's precision, with results in the peer's own format.
    """
    model = ERROR_MODELS[precision]
    return model if array_bytes(precision) == 4 else replace(model, results=precision)


def excuse(verdict: Verdict, precision: str) -> str | None:
    """A note on a result beyond its budget whose error the format's roundings explain.

    It is empty within the budget, and None where the result is wrong. The budget knows of operands
    rounded to nearest once, and of sums in float32. A library may cut operands off, round biases
    and results between layers, and sum in 16 bits: its speed counts all the same, and its error is
    shown with it.
    """
    if verdict.passed:
        return ""
    if not 1 < verdict.budget_fraction < math.inf:
        # Something other than the size of the errors is wrong: a shape, a dtype, NaN.
        return None
    unit = _UNITS.get(precision, 0.0)
    if not verdict.max_rel <= _ROUNDINGS * unit:
        return None
    return (
        f"its error, {verdict.max_rel:.1e} of the largest value, is {verdict.budget_fraction:.2g} "
        f"times the budget of {precision}, which has operands rounded once and sums in float32"
    )


def excuse_of_network(verdict: Verdict) -> str | None:
    """A note on a whole network's scores, as `excuse` makes of an operation's result."""
    if verdict.passed:
        return ""
    if not 1 < verdict.budget_fraction <= _LENIENCE:
        return None
    return (
        f"its scores are off by {verdict.budget_fraction:.3g} times their budget, the worst by "
        f"{verdict.max_rel:.1e} of the image's largest"
    )
