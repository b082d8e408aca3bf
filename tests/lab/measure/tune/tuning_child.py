"""A tuning in a process of its own, to be killed or to have company."""

from __future__ import annotations

import os

import pytest

from rooftile.devices.select import open_gpu
from rooftile.lab.measure.history.store import History
from rooftile.lab.measure.tune.search import Search
from rooftile.ops import Conv2d, Pool
from rooftile.strategies import strategy
from tests.support.gpus import compile_plainly
from tests.support.quick import hurry, judge_here, know_the_roof

PROBLEM = Conv2d(2, 1, 20, 24, 2, (3, 3), activation="relu", pool=Pool.of("max", 2))
STRATEGY = strategy("conv2d", "row_local", "opencl")
LARGER = strategy("conv2d", "channels_tree", "opencl")


def tune(path, log, ready, start):
    """Search, and write the name of each program that was tried into ``log`` once it is kept."""
    for hasten in (hurry, judge_here, know_the_roof, compile_plainly):
        hasten(pytest.MonkeyPatch().setattr)
    device = open_gpu("opencl")
    written = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with History(path) as history:
        search = Search(PROBLEM, LARGER, device, history)
        search._contest  # noqa: B018  What it measures once is not what is watched here.
        ready.set()
        if start is not None:
            start.wait()
        for trial in search.run()[1]:
            if not trial.resumed:
                os.write(written, f"{search.name(trial.config)}\n".encode())
