"""The result of examining a candidate: an entry to the contest, or a failure's row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rooftile.errors import CompileFailure, UnsupportedProblem
from rooftile.lab.judge.arithmetic import array_bytes
from rooftile.lab.measure.floor import Traffic
from rooftile.lab.measure.records import Cause, Row
from rooftile.ops import AnyArray, ErrorModel
from rooftile.strategies import Bound

_MOST_SAID = 2000
"""Characters of an error that are kept: a compiler's log may be long."""


@dataclass
class VerifiedCandidate:
    """A candidate that was right on the exam's items."""

    row: Callable[..., Row]
    precision: str
    errors: ErrorModel
    work: Any
    """The work that the contest's clock times."""
    result: Callable[[], tuple[AnyArray, ...]]
    """Its whole result, computed by the work that is timed."""
    first_call_ms: float
    traffic: Traffic
    transforms: bool = False
    """True if it may need fewer FLOPs than the direct method."""
    note: str = ""
    peer: bool = False


def failed(row: Callable[..., Row], error: Exception) -> Row:
    """The row of a candidate that raised."""
    # An `OutOfMemory` is a MemoryError, as is NumPy's own.
    causes: dict[type[Exception], Cause] = {
        MemoryError: "out of memory",
        UnsupportedProblem: "unsupported",
        CompileFailure: "compile",
    }
    cause = next((c for kind, c in causes.items() if isinstance(error, kind)), "error")
    return row("error", f"{type(error).__name__}: {error}"[:_MOST_SAID], cause=cause)


def traffic_of(bound: Bound) -> Traffic:
    """A strategy's compulsory traffic: parameters may be rounded once, to its precision, before."""
    size = array_bytes(bound.strategy.precision)
    sizes = {place.name: place.numpy.itemsize for place in bound.held}
    for array in bound.problem.parameter_arrays:
        sizes[array.name] = min(size, array.numpy.itemsize)
    return Traffic.of(bound.problem, sizes)
