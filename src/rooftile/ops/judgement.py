"""Judgements of outputs: within a budget, exactly, up to order, or by a condition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Budget:
    """Each element is within ``c u sqrt(terms) S`` of the reference: `rooftile.ops.precision`.

    ``S`` is the problem's magnitude.
    """

    terms: int
    roundings: float = 1.0
    """Roundings of the value after the sum, such as those inside an activation."""
    plane: tuple[int, ...] = ()
    """Axes over which a transform spreads errors: there the largest ``S`` counts."""


@dataclass(frozen=True)
class Exact:
    """Every element equals the reference; a NaN stands for a NaN."""


@dataclass(frozen=True)
class Unordered:
    """The reference's elements lie along ``axis`` in any order, each as often as there."""

    axis: int = -1


@dataclass(frozen=True)
class Normwise:
    """The norm of an item's errors over the norm of its reference is at most ``limit``."""

    limit: float


@dataclass(frozen=True)
class Properties:
    """There is no one right result; the problem says what any right one must satisfy."""

    wrong: Callable[..., Any]
    """``wrong(*outputs, *given)`` says what is wrong, or nothing. It is given the same items of all
    outputs, of the inputs and, as a whole, the parameters."""


Judgement = Budget | Exact | Unordered | Normwise | Properties
