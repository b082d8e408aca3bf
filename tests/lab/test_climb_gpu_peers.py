"""Peers beside GPU rungs, on whichever OpenCL device there is; PyTorch's own on a CUDA GPU."""

from __future__ import annotations

import importlib.util
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from climbed import SHAPE, FromNaive

from rooftile.devices import cuda
from rooftile.errors import DeviceMissing
from rooftile.lab import climb as lab
from rooftile.lab import climb_gpu
from rooftile.lab.measure_gpu import Work
from rooftile.lab.peers_gpu import gpu_peers
from rooftile.lab.records import Row
from rooftile.strategies import strategy

pytestmark = [pytest.mark.alone, pytest.mark.usefixtures("few_samples")]


def test_peers_that_are_not_there_say_so(opencl_device, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    exam = lab.parse("conv2d", SHAPE, 2)
    found = climb_gpu.climb_gpu(
        exam, opencl_device, (), precision="ieee", limit_s=1, peers=True, seed=0, progress=str
    )
    assert {(row.kind, row.status, row.reason) for row in found.rows} == {
        ("peer", "skipped", "not installed: torch")
    }
    assert len(found.rows) == len(gpu_peers("ieee"))


class Computed:
    """A peer that gives the reference, as float32 or rounded to its format, times ``factor``."""

    def __init__(self, name, precision, factor=1.0):
        self.name, self.precision, self.factor = name, precision, factor

    def why_not(self):
        return None

    def prepared(self, device, problem, parameters, x, name, report):
        formats = {"fp16": np.float16, "tf32": np.float32, "ieee": np.float32}
        result = self.factor * problem.reference(x, *parameters)
        result = result.astype(formats[self.precision]).astype(np.float32)
        work = Work(device, str, str, 1, str, 0.05)
        row = partial(Row, "peer", self.name, name, self.precision)
        return SimpleNamespace(row=row, work=work, computed=lambda: result, first_call_ms=1.0)


@pytest.fixture
def peers(opencl_device, monkeypatch):
    """These in place of PyTorch's, on a device that stands for a CUDA one."""

    def run(made, rungs, precision=None):
        prepare = lambda peer, *arguments: peer.prepared(opencl_device, *arguments)  # noqa: E731
        monkeypatch.setattr(climb_gpu, "prepare", prepare)
        monkeypatch.setattr(climb_gpu, "gpu_peers", lambda name: made.get(name, ()))
        return climb_gpu.climb_gpu(
            lab.parse("conv2d", SHAPE, 2), opencl_device, [(rung, None) for rung in rungs],
            precision=precision, limit_s=1e9, peers=True, seed=0, progress=str,
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

        def why_not(self, problem):
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
