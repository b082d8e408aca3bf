"""Accesses that leave the last-level cache first are other instructions, and spill nothing."""

from __future__ import annotations

import pytest
from compiling import MEASURED, check_no_spills

from rooftile.devices.cuda.compile import compile_cubin
from rooftile.ops.elementwise import Elementwise
from rooftile.ops.transpose import Transpose
from rooftile.strategies import strategy

PROBLEMS = (
    Transpose((64, 64)),
    Transpose((64, 64), dtype="uint8"),
    Elementwise("add", (5000,)),
    Elementwise("axpy", (5000,), "float64"),
    Elementwise("scale", (5000,), "float16"),
)


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_each_value_compiles_to_code_of_its_own(problem):
    rung = strategy(problem.operation, "vectors", "cuda")
    (streamed,) = (one for one in rung.tunables if one.name == "STREAMED")
    made = set()
    for value in streamed.values:
        config = rung.config(problem, {"STREAMED": value})
        check_no_spills(rung, problem, MEASURED, config)
        macros = rung.macros(problem, config)
        made.add(compile_cubin(rung.text, macros, MEASURED, rung.folders))
    assert len(made) == len(streamed.values) > 1
    assert rung.config(problem, {})["STREAMED"] == 0
