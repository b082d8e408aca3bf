"""A sweep verifies what is picked, and rates the choice by the other rungs' times."""

from __future__ import annotations

import dataclasses

import pytest

from rooftile.errors import InputError
from rooftile.lab.measure import sweep as module
from rooftile.lab.measure.records import Row
from rooftile.lab.measure.sweep import Distribution, by_operation, sweep
from rooftile.ops.patterns.scan import Scan
from rooftile.runtime.timing.host import Timing


@pytest.fixture(autouse=True)
def small(known_roof, quick, monkeypatch):
    monkeypatch.setitem(module.LIMITS, "cpu", (1e6, 1e5))
    monkeypatch.setattr(module, "BRIEF_S", 0.001)


def test_the_picked_strategy_is_verified_and_timed():
    found = sweep(["softmax", "scan"], seconds=60, seed=4)
    first, second = next(found), next(found)
    assert [one.problem.operation for one in (first, second)] == ["softmax", "scan"]
    for one in (first, second):
        assert (one.number, one.row.status, one.regret) == (0, "passed", 1.0)
        assert [row.strategy for row in one.ladder.rows] == [one.chosen]


def test_for_its_regret_every_rung_that_takes_the_problem_is_timed():
    one = next(sweep(["softmax"], seconds=60, regret=True, precision="ieee"))
    assert {row.strategy for row in one.ladder.rows} == {"loops", "threads", "vectors"}
    assert one.regret >= 1
    told = one.to_json()
    assert set(told["times_ms"]) == set(told["estimates_ms"]) == {"loops", "threads", "vectors"}
    assert told["best"] == min(told["times_ms"], key=told["times_ms"].get)


def test_a_wrong_rung_has_no_time(monkeypatch):
    from rooftile.strategies import strategy

    loops = strategy("softmax", "loops")
    prepare = loops.prepare

    def wrong(problem, parameters, threads):
        call = prepare(problem, parameters, threads)

        def computed(x, y):
            call(x, y)
            y += 1

        return computed

    monkeypatch.setattr(loops, "prepare", wrong)
    one = next(sweep(["softmax"], seconds=60, regret=True, precision="ieee"))
    status = {row.strategy: row.status for row in one.ladder.rows}
    assert status.pop("loops") == "failed"
    assert set(status.values()) == {"passed"}


def test_a_sweep_ends_when_its_time_is_over():
    assert list(sweep(["softmax"], seconds=1e-9)) == []


def test_an_unknown_operation_is_refused():
    with pytest.raises(InputError, match="softmaks"):
        next(sweep(["softmaks"]))


def test_the_distribution_of_regrets():
    drawn = next(sweep(["scan"], seconds=60, precision="ieee"))

    def with_times(chosen, best):
        rows = tuple(
            Row("strategy", name, "cpu", "ieee", "passed", gflops=1.0, gbps=1.0,
                time_ms=Timing(ms, ms, ms, ms, 3, True))
            for name, ms in ((drawn.chosen, chosen), ("other", best))
        )  # fmt: skip
        ladder = dataclasses.replace(drawn.ladder, problem=Scan((8,)), rows=rows)
        return dataclasses.replace(drawn, ladder=ladder)

    found = [with_times(1, 2), with_times(1.05, 1), with_times(4, 1), with_times(1, 1)]
    made = by_operation(found)["scan"]
    assert (made.problems, made.near, made.worst) == (4, 0.75, found[2])
    assert made.mean == pytest.approx((1.05 * 4) ** 0.25)
    assert made.quantiles[0] == pytest.approx(1.025)
    assert Distribution.of([]) is None
