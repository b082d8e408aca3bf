"""Estimates follow the model: calls, then arithmetic or memory, then parts, shared by the cores."""

from __future__ import annotations

import dataclasses

import pytest

from rooftile.ops import named
from rooftile.ops.patterns.scan import Scan
from rooftile.ops.patterns.sort import Sort
from rooftile.runtime.selection.choice import choose, explain_choice
from rooftile.strategies import strategy
from rooftile.strategies.contract.costs import NOMINAL_CPU, Costs, Speeds, Work

MACHINE = Speeds(4, 4e9, 1e9, 2e9, 1000, 5e-6, {"fp16": 4e10})


def test_arithmetic_and_memory_overlap_and_the_slower_counts():
    costs = Costs(0, 0.5, 0.25, 0)
    assert costs.seconds(Work(4e6, 0), MACHINE) == pytest.approx(4e6 / (4e9 * 0.5 / 4))
    assert costs.seconds(Work(0, 1e6), MACHINE) == pytest.approx(1e6 / (1e9 * 0.25 / 4))
    both = costs.seconds(Work(4e6, 1e6), MACHINE)
    assert both == costs.seconds(Work(0, 1e6), MACHINE)


def test_arrays_within_half_the_cache_move_faster():
    assert MACHINE.bytes_s(500) == 500 / 2e9
    assert MACHINE.bytes_s(501) == 501 / 1e9


def test_threads_share_the_work_and_cost_a_start():
    costs = Costs(2, 1, 1, 10)
    alone = costs.seconds(Work(4e6, 0, 100), MACHINE)
    shared = costs.seconds(Work(4e6, 0, 100), MACHINE, threads=4)
    assert alone == pytest.approx(2e-6 + 4e-3 + 1e-6)
    assert shared == pytest.approx(2e-6 + 5e-6 + 1e-3 + 2.5e-7)


def test_a_precision_has_the_rate_of_its_tensor_cores():
    costs = Costs(0, 1, 1)
    plain, narrow = (
        costs.seconds(Work(1e6, 0), MACHINE, precision=one) for one in ("ieee", "fp16")
    )
    assert plain == pytest.approx(10 * narrow)


def test_a_rung_of_one_unit_is_not_shared():
    rung = strategy("scan", "columns")
    machine = dataclasses.replace(NOMINAL_CPU, cores=8)
    assert rung.workers(Scan((100, 16), 0), machine) == 1
    assert rung.workers(Scan((3, 100, 16), 1), machine) == 3
    assert strategy("scan", "loops").workers(Scan((100, 16), 0), machine) == 1


def test_a_case_without_costs_has_no_estimate():
    assert strategy("scan", "vectors").estimate(named("scan", "sum-2^20"), NOMINAL_CPU) > 0
    complex_rung = strategy("softmax", "vectors")
    assert complex_rung.estimate(named("softmax", "classes-10"), NOMINAL_CPU) is None


@pytest.mark.parametrize(
    ("problem", "case"),
    [
        (Scan((8, 8), 1), "float32"),
        (Scan((8, 8), 0), "float32 beside"),
        (Sort((8,), 0, "float16"), "16-bit"),
        (Sort((8,), 0, "uint8"), "integers"),
    ],
)
def test_cases_by_dtype_and_axis(problem, case):
    assert problem.case == case


def test_the_least_estimate_is_picked_and_both_are_told():
    few = Scan((2, 2464), 0)
    assert choose(few).name == "columns"
    told = {one.strategy: one for one in explain_choice(few)}
    assert told["columns"].taken
    assert told["vectors"].reason.startswith("estimated at ")
    assert "columns at " in told["vectors"].reason
    assert choose(named("scan", "sum-10^8")).name == "vectors"
