"""Seconds of first calls: in a process with an empty cache of kernels, and in the next one."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from typing import Any

Record = dict[str, Any]

_LIMIT_S = 60.0
"""Seconds that a process may take."""
_WARM_PROCESSES = {"cpu": 15, "cuda": 1}
"""How many processes find a warm cache; their median is shown.  On a GPU each imports PyTorch for
seconds."""

_CPU = """
import sys, time
start = time.perf_counter()
import rooftile
import numpy as np
a = lambda *shape: np.ones(shape, np.float32)
wait = lambda: None
"""

_CUDA = """
import sys, time
import torch
a = lambda *shape: torch.ones(shape, device="cuda")
wait = torch.cuda.synchronize
a(1)
wait()
start = time.perf_counter()
import rooftile
"""

_CALLS = """
block = {"activation": "relu", "pool": ("max", 2)}
conv = rooftile.conv2d
calls = {
    "conv2d 1x1x28x28, 8 maps 5x5": lambda: conv(a(1, 1, 28, 28), a(8, 1, 5, 5), **block),
    "the same of 32x40": lambda: conv(a(1, 1, 32, 40), a(8, 1, 5, 5), **block),
    "64 channels 3x3, 56x56": lambda: conv(a(1, 64, 56, 56), a(64, 64, 3, 3), padding=1),
    "the same of 28x28": lambda: conv(a(1, 64, 28, 28), a(64, 64, 3, 3), padding=1),
    "the same, fast": lambda: conv(
        a(1, 64, 28, 28), a(64, 64, 3, 3), padding=1, precision="fast"),
    "11x11, stride 4, 224x224": lambda: conv(
        a(1, 3, 224, 224), a(64, 3, 11, 11), stride=4, padding=2),
    "linear 4x300x100": lambda: rooftile.linear(a(4, 300), a(100, 300)),
    "matmul 64^3": lambda: rooftile.matmul(a(64, 64), a(64, 64)),
}
for label, call in calls.items():
    begin = time.perf_counter()
    call()
    wait()
    now = time.perf_counter()
    print(label, now - begin, now - start, sep="\\t", flush=True)
"""


def first_calls(kind: str) -> list[Record]:
    """A row for each call; on a GPU PyTorch and its context are there before the clock starts.

    Python's bytecode is there too, as an installation leaves it: a process before writes it.
    Where a process fails or takes too long, the rows that it printed are kept, and the last one
    says why there are no more.
    """
    text = (_CPU if kind == "cpu" else _CUDA) + _CALLS
    rows: dict[str, Record] = {}
    with tempfile.TemporaryDirectory() as cache:
        # NVRTC keeps what it has compiled in the driver's cache, from where a cold call would take
        # it.
        environ = os.environ | {
            "ROOFTILE_CACHE": cache,
            "PYTHONPYCACHEPREFIX": f"{cache}/bytecode",
            "CUDA_CACHE_PATH": f"{cache}/nvidia",
        }
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        others = dict.fromkeys(("ROOFTILE_CACHE", "CUDA_CACHE_PATH"), f"{cache}/before")
        _printed([sys.executable, "-c", text], environ | others)
        for state, processes in (("cold", 1), ("warm", _WARM_PROCESSES[kind])):
            times: dict[str, list[tuple[float, float]]] = {}
            for _ in range(processes):
                printed, error = _printed([sys.executable, "-c", text], environ)
                for line in printed.splitlines():
                    label, call, since = line.split("\t")
                    times.setdefault(label, []).append((float(call), float(since)))
                if error:
                    rows[f"{state} failed"] = {"label": f"{state} failed", "error": error}
                    break
            for label, found in times.items():
                row = rows.setdefault(label, {"label": label, "bytecode": "kept"})
                calls, since_import = zip(*found, strict=True)
                row[state] = statistics.median(calls)
                row[f"{state}_since_import"] = statistics.median(since_import)
                row[f"{state}_processes"] = len(found)
    return list(rows.values())


def _printed(command: list[str], environ: dict[str, str]) -> tuple[str, str]:
    """What a process prints, and why it did not end well; empty where it did."""
    try:
        run = subprocess.run(
            command, env=environ, capture_output=True, text=True, check=False, timeout=_LIMIT_S
        )
    except subprocess.TimeoutExpired as late:
        told = late.stdout or b""
        text = told.decode() if isinstance(told, bytes) else told
        return text[: text.rfind("\n") + 1], f"it took longer than {_LIMIT_S:g} s"
    return run.stdout, run.stderr[-500:] if run.returncode else ""
