"""A tuning in a process of its own, to be killed or to have company."""

from __future__ import annotations

import os

from rooftile.devices.opencl import device as device_of_opencl
from rooftile.devices.select import open_gpu
from rooftile.lab.ceilings import known
from rooftile.lab.history.store import History
from rooftile.lab.tune.search import Search
from rooftile.ops import Conv2d, Pool
from rooftile.runtime.timing import device as measure_gpu
from rooftile.strategies import strategy
from tests.support.climbed import fixed_ceilings
from tests.support.gpus import PLAIN, compiles_plainly

PROBLEM = Conv2d(2, 1, 20, 24, 2, (3, 3), activation="relu", pool=Pool.of("max", 2))
STRATEGY = strategy("conv2d", "row_local", "opencl")
LARGER = strategy("conv2d", "channels_tree", "opencl")


def tune(path, log, ready, start):
    """Search, and write the name of each program that was tried into ``log`` once it is kept."""
    measure_gpu._MOST_SAMPLES, measure_gpu._WARM_UP_S = 3, 0.0
    found = fixed_ceilings()
    known.ceilings = lambda **_: found
    if compiles_plainly():
        device_of_opencl._OPTIONS = PLAIN
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
