"""The rules of a contest: on the CPU, and on whichever OpenCL device there is."""

from __future__ import annotations

import dataclasses
import json
from types import SimpleNamespace

import pytest

from rooftile.devices import cuda
from rooftile.errors import (
    CompileFailure,
    DeviceMissing,
    InputError,
)
from rooftile.lab.measure import climb as lab
from rooftile.lab.measure import clocks
from rooftile.lab.measure import contest as judge
from rooftile.lab.measure.ceilings import known
from rooftile.lab.measure.ceilings.gpu import GpuCeilings
from rooftile.lab.measure.contest import VERIFIED_ITEMS
from rooftile.lab.measure.entry import traffic_of
from rooftile.ops import Linear
from rooftile.runtime.timing import device as measure_gpu
from rooftile.strategies import ladder, strategy
from rooftile.strategies.binding.executable import Executable
from tests.support.climbed import SHAPE, FromNaive

pytestmark = [pytest.mark.alone, pytest.mark.usefixtures("quick", "plainly_compiled")]

ROOF = GpuCeilings(
    fma_gflops=1e6, read_gbps=1e6, copy_gbps=1e6, mma_gflops={}, launch_us=1, replay_us=1,
    to_device_gbps=1, from_device_gbps=1, to_device_pinned_gbps=None,
    from_device_pinned_gbps=None, clocks=None,
)  # fmt: skip


class Wrong(FromNaive):
    """`naive` with a change in its text."""

    name = "wrong"

    def __init__(self, old, new):
        assert old in FromNaive.text
        self.text = FromNaive.text.replace(old, new)


@pytest.fixture
def climb(opencl_device, on_grid, known_roof, monkeypatch):
    """Climb with these rungs in place of the ladder's."""

    def run(*rungs, batch=3, **options):
        monkeypatch.setattr(lab, "ladder", lambda operation, kind: rungs)
        return lab.climb("conv2d", SHAPE, batch, "opencl", **options)

    return run


def test_every_gpu_rung_is_verified_and_timed(opencl_device, on_grid, known_roof):
    batch = VERIFIED_ITEMS + 5
    found = lab.climb("conv2d", SHAPE, batch, "opencl", limit_s=1e9)
    assert [row.strategy for row in found.rows] == [r.name for r in ladder("conv2d", "opencl")]
    other = {row.reason for row in found.rows if row.status != "passed"}
    assert other == {"it is written for problems with returns alone"}
    for row in (row for row in found.rows if row.reason not in other):
        rung = strategy("conv2d", row.strategy, "opencl")
        assert row.config == rung.config(found.problem)
        assert row.error.budget_fraction <= 1
        assert row.time_ms.median > 0
        assert row.gflops == pytest.approx(found.problem.flops / row.time_ms.median * 1e-6)
        assert row.cold_ms.median > 0
        assert row.first_call_ms > 0
        assert row.roof_fraction > 0
        assert row.resources.shared_bytes is not None
        assert row.reason.startswith(rung.apart)
        assert "verified on 61 images" in row.reason
        assert row.cause == ""
    assert found.best("strategy") is not None


def test_json_names_the_device_and_its_ceilings(climb, opencl_device):
    gpu = opencl_device.description.gpu
    found = climb(strategy("conv2d", "naive", "opencl")).to_json()
    json.dumps(found, allow_nan=False)
    assert set(found) == {"problem", "device", "ceilings", "environment", "rows"}
    assert found["device"] == "opencl:0"
    assert ("all_cores" in found["ceilings"]) != gpu
    device = found["environment"]["device"]
    assert device["name"]
    assert device["driver"]
    assert device["libraries"]["pyopencl"]
    (row,) = found["rows"]
    assert (row["device"], row["reason"], row["cause"]) == ("opencl:0", "", "")
    assert row["roof_fraction"] > 0
    assert row["config"]["BLOCK_X"] > 0
    assert set(row["resources"]) == {"registers", "shared_bytes", "spill_bytes", "occupancy"}


