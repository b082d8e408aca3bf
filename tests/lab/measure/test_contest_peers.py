"""Peers beside GPU rungs, on whichever OpenCL device there is; PyTorch's own on a CUDA GPU."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest

from rooftile.devices import cpu, cuda
from rooftile.errors import DeviceMissing
from rooftile.lab.judge.arithmetic import errors_of
from rooftile.lab.measure import climb as lab
from rooftile.lab.measure.contest import Contest
from rooftile.lab.measure.peers.gpu import gpu_peers
from rooftile.runtime.timing.device import TimedLaunches
from rooftile.strategies import strategy
from tests.support.climbed import SHAPE, FromNaive
from tests.support.judged_problems import Extremes

pytestmark = [pytest.mark.alone, pytest.mark.usefixtures("quick", "on_grid")]


def test_peers_that_are_not_there_say_so(opencl_device, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    found = lab.climb_problem(lab.parse("conv2d", SHAPE, 2), opencl_device, (), peers=True)
    assert {(row.kind, row.status, row.reason, row.cause) for row in found.rows} == {
        ("peer", "skipped", "not installed: torch", "not installed")
    }
    assert len(found.rows) == len(gpu_peers("ieee"))


class Computed:
    """A peer that gives the reference, as float32 or rounded to its format, times ``factor``."""

    def __init__(self, name, precision, factor=1.0):
        self.name, self.precision, self.factor = name, precision, factor
        self.errors = errors_of(precision)

    def missing(self):
        return None

    def why_not(self, problem):
        return None

    def bind(self, problem, parameters, inputs, device):
        return Call(self, problem, parameters, inputs, device)


class Call:
    """One peer on the inputs that it was given last."""

    def __init__(self, peer, problem, parameters, inputs, device):
        self.peer, self.problem, self.parameters = peer, problem, parameters
        self.given, self.device = inputs, device

    def give(self, inputs):
        self.given = inputs

    def compute(self):
        made = self.problem.reference(*self.given, *self.parameters)
        formats = {"fp16": np.float16}
        self.made = tuple(
            (self.peer.factor * one).astype(formats.get(self.peer.precision, np.float32))
            .astype(np.float32) for one in (made if isinstance(made, tuple) else (made,))
        )  # fmt: skip

    def result(self):
        return self.made

    def work(self, clock):
        if self.device.kind == "cpu":
            return self.compute
        return TimedLaunches(self.device, str, str, 1, str, 0.05)

    def repeat(self, work):
        self.compute()


@pytest.fixture
def peers(opencl_device, monkeypatch):
    """These in place of PyTorch's, on a device that stands for a CUDA one."""

    def run(made, rungs, precision=None):
        monkeypatch.setattr(lab, "gpu_peers", lambda name: made.get(name, ()))
        return lab.climb_problem(
            lab.parse("conv2d", SHAPE, 2), opencl_device, [(rung, None) for rung in rungs],
            precision=precision, peers=True,
        )  # fmt: skip

    return run


def test_each_precision_that_has_rungs_has_its_peers(peers):
    class Half(FromNaive):
        name = "half"
        precision = "fp16"

    class Fast(FromNaive):
        name = "fast"
        precision = "fast"

    class Refusing(FromNaive):
        name, precision = "refusing", "tf32"

        def limits(self, problem):
            return "it is Sunday"

    made = {name: [Computed("torch", name)] for name in ("ieee", "tf32", "fp16")}
    asked = {None: (["fp16"], ["ieee"]), "tf32": (["tf32"], ["tf32"])}
    for precision, (of_half, of_none) in asked.items():
        for rungs, expected in (((Half(), Refusing()), of_half), ((), of_none)):
            found = peers(made, rungs, precision)
            assert [r.precision for r in found.rows if r.kind == "peer"] == expected
    found = peers(made, (Half(), Fast()))
    assert [r.precision for r in found.rows if r.kind == "peer"] == ["ieee", "fp16"]
    pairs = [(best.strategy, peer.precision) for best, peer in found.contests()]
    assert pairs == [("fast", "ieee")]  # `half` computes with float32, and so it is wrong.


