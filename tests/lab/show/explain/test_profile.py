"""Counters from a CSV, and their comparison; no ncu needed but where a test says so.

The CSV is in the form that ncu prints; its numbers are made up.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rooftile.errors import DeviceMissing, InputError, RooftileError
from rooftile.lab.show.explain import child, explain, profile
from rooftile.lab.show.explain.counters import METRICS, parse
from rooftile.lab.show.explain.target import find_target
from rooftile.ops import named
from rooftile.strategies import strategy

TEXT = Path(__file__).with_name("ncu_im2col.csv").read_text(encoding="utf-8")
RUN = {"operation": "conv2d", "shape": "lenet-conv1", "batch": 100, "strategy": "im2col",
       "device": "cuda", "config": {}, "seed": 0}  # fmt: skip


def test_launches_of_a_kernel_are_joined():
    unroll, multiply = parse(TEXT)
    assert (unroll.kernel, unroll.launches) == ("im2col_unroll", 2)
    assert (multiply.kernel, multiply.launches) == ("im2col_multiply", 1)
    assert unroll.values["dram__bytes_write.sum"] == 124e6
    assert unroll.sectors_loaded() == 2e6
    # Means are weighted by time: (80.5 x 100 + 84.5 x 300) / 400.
    assert unroll.values["sm__warps_active.avg.pct_of_peak_sustained_active"] == 83.5
    assert unroll.stall == ("long scoreboard", 12.0)
    assert multiply.stall == ("barrier", 4.5)


def test_what_is_no_table_is_told():
    with pytest.raises(InputError, match="No kernels were profiled"):
        parse("==WARNING== No kernels were profiled.\n")


def test_predictions_stand_beside_the_counts():
    problem = named("conv2d", "lenet-conv1", 100)
    rung = strategy("conv2d", "im2col", "cuda")
    found = explain(rung, problem, "cuda", find_target("cuda", "sm_90"))
    rows = {(row.kernel, row.what): row for row in profile.compare(found, parse(TEXT))}
    row = rows["im2col_unroll", "device memory, written"]
    assert row.predicted == 4 * 49 * 80 * 80 * 100
    assert row.off == pytest.approx(row.predicted / 124e6 - 1)
    assert not row.why
    far = rows["im2col_unroll", "device memory, read"]
    assert far.off == pytest.approx(far.predicted / 1501536 - 1)
    assert "L2 cache" in far.why
    assert ("im2col_finish", "loads, L1") not in rows


class Ncu:
    """Answers as ncu would, one answer a call."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def __call__(self, command, **_):
        self.asked.append(command)
        code, text = self.answers.pop(0)
        return subprocess.CompletedProcess(command, code, text, "")


@pytest.fixture
def ncu(monkeypatch):
    def install(*answers):
        made = Ncu(*answers)
        monkeypatch.setattr(shutil, "which", lambda name: f"/opt/{name}")
        monkeypatch.setattr(subprocess, "run", made)
        return made

    return install


def test_the_child_is_profiled(ncu):
    made = ncu((0, TEXT))
    assert len(profile.profile(RUN)) == 2
    (command,) = made.asked
    assert command[:4] == ["/opt/ncu", "--csv", "--page", "raw"]
    assert command[-4:-1] == [sys.executable, "-m", child.__name__]
    assert json.loads(command[-1]) == RUN
    assert command[command.index("--metrics") + 1].split(",") == list(METRICS)


def test_a_metric_that_the_gpu_lacks_is_left_out(ncu):
    lacking = METRICS[2]
    made = ncu((1, f"==ERROR== Failed to find metric {lacking}\n"), (0, TEXT))
    assert profile.profile(RUN)
    assert lacking in made.asked[0][7] or lacking in " ".join(made.asked[0])
    assert lacking not in " ".join(made.asked[1]).split(",")


def test_failures_are_told(ncu, monkeypatch):
    ncu((1, "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"))
    with pytest.raises(DeviceMissing, match="ERR_NVGPUCTRPERM"):
        profile.profile(RUN)
    ncu((9, "Traceback: no such strategy"))
    with pytest.raises(RooftileError, match="no such strategy"):
        profile.profile(RUN)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(profile, "PLACES", ("/nowhere/ncu",))
    with pytest.raises(DeviceMissing, match="Nsight Compute"):
        profile.profile(RUN)


def test_the_child_launches_its_strategy(cuda_device):
    child.main(json.dumps(RUN))
