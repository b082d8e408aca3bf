"""Verify and time GPU strategies on one problem, with any configs, beside PyTorch.

    python benchmarks/gpu.py lab-conv5 1 --peers --json benchmarks/results/h200-lab-conv5.json
    python benchmarks/gpu.py lenet-conv1 10000 "direct_tile:THREAD_COLUMNS=1|2,BAND_ROWS=4|8" naive
    python benchmarks/gpu.py --op linear mnist-linear1 10000 warpgroups_fp16 mma_fp16 --peers

A thin script over `rooftile.lab.measure.climb`, which says how a rung is verified and timed; here
rungs take configs, too.  Peers are of each precision that has rungs in the call, see
`rooftile.lab.measure.peers.gpu`.  `benchmarks/ladder_page.py` writes docs/learn/gpu.md from the
records.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path
from typing import get_args

from rooftile.devices.select import open_device, parse_device
from rooftile.lab.measure.climb import climb_problem
from rooftile.lab.measure.contest import Candidate
from rooftile.lab.measure.environment import versions
from rooftile.lab.measure.records import Ladder, Row
from rooftile.ops import Precision, operations, parse
from rooftile.strategies import ladder, strategy

PACKAGES = ("torch", "triton", "nvidia-cudnn-cu13", "nvidia-cudnn-cu12")
"""The peers' packages: a record names their versions."""


def rungs_of(texts: list[str], operation: str, kind: str) -> list[Candidate]:
    """``name`` or ``name:TUNABLE=value|value,...``, every combination; all rungs without any."""
    found: list[Candidate] = []
    for text in texts or [rung.name for rung in ladder(operation, kind)]:
        name, _, settings = text.partition(":")
        rung = strategy(operation, name, kind)
        pairs = [item.partition("=") for item in filter(None, settings.split(","))]
        choices = [[int(value) for value in values.split("|")] for _, _, values in pairs]
        for values in itertools.product(*choices):
            config = {key: value for (key, _, _), value in zip(pairs, values, strict=True)}
            found.append((rung, config or None))
    return found


def show(found: Ladder) -> None:
    device = found.gpu.name if found.gpu else found.device
    print(f"{found.problem}\n{device}, floor {found.floor_ms:.4g} ms", file=sys.stderr)
    for row in sorted(found.rows, key=lambda row: row.time_ms.median if row.time_ms else 1e9):
        print(line(row))


def line(row: Row) -> str:
    used = row.resources
    config = ",".join(f"{key}={value}" for key, value in row.config.items())
    time = ""
    if row.time_ms and row.cold_ms and row.gflops:
        mark = " " if row.time_ms.steady else "~"
        time = f"{mark}{row.time_ms.median:8.4f} ms, cold {row.cold_ms.median:8.4f}"
        time += f" {row.gflops * 1e-3:7.2f} TF"
    error = f"{row.error.budget_fraction:.2f}" if row.error else ""
    takes = f"{used.registers}/{used.spill_bytes}/{used.occupancy}"
    clock = f"{row.clocks.sm_mhz} MHz" if row.clocks else ""
    status = (
        row.status if row.status == "passed" and not row.reason else f"{row.status}: {row.reason}"
    )
    name = f"{row.strategy:28} {row.precision:5}"
    return f"{time:38} {name} {error:5} {takes:12} {clock} {config} {status}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("shape", help="a named problem, or its sizes as key=value,...")
    parser.add_argument("batch", type=int)
    parser.add_argument("rungs", nargs="*", metavar="RUNG[:TUNABLE=a|b,...]")
    parser.add_argument("--op", choices=operations(), default="conv2d")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--precision", choices=get_args(Precision), help="default: all")
    parser.add_argument("--limit", type=float, default=20.0, help="skip slower rungs, in seconds")
    parser.add_argument("--json", type=Path, help="write the record here")
    options = parser.parse_args()
    found = climb_problem(
        parse(options.op, options.shape, options.batch),
        open_device(options.device),
        rungs_of(options.rungs, options.op, parse_device(options.device)[0]),
        precision=options.precision,
        limit_s=options.limit,
        peers=options.peers,
        seed=0,
        progress=lambda text: print(text, file=sys.stderr, flush=True),
    )
    show(found)
    if options.json:
        record = {"shape": options.shape, "peers": versions(PACKAGES), **found.to_json()}
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
