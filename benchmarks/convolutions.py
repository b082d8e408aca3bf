"""The GPU's time of convolutions, ours beside the best of PyTorch's, on tensors as users have them.

    python benchmarks/convolutions.py                        # every case, one line each
    python benchmarks/convolutions.py --rungs --only "1x1"   # what other rungs would take
    python benchmarks/convolutions.py --write  # the record and docs/reference/convolutions.md

Everybody is given tensors in both orders of their axes, contiguous and channels_last, of float32 at
``ieee`` and ``tf32`` and of the precision's own 16-bit numbers elsewhere, and makes its result
anew.  Ours is the one-shot call and the prepared operation; PyTorch's is its modules in inference
mode, with cuDNN's search for algorithms.  All are verified first, then timed in turns
(`calls_clock`).  The record is written after each row.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import convolutions_page
import numpy as np
from calls_cases import Case
from calls_check import Check
from calls_clock import Contender, Record, measure
from calls_contenders import Make, judged
from convolutions_cases import PROBLEMS, WAYS, cases, sizes
from convolutions_page import LAST
from table import LOWEST

import rooftile
from rooftile.devices.gpu import GpuDevice
from rooftile.devices.select import open_gpu
from rooftile.lab.measure.environment import environment, gpu_libraries, versions
from rooftile.lab.measure.peers.gpu import arithmetic
from rooftile.lab.measure.peers.torch_module import torch_module
from rooftile.lab.measure.records import plain
from rooftile.ops import Conv2d, admits
from rooftile.runtime.selection.choice import choose
from rooftile.strategies import ladder, strategy
from rooftile.strategies.contract.gpu import GpuStrategy, of_launches
from rooftile.strategies.contract.machine import Multiprocessors

RESULTS = Path(__file__).parent / "results"
_PACKAGES = ("torch", "nvidia-cudnn-cu13", "nvidia-cudnn-cu12")


def path_for(device: GpuDevice) -> Path:
    """The record of this model of GPU."""
    name = device.description.name.lower().removeprefix("nvidia ")
    return RESULTS / f"convolutions-{name.replace(' ', '-')}.json"


def rungs(case: Case, device: GpuDevice) -> Iterator[GpuStrategy]:
    """The rungs of the upper ladder that may compute a case: those of its precision, and at
    ``tf32`` those of ``ieee`` too."""
    problem, kind = case.problem, device.description.kind
    rungs = ladder("conv2d", kind)
    first = rungs.index(strategy("conv2d", LOWEST, kind))
    for rung in map(of_launches, rungs[first:]):
        wanted = rung.precision == case.precision or case.precision == "tf32"
        if not wanted or not admits(case.precision, rung.precision):
            continue
        placed = rung.on(Multiprocessors.of(device.description))
        if not (placed.why_not(problem) or rung.why_not_on(device.description.architecture)):
            yield rung


def makers(case: Case, check: Check, others: Sequence[GpuStrategy]) -> Iterator[tuple[str, Make]]:
    """Each contender by name, and what makes it, which may raise.  PyTorch's begin with torch."""
    import torch

    problem = case.problem
    assert isinstance(problem, Conv2d)
    dtype = getattr(torch, case.dtype)
    given = [torch.from_numpy(np.ascontiguousarray(a)).to("cuda", dtype) for a in check.arrays]
    x, parameters = check.whole(given[0]).contiguous(), given[1:]
    options: dict[str, Any] = {
        "stride": problem.stride, "padding": problem.padding, "pool": problem.pool,
        "activation": problem.activation, "precision": case.precision,
    }  # fmt: skip

    def prepared(x: Any, name: str | None = None) -> Contender:
        return Contender(partial(rooftile.Conv2d(*parameters, **options, strategy=name), x))

    def theirs(x: Any, order: torch.memory_format) -> Contender:
        module = torch_module(problem, check.arrays[1:]).to("cuda", dtype)
        return Contender(partial(module.to(memory_format=order), x))

    for order, suffix in ((torch.contiguous_format, ""), (torch.channels_last, LAST)):
        laid = x.contiguous(memory_format=order)
        call = partial(rooftile.conv2d, laid, *parameters, **options)
        yield f"call{suffix}", partial(Contender, call)
        yield f"prepared{suffix}", partial(prepared, laid)
        for rung in () if suffix else others:
            yield rung.name, partial(prepared, laid, rung.name)
        yield f"torch{suffix}", partial(theirs, laid, order)