def test_a_wrong_kernel_has_a_reason_and_no_time(climb):
    (row,) = climb(Wrong("bias[", "2 * bias[")).rows
    assert (row.status, row.cause) == ("failed", "wrong")
    assert "outside the budget" in row.reason
    assert row.error.budget_fraction > 1
    assert row.time_ms is None


def test_what_a_kernel_leaves_out_is_seen(climb):
    class Lazy(FromNaive):
        name = "lazy"

        def steps(self, problem, config):
            (step,) = super().steps(problem, config)
            return (dataclasses.replace(step, arguments=(*step.arguments[:-1], 1)),)

    (row,) = climb(Lazy()).rows
    assert (row.status, row.cause) == ("failed", "wrong")
    assert "not written" in row.reason


def test_images_beyond_the_verified_ones_are_compared_too(climb):
    class Short(FromNaive):
        name = "short"

        def steps(self, problem, config):
            return super().steps(problem.with_batch(min(problem.batch, VERIFIED_ITEMS)), config)

    assert climb(Short(), batch=VERIFIED_ITEMS).rows[0].status == "passed"
    (row,) = climb(Short(), batch=VERIFIED_ITEMS + 1, everything=True).rows
    assert (row.status, row.cause) == ("failed", "wrong")
    assert "in the batch of 62" in row.reason


def test_a_text_that_does_not_compile_is_an_error_row(climb):
    (row,) = climb(Wrong("bias[", "no_such_name[")).rows
    assert (row.status, row.cause) == ("error", "compile")
    assert row.reason.startswith(CompileFailure.__name__)
    assert "no_such_name" in row.reason


def test_a_launch_beyond_the_limits_is_an_error_row(climb):
    class Large(FromNaive):
        name = "large"

        def defaults(self, problem):
            return {**super().defaults(problem), "BLOCK_X": 2**20}

        def invalid(self, problem, config):
            return None

    (row,) = climb(Large()).rows
    assert (row.status, row.cause) == ("error", "unsupported")
    assert "threads a block" in row.reason


def test_skipped_rungs_say_why(climb):
    class Refusing(FromNaive):
        name = "refusing"

        def limits(self, problem):
            return "it is Sunday"

    naive, fast = (strategy("conv2d", name, "opencl") for name in ("naive", "winograd"))
    found = climb(Refusing(), naive, fast, limit_s=1e-9, precision="ieee")
    assert [row.status for row in found.rows] == ["skipped"] * 3
    sunday, slow, rough = (row.reason for row in found.rows)
    assert sunday == "it is Sunday"
    assert "the limit is 1e-09 s" in slow
    assert "precision" in rough
    assert [row.cause for row in found.rows] == ["unsupported", "time limit", "precision"]


def test_images_with_much_work_are_estimated_from_a_shrunk_problem(climb, monkeypatch):
    launched, real = [], Executable.launch

    def watched(bound, arrays, batch=None):
        launched.append((bound.problem, batch))
        return real(bound, arrays, batch)

    monkeypatch.setattr(judge, "ITEM_FLOPS", 0)
    monkeypatch.setattr(Executable, "launch", watched)
    found = climb(strategy("conv2d", "naive", "opencl"), limit_s=1e-9)
    assert found.rows[0].cause == "time limit"
    # One image of the problem, to have the first call's time.
    assert set(launched) == {(found.problem, 1), (found.problem.shrunk(), None)}


def test_others_are_estimated_from_few(climb, monkeypatch):
    seconds, asked = clocks.DeviceClock.seconds, []
    monkeypatch.setattr(clocks.DeviceClock, "seconds", lambda *a: asked.append(seconds(*a)) or 1.0)
    monkeypatch.setattr(clocks.DeviceClock, "enough", 2)
    (row,) = climb(strategy("conv2d", "naive", "opencl"), batch=40, limit_s=13 * 20 - 1).rows
    assert row.reason == "would take 260 s, the limit is 259 s"
    assert len(asked) == 1


def test_rungs_with_atomics_need_not_repeat_their_bits(climb):
    rung = strategy("conv2d", "channels_atomic", "opencl")
    assert rung.atomic
    (row,) = climb(rung).rows
    assert (row.status, row.reason) == (
        "passed",
        "bias, activation and pool apart, as kernels of their own",
    )


