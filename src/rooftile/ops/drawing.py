"""Problems drawn at random, as users' own are: any size, aligned or not, few channels or many.

A problem of an operation begins as one of its named problems, whose fields are drawn anew, see
`Problem.draw`.  What a seed draws does not depend on the machine.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rooftile.errors import InputError, RooftileError
from rooftile.ops import registry
from rooftile.ops.draws import LEAST_BYTES, Draw
from rooftile.ops.named import named
from rooftile.ops.problem import Problem

_TRIES = 2000
"""Draws that may be beyond the limits, or no problem, before an operation is given up."""


def draw(
    operation: str, seed: int, number: int, *, most_flops: float, most_bytes: float
) -> Problem:
    """The problem that a seed draws of an operation as the one of a number, within limits of work.

    Raises `InputError` for an unknown operation, and where no draw is within the limits.
    """
    known = registry.operation(operation)
    generator = np.random.default_rng([seed, number, *operation.encode()])
    made = Draw(generator, most_bytes)
    for _ in range(_TRIES):
        try:
            problem = named(operation, made.one([*known.named])).draw(made)
            if problem.flops <= most_flops and LEAST_BYTES <= problem.bytes <= most_bytes:
                return problem
        except (RooftileError, OverflowError):
            continue
    raise InputError("operation", operation, "one whose problems can be drawn within the limits")


def shape_text(problem: Any) -> str:
    """A problem as ``--shape`` takes it: ``key=value`` pairs without those at their defaults."""
    pairs = []
    for field in dataclasses.fields(problem):
        value = getattr(problem, field.name)
        if value != field.default:
            pairs.append(f"{field.name}={_text(value)}")
    return ",".join(pairs)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, tuple):
        return "x".join(map(str, value))
    return str(value.to_text() if hasattr(value, "to_text") else value)


__all__ = ["draw", "shape_text"]
