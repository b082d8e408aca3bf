"""Counters of the milestone report's kernels by Nsight Compute: shares of the GPU's speed of light,
hit rates, occupancy.

python -m rooftile_papers.reproduce.milestone_counters '{"batch": ..., "device": ..., ...}'

launches each variant once, which is what ``ncu`` watches.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

from rooftile.devices.select import open_gpu
from rooftile.errors import RooftileError
from rooftile.lab.show.explain.counters import ACHIEVED, TIME
from rooftile.lab.show.explain.profile import profile
from rooftile_papers.reproduce.experiment import Log
from rooftile_papers.reproduce.fused_products import LAYERS, Product, variants
from rooftile_papers.reproduce.milestone_layers import MeasuredLayer

COUNTED = {
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": ("speed of light, arithmetic", "%"),
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": (
        "speed of light, memory", "%"
    ),
    "l1tex__t_sector_hit_rate.pct": ("hit rate of L1", "%"),
    "lts__t_sector_hit_rate.pct": ("hit rate of L2", "%"),
    "idc__request_hit_rate.pct": ("hit rate of constant memory", "%"),
    ACHIEVED: ("achieved occupancy", "%"),
    "sm__inst_executed.avg.per_cycle_active": ("instructions a cycle", ""),
}  # fmt: skip
"""Counters and their names."""
VARIANTS = ("baseline", "restrict", "constant", "unrolled", "tile 8", "tile 32", "tf32", "fp16",
            "fp16, every warp")  # fmt: skip
_LIMIT_S = 40


def count(log: Log, batch: int, device: str, seed: int) -> None:
    """Each variant's counters, of both layers; a note where there is no profiler, or none that may
    read counters."""
    asked = {"batch": batch, "device": device, "seed": seed}
    metrics = (TIME, *COUNTED)
    try:
        found = profile(asked, _LIMIT_S, "rooftile_papers.reproduce.milestone_counters", metrics)
    except (RooftileError, subprocess.TimeoutExpired) as error:
        log.notes.append(f"nothing is counted: {error}")
        return
    names = {
        Product(layer, name, variants()[name]).kernel: f"{layer.name} of {batch}, {name}"
        for layer in LAYERS
        for name in VARIANTS
    }
    for kernel in found:
        for metric, (what, unit) in COUNTED.items():
            if metric in kernel.values and kernel.kernel in names:
                name = f"{names[kernel.kernel]}: {what}"
                log.number(name, kernel.values[metric], unit, "counted by the profiler")


def main(arguments: Sequence[str]) -> None:
    """Launch each variant of both layers as the JSON object asks."""
    asked = json.loads(arguments[0])
    gpu = open_gpu(asked["device"])
    with gpu.on():
        for layer in LAYERS:
            one = MeasuredLayer(Log(), gpu, layer, asked["batch"], asked["seed"])
            for name in VARIANTS:
                product = Product(layer, name, variants()[name])
                product.compile(gpu, one.weights)
                product.start(one.memory, layer.out**2, one.batch)
        gpu.synchronise()


if __name__ == "__main__":
    main(sys.argv[1:])