def test_a_time_that_contradicts_the_hosts_is_none(climb, monkeypatch):
    def in_turns(works, **_):
        timings = measure_gpu.in_turns(works)
        return {n: dataclasses.replace(t, contradiction="a fraud") for n, t in timings.items()}

    monkeypatch.setattr(clocks, "in_turns", in_turns)
    (row,) = climb(strategy("conv2d", "naive", "opencl")).rows
    assert (row.status, row.reason) == ("failed", "invalid time: a fraud")
    assert row.cause == "invalid time"
    assert row.time_ms is None


def roofed(monkeypatch, **rates):
    """As on a GPU with these ceilings."""
    roof = dataclasses.replace(ROOF, mma_gflops={}, **rates)
    monkeypatch.setattr(known, "gpu_ceilings", lambda *_, **__: roof)
    monkeypatch.setattr(known, "has_roof", lambda device: True)


@pytest.mark.parametrize("direct", [True, False])
def test_a_time_below_the_floor_is_none_unless_flops_are_saved(climb, monkeypatch, direct):
    roofed(monkeypatch, fma_gflops=1e-6)

    class Saving(FromNaive):
        name, transforms = "saving", not direct

    found = climb(Saving())
    (row,) = found.rows
    assert row.status == ("failed" if direct else "passed")
    assert ("below the" in row.reason) is direct
    assert row.cause == ("invalid time" if direct else "")


def test_a_rung_stands_under_the_devices_roof(climb, monkeypatch):
    roofed(monkeypatch)
    found = climb(strategy("conv2d", "naive", "opencl"))
    (row,) = found.rows
    assert row.roof_fraction == pytest.approx(found.floor_ms / row.time_ms.median)
    assert found.to_json()["ceilings"]["read_gbps"] == ROOF.read_gbps


def test_rungs_take_configs(opencl_device, on_grid, known_roof):
    rung = strategy("conv2d", "naive", "opencl")
    problem = lab.parse("conv2d", SHAPE, 2)
    candidates = [(rung, {"BLOCK_X": 8}), (rung, {"BLOCK_X": 7, "NO": 1})]
    good, bad = lab.climb_problem(problem, opencl_device, candidates, precision="ieee").rows
    assert (good.status, good.config["BLOCK_X"]) == ("passed", 8)
    assert (bad.status, bad.cause, bad.time_ms) == ("error", "error", None)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"operation": "conv9d"}, InputError),
        ({"device": "opencl:x"}, InputError),
        ({"only": "loops"}, InputError),
        ({"peers": True}, InputError),
        ({"device": "cuda"}, DeviceMissing),
    ],
)
def test_bad_arguments(no_cuda, arguments, error):
    given = {"operation": "conv2d", "shape": SHAPE, "device": "opencl"} | arguments
    with pytest.raises(error):
        lab.climb(**given)


@pytest.mark.gpu
def test_every_gpu_rung_on_a_gpu():
    try:
        cuda.open_device()
    except DeviceMissing as error:
        pytest.skip(str(error))
    found = lab.climb("conv2d", SHAPE, 200, "cuda")
    assert {row.reason for row in found.rows if row.status in ("failed", "error")} == set()
    passed = [row for row in found.rows if row.status == "passed"]
    assert len(passed) >= 18
    assert all(row.resources.registers > 0 for row in passed)
    assert all(row.roof_fraction > 0 for row in passed)


def test_rungs_in_16_bits_must_move_the_bytes_of_their_formats():
    problem = Linear(10, 32, 16)

    def moved(name, **dtypes):
        rung, stored = strategy("linear", name, "cuda"), problem.stored(**dtypes)
        held = (*stored.input_arrays, *stored.output_arrays)
        return traffic_of(SimpleNamespace(strategy=rung, problem=stored, held=held)).all

    assert moved("mma_fp16", x="float16", out="float16") == problem.bytes // 2
    assert moved("mma_fp16") == problem.bytes - 2 * (32 * 16 + 16)
    assert moved("naive") == problem.bytes
