"""Counters of a strategy's kernels by Nsight Compute, and their comparison with the paper model.

``ncu`` runs `rooftile.lab.show.explain.child` and replays each of its kernels as often as the
counters need, with the caches flushed before each replay: counts and times are of a cold launch.
"""

from __future__ import annotations

import glob
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rooftile.analysis.accesses import SECTOR_FLOATS
from rooftile.errors import DeviceMissing, RooftileError
from rooftile.lab.show.explain.counters import (
    DRAM_READ,
    DRAM_WRITE,
    METRICS,
    OCCUPANCY,
    SHARED_PASSES,
    STORE_SECTORS,
    Counters,
    parse,
)
from rooftile.lab.show.explain.explanation import Explanation
from rooftile.lab.show.explain.kernels import KernelView

PLACES = ("/usr/local/cuda*/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu")
_SECTOR_BYTES = 4 * SECTOR_FLOATS
_UNKNOWN = re.compile(r"Failed to find metric[s]?:? *\"?([\w.:]+)")
_REFUSED = "ERR_NVGPUCTRPERM"
CHILD = "rooftile.lab.show.explain.child"
CLOSE = 0.1
"""A prediction that is off by no more than this share is close."""

Run = Mapping[str, object]
"""The child process's task."""


@dataclass(frozen=True)
class Comparison:
    """One number of one kernel, predicted and counted."""

    kernel: str
    what: str
    unit: str
    predicted: float | None
    """None where the strategy has no model of it."""
    counted: float

    @property
    def off(self) -> float | None:
        """predicted / counted - 1; None where either is missing."""
        if self.predicted is None or self.counted == 0:
            return None
        return self.predicted / self.counted - 1

    @property
    def why(self) -> str:
        """The assumption that fails where the prediction is not close; empty where it is."""
        off = self.off
        if off is None or abs(off) <= CLOSE:
            return ""
        return _WHY[self.what][off < 0]


_WHY = {
    "loads, L1": (
        "the compiler keeps values in registers that the text reads again, or rows share sectors",
        "rows begin within sectors, or more is read than the model counts",
    ),
    "stores, L1": (
        "neighbouring stores share sectors",
        "rows begin within sectors",
    ),
    "shared memory, reads": (
        "the compiler joins reads to vectors, or keeps values in registers",
        "bank conflicts",
    ),
    "device memory, read": (
        "the L2 cache still holds what an earlier kernel wrote",
        "blocks that share data are too far apart in time for the L2 cache to keep it",
    ),
    "device memory, written": (
        "results are still in the L2 cache when the counter is read",
        "sectors are written in parts",
    ),
    "occupancy": (
        "more registers or shared memory are taken than the compiler told",
        "fewer are taken than the compiler told",
    ),
}
"""Why the model predicts more, and why it predicts less, than the GPU counts."""


def profile(
    run: Run, timeout_s: float = 1800, child: str = CHILD, wanted: Sequence[str] = METRICS
) -> list[Counters]:
    """The counters of each kernel of a run, in the order of their first launch.

    ``child`` is the module that is asked for the run, and ``wanted`` what is counted.

    Raises `DeviceMissing` where there is no ``ncu``, or none that may read the counters, and
    `RooftileError` with its words where it fails otherwise.  A metric that this GPU does not
    have is left out.
    """
    metrics = list(wanted)
    while True:
        asked = command(run, metrics, child)
        done = subprocess.run(asked, capture_output=True, text=True, timeout=timeout_s, check=False)
        words = f"{done.stdout}\n{done.stderr}"
        unknown = [name for name in _UNKNOWN.findall(words) if name in metrics]
        if not unknown:
            break
        metrics = [name for name in metrics if name not in unknown]
    if _REFUSED in words:
        raise DeviceMissing(
            "the right to read the GPU's counters (ERR_NVGPUCTRPERM)",
            "nothing; run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0",
        )
    if done.returncode:
        raise RooftileError(f"ncu failed: {words.strip()[-1500:]}")
    return parse(done.stdout, metrics)


def command(run: Run, metrics: Sequence[str] = METRICS, child: str = CHILD) -> list[str]:
    """The command line that prints a run's counters.  Raises `DeviceMissing`."""
    return [
        ncu(),
        "--csv",
        "--page",
        "raw",
        "--print-units",
        "base",
        "--clock-control",
        "none",
        "--metrics",
        ",".join(metrics),
        sys.executable,
        "-m",
        child,
        json.dumps(run),
    ]


def ncu() -> str:
    """The path of Nsight Compute. Raises `DeviceMissing`."""
    installed = [path for place in PLACES for path in sorted(glob.glob(place), reverse=True)]
    found = shutil.which("ncu") or next(iter(installed), None)
    if found is None:
        raise DeviceMissing(
            "NVIDIA Nsight Compute (ncu) in PATH or /usr/local/cuda/bin",
            "NVIDIA's package nsight-compute, or the CUDA Toolkit",
        )
    return found


def compare(explanation: Explanation, counted: Sequence[Counters]) -> list[Comparison]:
    """Predictions next to counts, kernel by kernel."""
    views = {kernel.name: kernel for kernel in explanation.kernels}
    return [
        row
        for found in counted
        if found.kernel in views
        for row in _rows(views[found.kernel], found)
    ]


def _rows(view: KernelView, found: Counters) -> list[Comparison]:
    made, held, values = view.accesses, view.occupancy, found.values
    loaded = made.load_sectors if made else None
    stored = made.store_sectors if made and not made.atomics else None
    candidates = (
        (
            "loads, L1",
            "B",
            _times(loaded, _SECTOR_BYTES),
            _times(found.sectors_loaded(), _SECTOR_BYTES),
        ),
        (
            "stores, L1",
            "B",
            _times(stored, _SECTOR_BYTES),
            _times(values.get(STORE_SECTORS), _SECTOR_BYTES),
        ),
        (
            "shared memory, reads",
            "passes",
            made.shared_reads if made else None,
            values.get(SHARED_PASSES),
        ),
        ("device memory, read", "B", float(view.read_bytes), values.get(DRAM_READ)),
        ("device memory, written", "B", float(view.written_bytes), values.get(DRAM_WRITE)),
        ("occupancy", "", held.occupancy if held else None, _times(values.get(OCCUPANCY), 0.01)),
    )
    return [
        Comparison(view.name, what, unit, predicted, count)
        for what, unit, predicted, count in candidates
        if count is not None
    ]


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
