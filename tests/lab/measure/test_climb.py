from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from rooftile.errors import DeviceMissing, InputError
from rooftile.lab.measure import climb as lab
from rooftile.lab.measure import clocks, contest
from rooftile.lab.measure.ceilings import known
from rooftile.lab.measure.ceilings.cpu import Ceilings
from rooftile.lab.measure.peers.cpu import Peer, PeerCall
from rooftile.lab.measure.records import Row, plain
from rooftile.runtime.timing.host import Timing
from rooftile.strategies import ladder
from tests.support.wrong_strategies import HIDDEN, RIGHT, WRONG, Fake, right

SHAPE = "channels=2,height=12,width=14,maps=3,mask=3x3,activation=relu,pool=max:2"
ROW_KEYS = {
    "kind", "strategy", "device", "precision", "status", "reason", "config", "error", "time_ms",
    "gflops", "gbps", "roof_fraction", "resources", "cold_ms", "first_call_ms", "clocks", "cause",
}  # fmt: skip


def broken(problem, weights, bias, x, out):
    raise RuntimeError("no such kernel")


@pytest.fixture
def fake_ladder(monkeypatch, known_roof, quick):
    def use(*rungs):
        monkeypatch.setattr(lab, "ladder", lambda operation, kind: rungs)

    return use


def _rows(found):
    return {row.strategy: row for row in found.rows}


def test_every_strategy_of_the_ladder_is_there(known_roof, on_grid):
    found = lab.climb("conv2d", SHAPE, batch=3)
    assert [row.strategy for row in found.rows] == [rung.name for rung in ladder("conv2d")]
    passed = [row for row in found.rows if row.status == "passed"]
    assert {"loops", "threads"} <= {row.strategy for row in passed}
    for row in passed:
        assert row.gflops == pytest.approx(found.problem.flops / row.time_ms.median * 1e-6)
        assert row.roof_fraction == pytest.approx(found.floor_ms / row.time_ms.median)
        assert row.first_call_ms > 0
        assert row.cold_ms.n >= 3
    assert all(row.reason and row.cause for row in found.rows if row.status != "passed")


@pytest.mark.parametrize("timer", ["interleaved", "cold"])
def test_a_time_below_the_floor_is_no_time(fake_ladder, monkeypatch, timer):
    """A clock that is stopped too early, and a cache that was not emptied."""
    short = Timing(1e-6, 1e-6, 1e-6, 1e-6, 9, True)
    fakes = {
        "cold": lambda call, **_: short,
        "interleaved": lambda calls, **_: dict.fromkeys(calls, short),
    }
    monkeypatch.setattr(clocks, timer, fakes[timer])
    fake_ladder(RIGHT)
    row = lab.climb("conv2d", SHAPE, batch=3).rows[0]
    assert (row.status, row.cause, row.time_ms) == ("failed", "invalid time", None)
    assert "below the" in row.reason


def test_a_roof_that_was_disturbed_is_no_limit(fake_ladder, known_roof, monkeypatch):
    slow = replace(known_roof.all_cores, fma_gflops=1e-9)
    monkeypatch.setattr(known, "ceilings", lambda **_: Ceilings(slow, slow, undisturbed=False))
    fake_ladder(RIGHT)
    assert lab.climb("conv2d", SHAPE, batch=3).rows[0].status == "passed"


def test_transforms_have_no_floor_of_arithmetic(fake_ladder, known_roof, monkeypatch):
    # A roof so slow that arithmetic always is the limit, and memory never.
    slow = replace(known_roof.all_cores, fma_gflops=1e-9, read_gbps=1e9)
    monkeypatch.setattr(known, "ceilings", lambda **_: Ceilings(slow, slow, undisturbed=True))
    transforms = Fake("transforms", right)
    transforms.transforms = True
    fake_ladder(RIGHT, transforms)
    direct, other = lab.climb("conv2d", SHAPE, batch=3).rows
    assert "its FLOPs" in direct.reason
    assert other.status == "passed"


def test_what_is_wrong_has_a_reason_and_no_time(fake_ladder):
    wrong = WRONG["swapped taps"]
    fake_ladder(RIGHT, wrong, Fake("broken", broken))
    rows = _rows(lab.climb("conv2d", SHAPE))
    assert rows["right"].status == "passed"
    assert rows[wrong.name].status == "failed"
    assert rows[wrong.name].error.budget_fraction > 1
    assert rows[wrong.name].time_ms is None
    assert (rows[wrong.name].cause, rows["broken"].cause) == ("wrong", "error")
    assert rows["broken"].status == "error"
    assert "no such kernel" in rows["broken"].reason


def test_what_is_wrong_off_the_grid_alone_is_wrong(fake_ladder):
    grid = "channels=2,height=16,width=16,maps=3,mask=3x3,padding=1x1"
    fake_ladder(RIGHT, HIDDEN["whole tiles only"])
    good, bad = lab.climb("conv2d", grid, batch=2).rows
    assert good.status == "passed"
    assert (bad.status, bad.cause, bad.time_ms) == ("failed", "wrong", None)
    assert bad.reason.startswith("at Conv2d(batch=")


def test_slow_strategies_are_skipped_unless_everything(fake_ladder):
    fake_ladder(RIGHT)
    skipped = lab.climb("conv2d", SHAPE, limit_s=1e-9).rows[0]
    assert (skipped.status, skipped.cause) == ("skipped", "time limit")
    assert "limit" in skipped.reason
    assert lab.climb("conv2d", SHAPE, limit_s=1e-9, everything=True).rows[0].status == "passed"


