"""Estimates follow the model: calls, then arithmetic or memory, then parts, shared by the cores."""

from __future__ import annotations

import dataclasses

import pytest

from rooftile.errors import InputError
from rooftile.ops import named, operations, registry
from rooftile.ops.patterns.scan import Scan
from rooftile.ops.patterns.sort import Sort
from rooftile.runtime.selection.choice import choose, explain_choice
from rooftile.strategies import preference, strategy
from rooftile.strategies.contract.costs import NOMINAL_CPU, Costs, Speeds, Work, terms
from rooftile.strategies.contract.strategy import fastest

APART = {
    "winograd": "estimates by its ratio to others",
}
"""Rungs without costs of their own, and why."""
MACHINE = Speeds(4, 4e9, 1e9, 2e9, 1000, 5e-6, {"fp16": 4e10})


def seconds(costs, work, **how):
    return costs.seconds(terms(work, MACHINE, **how))


def test_a_time_is_the_sum_of_what_it_grows_with():
    costs = Costs(0, 0, 2, 4, 0)
    assert seconds(costs, Work(4e6, 0), threads=4) == pytest.approx(2 * 4e6 / 4e9)
    assert seconds(costs, Work(0, 1e6), threads=4) == pytest.approx(4 * 1e6 / 1e9)
    assert seconds(costs, Work(4e6, 1e6), threads=4) == pytest.approx(6e-3)


def test_arrays_within_half_the_cache_move_faster():
    assert MACHINE.bytes_s(500) == 500 / 2e9
    assert MACHINE.bytes_s(501) == 501 / 1e9


def test_threads_share_the_work_and_cost_a_start():
    costs = Costs(2, 1, 1, 1, 10)
    alone = seconds(costs, Work(4e6, 0, 100))
    shared = seconds(costs, Work(4e6, 0, 100), threads=4)
    assert alone == pytest.approx(2e-6 + 4e-3 + 1e-6)
    assert shared == pytest.approx(2e-6 + 5e-6 + 1e-3 + 2.5e-7)


def test_a_chain_is_not_shared():
    costs = Costs(0, 0, 0, 0, 0, 3, 5)
    assert seconds(costs, Work(0, 0, 1, 100), threads=4) == pytest.approx(3e-7 / 4)
    assert seconds(costs, Work(0, 0, 1, 0, 100), threads=4) == pytest.approx(5e-7)


def test_a_precision_has_the_rate_of_its_tensor_cores():
    costs = Costs(0, 0, 1, 1)
    plain, narrow = (seconds(costs, Work(1e6, 0), precision=one) for one in ("ieee", "fp16"))
    assert plain == pytest.approx(10 * narrow)


def test_a_rung_of_one_unit_is_not_shared():
    rung = strategy("scan", "columns")
    machine = dataclasses.replace(NOMINAL_CPU, cores=8)
    assert rung.workers(Scan((100, 16), 0), machine) == 1
    assert rung.workers(Scan((3, 100, 16), 1), machine) == 3
    assert strategy("scan", "loops").workers(Scan((100, 16), 0), machine) == 1


def test_a_case_without_costs_has_those_of_all(monkeypatch):
    rung = strategy("scan", "vectors")
    problem = Scan((8, 8), 1)
    monkeypatch.setattr(rung, "costs", {"": Costs(5, 0, 0, 0), "float32": Costs(7, 0, 0, 0)})
    assert rung.estimate(problem, MACHINE) == pytest.approx(7e-6)
    assert rung.estimate(Scan((8, 8), 0), MACHINE) == pytest.approx(5e-6)
    monkeypatch.setattr(rung, "costs", {})
    assert rung.estimate(problem, MACHINE) is None


def test_a_member_that_was_not_timed_has_the_costs_of_its_family():
    timed, alike = (strategy("conv2d", f"pool_folded_{one}", "cuda") for one in ("fp16", "bf16"))
    assert alike.alike == timed.name
    assert timed.costs
    assert alike.costs


def test_a_rung_without_an_estimate_is_passed_over_where_others_have_one(monkeypatch):
    rungs = [strategy("scan", name) for name in ("vectors", "columns", "loops")]
    problem = Scan((8, 8), 0)
    for rung, call_us in zip(rungs, (5, 9, 4.9), strict=True):
        monkeypatch.setattr(rung, "costs", {"": Costs(call_us, 0, 0, 0)})
    assert fastest(rungs, problem, lambda: MACHINE) is rungs[0]  # about as fast as the last
    monkeypatch.setattr(rungs[0], "costs", {})
    assert fastest(rungs, problem, lambda: MACHINE) is rungs[2]
    monkeypatch.setattr(type(rungs[2]), "margin", 2.0)
    assert fastest(rungs, problem, lambda: MACHINE) is rungs[1]
    for rung in rungs:
        monkeypatch.setattr(rung, "costs", {})
    assert fastest(rungs, problem, lambda: MACHINE) is rungs[0]


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
@pytest.mark.parametrize("operation", operations())
def test_of_rungs_that_take_a_problem_all_or_none_estimate(operation, kind):
    try:
        rungs = preference(operation, kind)
    except InputError:
        pytest.skip(f"{operation} has no strategies on {kind}")
    for name in registry.operation(operation).named:
        taking = [rung for rung in rungs if not rung.why_not(named(operation, name))]
        without = [rung.name for rung in taking if not rung.costs and rung.name not in APART]
        assert without == [] or not any(rung.costs for rung in taking), name


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