def row_of(case: Case, device: GpuDevice, every: bool, rounds: int, seconds: float) -> Record:
    """The record of one row, whatever goes wrong."""
    problem, start = case.problem, time.perf_counter()
    row: Record = {
        "key": case.key,
        "label": case.label,
        "sizes": sizes(problem),
        "precision": case.precision,
        "dtype": case.dtype,
        "flops": problem.flops,
        "picked": choose(problem, case.precision, device.description.device).name,
        "times": {},
        "refused": {},
    }
    try:
        _fill(row, case, tuple(rungs(case, device)) if every else (), rounds, seconds)
    except Exception as error:
        # The others are worth having all the same.
        row["refused"]["all"] = f"{type(error).__name__}: {error}"
    return row | {"seconds": round(time.perf_counter() - start, 2)}


def _fill(
    row: Record, case: Case, others: Sequence[GpuStrategy], rounds: int, seconds: float
) -> None:
    import torch

    with arithmetic(case.precision), torch.inference_mode():
        check, contenders = Check(case), dict[str, Contender]()
        for name, make in makers(case, check, others):
            try:
                contender = make()
                reason = judged(contender, check, name.startswith("torch"))
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
            if reason is None:
                contenders[name] = contender
            else:
                row["refused"][name] = reason[:500]
        wait = torch.cuda.synchronize
        samples, failed = measure(contenders, wait, rounds=rounds, seconds=seconds, burst=2)
    row["times"] = {name: one.record() for name, one in samples.items()}
    row["refused"] |= {name: reason[:500] for name, reason in failed.items()}
    del contenders, check
    torch.cuda.empty_cache()


def merged(rows: list[Record], row: Record) -> list[Record]:
    """The rows with a new one in place of the former of its key, in the order of the cases."""
    order = {case.key: place for place, case in enumerate(cases())}
    others = [one for one in rows if one["key"] != row["key"] and one["key"] in order]
    return sorted([*others, row], key=lambda one: order[one["key"]])


def line(row: Record) -> str:
    """A row for a terminal: microseconds of the GPU, the fastest first."""
    times = {
        name: one["event_us"]["median"] for name, one in row["times"].items() if "event_us" in one
    }
    told = [f"{name} {times[name]:.4g}" for name in sorted(times, key=times.__getitem__)]
    refused = [f"[{name}: {reason[:200]}]" for name, reason in row["refused"].items()]
    return "; ".join([f"{row['key']} ({row['picked']}, {row['seconds']} s)", *told, *refused])


def run(options: argparse.Namespace) -> None:
    """Measure the wanted cases; rows of others stay in the record."""
    device = open_gpu("cuda")
    path = options.json or path_for(device)
    where = {**dataclasses.asdict(device.description), "libraries": gpu_libraries("cuda")}
    former = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    record: Record = {
        "environment": plain({**dataclasses.asdict(environment()), "device": where}),
        "versions": ", ".join(f"{k} {v}" for k, v in versions(_PACKAGES).items()),
        "rows": former.get("rows", []) if options.write else [],
    }
    for case in cases():
        if options.only and case.label not in options.only:
            continue
        if options.precision and case.precision not in options.precision:
            continue
        row = row_of(case, device, options.rungs, options.rounds, options.seconds)
        record["rows"] = merged(record["rows"], row)
        print(line(row), flush=True)
        if options.write or options.json:
            path.write_text(json.dumps(plain(record), indent=1) + "\n", encoding="utf-8")
    print(convolutions_page.summary(record["rows"]), flush=True)
    if options.write:
        convolutions_page.write(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", nargs="+", default=[], choices=list(PROBLEMS), metavar="LABEL")
    parser.add_argument("--precision", nargs="+", default=[], choices=[way[0] for way in WAYS])
    parser.add_argument("--rungs", action="store_true", help="time other rungs by name, too")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=2.0, help="at most, for a row's rounds")
    parser.add_argument("--json", type=Path, help="the record, if not that of this GPU's name")
    parser.add_argument("--write", action="store_true", help="write the record and the page")
    run(parser.parse_args())
    return 0


if __name__ == "__main__":
    sys.exit(main())
