"""The problems that stand for an operation are taken by the lower half of its rungs."""

from __future__ import annotations

import pytest

from rooftile.errors import InputError
from rooftile.ops import climbed_shapes, operations, parse
from rooftile.strategies import ladder

FOR_OTHERS = {"corner_turned": "matrices that lie transposed"}
"""Rungs of a ladder's lower half that no textbook's problem concerns."""


@pytest.mark.parametrize("kind", ["cpu", "opencl"])
@pytest.mark.parametrize("operation", operations())
def test_the_textbook_s_half_takes_the_problem(operation, kind):
    found = climbed_shapes(operation, kind)
    climbed = [parse(operation, shape, found.batch) for shape in found.shapes]
    try:
        rungs = [rung for rung in ladder(operation, kind) if not rung.requires]
    except InputError:
        return  # It has none on that kind of device.
    for rung in rungs[: (len(rungs) + 1) // 2]:
        reasons = [rung.why_not(problem) for problem in climbed]
        assert None in reasons or rung.name in FOR_OTHERS, (rung.name, reasons)