def test_a_peers_rounding_is_said_and_a_wrong_result_has_no_time(peers):
    made = {
        "ieee": [Computed("exact", "ieee"), Computed("rough", "ieee", 1 + 2**-12)],
        "fp16": [Computed("rounded", "fp16"), Computed("rough", "fp16", 1 + 2**-9),
                 Computed("wrong", "fp16", 1.5)],
    }  # fmt: skip
    rows = peers(made, (strategy("conv2d", "naive", "opencl"),), "fp16").rows[1:]
    assert [(row.strategy, row.precision, row.status) for row in rows] == [
        ("exact", "ieee", "passed"), ("rough", "ieee", "failed"), ("rounded", "fp16", "passed"),
        ("rough", "fp16", "passed"), ("wrong", "fp16", "failed"),
    ]  # fmt: skip
    assert "times the budget of fp16" in rows[3].reason
    assert rows[3].error.budget_fraction > 1
    assert "outside the budget" in rows[4].reason
    assert {row.cause for row in rows if row.status == "failed"} == {"wrong"}


@pytest.fixture
def judged(quick):
    """The row of a peer of the CPU, whose call is changed."""

    def run(call=Call, problem=Extremes(70, 9), **options):  # noqa: B008
        peer = Computed("peer", "ieee")
        peer.bind = lambda *given: call(peer, *given)
        contest = Contest(problem, cpu.open_device(2), **options)
        (row,) = contest.rows([contest.peer(peer)])
        return row

    return run


def test_a_right_peer_computes_the_whole_batch(judged):
    seen = []

    class Watched(Call):
        def compute(self):
            seen.append(self.given[0].shape)
            super().compute()

    row = judged(Watched)
    assert (row.kind, row.status, row.cause) == ("peer", "passed", "")
    assert row.reason == "verified on 61 images, repeated to the batch"
    assert set(seen) == {(70, 9)}


def test_a_peer_that_keeps_a_result_is_wrong(judged):
    class Kept(Call):
        def compute(self):
            if not hasattr(self, "made"):
                super().compute()

    row = judged(Kept)
    assert (row.status, row.cause) == ("failed", "wrong")


@pytest.mark.parametrize("batch", [5, 70])
def test_a_peer_that_changes_its_inputs_is_wrong(judged, batch):
    class Changing(Call):
        def compute(self):
            super().compute()
            self.given[0][0] = 0

    row = judged(Changing, Extremes(batch, 9))
    assert (row.status, row.reason) == ("failed", "the inputs were changed")


def test_a_peer_is_timed_on_the_contests_inputs(judged):
    given = []

    class Watched(Call):
        def work(self, clock):
            given.append(self.given[0].copy())
            return super().work(clock)

    problem = Extremes(5, 9)
    arrays = problem.random(3)
    assert judged(Watched, problem, arrays=arrays).status == "passed"
    np.testing.assert_array_equal(given[0], arrays[0])


def test_what_a_peer_raises_is_a_row(judged):
    class Broken(Call):
        def compute(self):
            raise RuntimeError("no kernel image")

    row = judged(Broken)
    assert (row.status, row.cause) == ("error", "error")
    assert row.reason == "RuntimeError: no kernel image"


def test_a_peers_impossible_time_is_none(judged):
    # Transforms may save FLOPs, but its bytes must move.
    fast = SimpleNamespace(
        most_gflops=lambda precision: 1e-9, bandwidth_gbps=1e-9, floor_ms=lambda *_: 1.0
    )
    row = judged(roof=fast)
    assert (row.status, row.cause) == ("failed", "invalid time")
    assert "the bytes that must move" in row.reason
    fast.bandwidth_gbps = 1e9
    assert judged(roof=fast).status == "passed"
    assert judged(roof=fast, trusted=False).status == "passed"


@pytest.mark.gpu
def test_pytorch_beside_a_rung_on_a_gpu():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    try:
        cuda.open_device()
    except DeviceMissing as error:
        pytest.skip(str(error))
    found = lab.climb("conv2d", SHAPE, 200, "cuda", only="direct_tile", peers=True)
    assert {row.reason for row in found.rows if row.status != "passed"} == set()
    assert [row.kind for row in found.rows] == ["strategy"] + ["peer"] * len(gpu_peers("ieee"))
    assert {row.precision for row in found.rows} == {"ieee"}