def test_images_with_much_work_are_estimated_from_a_shrunk_problem(fake_ladder, monkeypatch):
    shapes = []

    def watched(problem, weights, bias, x, out):
        shapes.append(x.shape)

    monkeypatch.setattr(contest, "ITEM_FLOPS", 0)
    fake_ladder(Fake("watched", watched))
    lab.climb("conv2d", SHAPE.replace("channels=2", "channels=9"), batch=5, limit_s=1e-9)
    # One image of the problem, to have the first call's time.
    assert shapes[0] == (1, 9, 12, 14)
    assert set(shapes[1:]) == {(1, 4, 12, 14)}


def test_others_are_estimated_from_few_images(fake_ladder, monkeypatch):
    batches = []

    def watched(problem, weights, bias, x, out):
        batches.append(len(x))

    monkeypatch.setattr(clocks, "cores", lambda: 2)
    fake_ladder(Fake("watched", watched))
    lab.climb("conv2d", SHAPE, batch=300, limit_s=1e-9)
    assert set(batches) == {1, 4}


def test_precision_ieee_leaves_out_fast_strategies(fake_ladder, monkeypatch):
    monkeypatch.setattr(RIGHT, "precision", "fast", raising=False)
    fake_ladder(RIGHT)
    row = lab.climb("conv2d", SHAPE, precision="ieee").rows[0]
    assert (row.status, row.cause, row.precision) == ("skipped", "precision", "fast")
    assert lab.climb("conv2d", SHAPE).rows[0].status == "passed"


def _peer(name, function, packages=()):
    def build(problem, parameters):
        return PeerCall(
            lambda inputs: inputs,
            lambda inputs: function(problem, *inputs, *parameters).astype(np.float32),
            np.asarray,
            problem,
        )

    return Peer(name, packages, "torch_modules", build)


def test_peers_are_judged_like_strategies(fake_ladder, monkeypatch):
    right = _peer("right peer", lambda problem, *arrays: problem.reference(*arrays))
    wrong = _peer("wrong peer", lambda problem, *arrays: 1.001 * problem.reference(*arrays))
    absent = _peer("absent", None, ("rooftile_no_such_package",))
    unsaid = replace(right, name="unsaid", brings="no_such_function")
    monkeypatch.setattr(lab.host_peers, "PEERS", (right, wrong, absent, unsaid))
    fake_ladder(RIGHT)
    assert len(lab.climb("conv2d", SHAPE).rows) == 1
    rows = _rows(lab.climb("conv2d", SHAPE, batch=70, peers=True))
    assert rows["right peer"].status == "passed"
    assert rows["right peer"].kind == "peer"
    assert (rows["wrong peer"].status, rows["wrong peer"].cause) == ("failed", "wrong")
    assert "rooftile_no_such_package" in rows["absent"].reason
    assert rows["unsaid"].reason == "no operation says how it computes conv2d"
    assert (rows["absent"].status, rows["absent"].cause) == ("skipped", "not installed")
    assert (rows["unsaid"].status, rows["unsaid"].cause) == ("skipped", "unsupported")


def test_json_has_the_keys_of_the_format(fake_ladder):
    fake_ladder(RIGHT, WRONG["no bias"])
    found = lab.climb("conv2d", SHAPE).to_json()
    assert set(found) == {"problem", "device", "ceilings", "environment", "rows"}
    passed, failed = json.loads(json.dumps(found, allow_nan=False))["rows"]
    assert set(passed) == set(failed) == ROW_KEYS
    assert set(passed["time_ms"]) == {"median", "p20", "p80", "min", "n", "waited"}
    assert set(passed["error"]) == {"max_abs", "max_rel", "budget_fraction"}
    assert set(passed["resources"]) == {"registers", "shared_bytes", "spill_bytes", "occupancy"}
    assert failed["time_ms"] is None
    assert found["problem"]["operation"] == "conv2d"
    assert found["problem"]["mask"] == [3, 3]


def test_the_fastest_row_of_a_kind(fake_ladder):
    fake_ladder(RIGHT, WRONG["no bias"])
    found = lab.climb("conv2d", SHAPE)
    assert found.best("strategy").strategy == "right"
    assert found.best("strategy", "fast") is None
    assert found.best("peer") is None


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"operation": "conv9d"}, InputError),
        ({"shape": "nothing"}, InputError),
        ({"only": "nothing"}, InputError),
        ({"precision": "exact"}, InputError),
        ({"batch": 0}, InputError),
        ({"limit_s": -1.0}, InputError),
        ({"limit_s": math.nan}, InputError),
        ({"seed": -1}, InputError),
        ({"device": "cuda"}, DeviceMissing),
    ],
)
def test_bad_arguments(known_roof, arguments, error):
    with pytest.raises(error):
        lab.climb(**({"operation": "conv2d", "shape": SHAPE} | arguments))


def test_a_row_has_no_time_unless_it_passed():
    with pytest.raises(ValueError, match="no time unless"):
        Row("strategy", "s", "cpu", "ieee", "failed", "wrong", gflops=1.0)
    with pytest.raises(ValueError, match="has a time"):
        Row("strategy", "s", "cpu", "ieee", "passed")
    with pytest.raises(ValueError, match="says why"):
        Row("strategy", "s", "cpu", "ieee", "skipped")
    with pytest.raises(ValueError, match="has its time"):
        Row("strategy", "s", "cpu", "ieee", "passed", cause="wrong")


def test_plain_values_for_json():
    assert plain({1: (float("nan"), float("inf"), 2.5)}) == {"1": [None, None, 2.5]}
