"""What calls of ever other shapes leave behind is bounded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rooftile
from rooftile.devices.cpu import workspace
from rooftile.devices.cpu.workspace import lent
from rooftile.runtime.calls import host
from rooftile.strategies.binding.held import bytes_held

from .valid_calls import CALLS, FUNCTIONS

_SCRIPT = """
import gc, sys
import rooftile
from tests.functional.valid_calls import CALLS, FUNCTIONS

def anonymous():
    with open("/proc/self/smaps_rollup") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Anonymous"))

def grown(name, count, size, step):
    call = getattr(rooftile, name)
    for k in range(3):
        call(**CALLS[name](size + step * k))
    gc.collect()
    gc.freeze()  # A collection looks at what came since, and not at all modules anew.
    before = anonymous()
    done = 0
    # What is kept of each length shows in a quarter of them; what grows goes on to the end.
    for until in (count // 4, count):
        for k in range(3 + done, 3 + until):
            call(**CALLS[name](size + step * k))
        gc.collect()
        found, done = anonymous() - before, until
        if found < {enough!r}:
            break
    return found, done

for name, *sizes in {cases!r}:
    print(name, *grown(name, *sizes), flush=True)
"""
_COMPILED_FOR_A_SHAPE = ("conv2d",)
"""Functions with a kernel of its own for each shape, which takes 0.1 s to compile and stays."""
_ENOUGH = 2 * 2**20
"""Bytes: less after a quarter of the lengths is 16 KiB a length of 500, a sixth of the limit."""
_LONG = ("argsort", "sort", "sort_pairs", "scan", "unique", "compact", "segmented_scan")


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="Linux tells of memory")
def test_calls_of_other_shapes_do_not_grow_a_process() -> None:
    """125 lengths for every function, 500 where that takes memory; and a few long ones where
    workspaces are long."""
    # Six lengths: what kept 4 MiB of each, as sort did, grows by more than the limit.
    cases = [(name, 6, 200_000, 7) for name in _LONG]
    cases += [
        (name, 20 if name in _COMPILED_FOR_A_SHAPE else 500, 40, 1)
        for name in FUNCTIONS
        if name != "load"
    ]
    paths = [path for path in sys.path if path]
    script = _SCRIPT.replace("{cases!r}", repr(cases)).replace("{enough!r}", repr(_ENOUGH))
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "ROOFTILE_QUIET": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    grown = [line.split() for line in run.stdout.splitlines()]
    assert len(grown) == len(cases)
    for (name, count, *_), (_, found, done) in zip(cases, grown, strict=True):
        # What waits for other calls is bounded: conv3d ends at 36 MiB, whatever lengths follow.
        limit = 48 * 2**20 * int(done) / count
        assert int(found) <= limit, f"{name} grew by {int(found) / 2**20:.1f} MiB in {done} lengths"
    # As if each had been called with 500 lengths.
    lengths = [one for one in grown[len(_LONG) :] if one[0] not in _COMPILED_FOR_A_SHAPE]
    assert 500 * sum(int(found) / int(done) for _, found, done in lengths) <= 200 * 2**20


def test_every_function_has_a_valid_call() -> None:
    """A new function comes with one."""
    assert set(CALLS) == set(FUNCTIONS)


def test_what_is_bound_says_what_it_holds() -> None:
    """So that what waits for other calls is bounded by its bytes."""
    from rooftile.devices.cpu import open_device
    from rooftile.ops import Conv2d
    from rooftile.strategies import ladder

    problem = Conv2d(1, 8, 40, 40, 16, (3, 3), (1, 1), (1, 1))
    rng = np.random.default_rng(0)
    parameters = [rng.standard_normal(a.shape, np.float32) for a in problem.parameter_arrays]
    for rung in ladder("conv2d"):
        if rung.why_not(problem) is None:
            bound = rung.bind(problem, parameters, open_device())
            assert bound.nbytes >= sum(one.nbytes for one in parameters), rung.name


def test_held_memory_counts_once_and_through_closures() -> None:
    """Views count as what they are views of."""
    whole = np.zeros(1000, np.float32)

    def call() -> object:
        return views

    views = [whole[:10], {"part": whole[20:]}, (whole,)]
    assert bytes_held(call) == 4000
    assert bytes_held(len) == 0


def test_a_workspace_serves_other_lengths_and_is_bounded(monkeypatch) -> None:
    """A piece goes to a call of about its size; what has waited longest goes."""
    monkeypatch.setattr(workspace, "waiting", type(workspace.waiting)())
    monkeypatch.setattr(workspace, "MOST_KEPT", 2**20)
    floats = np.dtype(np.float32)
    with lent((100_000,), floats, "a test") as one:
        place = one.ctypes.data
        assert place % 64 == 0
        with lent((100_000,), floats, "a test") as other:
            assert other.ctypes.data != place
    with lent((99_000,), floats, "a test") as again:
        assert again.ctypes.data in (place, other.ctypes.data)
    for count in range(1, 300_000, 9_973):
        with lent((count,), floats, "a test"):
            pass
        assert workspace.kept_bytes() <= 2**20 + 2**18
    with lent((2**20,), floats, "a test"):
        pass
    assert workspace.kept_bytes() == 2**22


def test_what_repeated_calls_keep_for_themselves_is_bounded(monkeypatch) -> None:
    """Beyond that they take what they need from what waits."""
    monkeypatch.setattr(host, "MOST_OWN_IN_ALL", host.own_bytes[0] + 2**14)
    for count in range(100, 160):
        x = np.ones((3, count), np.float32)
        first, second = (rooftile.linear(x, np.ones((7, count), np.float32)) for _ in range(2))
        assert np.array_equal(first, second)
    assert host.own_bytes[0] <= host.MOST_OWN_IN_ALL
