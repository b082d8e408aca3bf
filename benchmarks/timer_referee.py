"""Our GPU timer against CUPTI, whose kernel durations are Nsight's, from 5 us to 5 ms.

    python benchmarks/timer_referee.py [--json FILE]

Needs an NVIDIA GPU and PyTorch, whose profiler reads CUPTI.  Our time of a launch includes the gap
between two kernels of a graph; the last column is the share of that gap.
"""

from __future__ import annotations

import argparse
import json
import statistics
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices import cuda
from rooftile.devices.gpu import Launch
from rooftile.lab.measure.ceilings.gpu_kernels import text
from rooftile.runtime.timing.device import Flush, TimedLaunches, in_turns, work_of

STEPS = tuple(640 * 4**k for k in range(6))
CHAINS, THREADS = 8, 256


def duration_us(work: TimedLaunches) -> float:
    """The median duration of the kernels of some replays, by CUPTI."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(5):
            work.many()
        work.clock.synchronise()
    found = [e for e in profiler.events() if "fma_chains" in e.name]
    if not found:
        raise SystemExit("CUPTI saw no kernel of ours: is profiling permitted here?")
    durations: list[float] = [event.time_range.elapsed_us() for event in found]
    return statistics.median(durations)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", type=Path, help="write the comparison here")
    options = parser.parse_args()
    device = cuda.open_device()
    rows: list[dict[str, Any]] = []
    with device.on():
        flush, units = Flush(device), device.description.units
        x = device.upload(np.random.default_rng(0).uniform(0.5, 0.99, CHAINS + 2).astype("f4"))
        out = device.allocate(4 * units * THREADS)
        launch = Launch("fma_chains", (units, 1, 1), (THREADS, 1, 1))
        for steps in STEPS:
            program = device.compile(text("fma"), {"CHAINS": CHAINS, "STEPS": steps})
            call = partial(program.launch, launch, x, out)
            call()
            work = work_of(device, call, flush)
            timing = in_turns({"": work})[""]
            ours, cupti = 1e3 * timing.warm.median, duration_us(work)
            assert timing.cold is not None, "a device's times are warm and cold"
            cold = 1e3 * timing.cold.median
            rows.append({"cupti_us": cupti, "warm_us": ours, "cold_us": cold})
            print(
                f"CUPTI {cupti:9.2f} us   warm {ours:9.2f} us   cold {cold:9.2f} us   "
                f"{ours / cupti - 1:+.1%}"
            )
    if options.json:
        record = {"device": device.description.name, "rows": rows}
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
