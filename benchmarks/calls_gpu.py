"""What a call costs on an NVIDIA GPU: ours, prepared or not, plans, and PyTorch's.

Everything of one row runs in one process on the same arrays, is verified first, and then timed in
turns (`calls_clock`).  All rows are measured twice, one list after the other, because a host's
speed may change for seconds at a time with what others run there; `kept` says which of the two
stands.  The record is written after each row, and a row that fails says why.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from calls_cases import Case, cases
from calls_check import Check
from calls_clock import Contender, Record, measure
from calls_contenders import COPY, judged, makers
from calls_first import first_calls

from rooftile.devices.gpu import GpuDevice
from rooftile.devices.select import open_gpu
from rooftile.lab.measure.environment import environment, gpu_libraries, versions
from rooftile.lab.measure.peers.gpu import arithmetic
from rooftile.lab.measure.records import plain

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("numpy", "torch", "triton", "cupy-cuda12x", "cupy-cuda13x", "nvidia-cudnn-cu13")

LIMIT_S, QUICK_LIMIT_S = 225.0, 55.0
"""No row begins later than this after the start."""
_COMPILE_UNTIL = (0.6, 0.9)
"""The share of the limit after which PyTorch compiles nothing more, in each pass through the rows:
in the second it has most of it in its cache."""


def path_for(device: GpuDevice) -> Path:
    """The record of this model of GPU."""
    name = device.description.name.lower().removeprefix("nvidia ")
    return RESULTS / f"calls-{name.replace(' ', '-')}.json"


@dataclasses.dataclass(frozen=True)
class Watch:
    """How much time a run has, and has left."""

    limit_s: float
    compile_until: float = _COMPILE_UNTIL[0]
    start: float = dataclasses.field(default_factory=time.perf_counter)

    @property
    def gone(self) -> float:
        """The share of the time that is over."""
        return (time.perf_counter() - self.start) / self.limit_s

    @property
    def late(self) -> bool:
        """Whether it is too late to compile."""
        return self.gone > self.compile_until

    def share(self, rows: int) -> float:
        """Seconds that one of so many rows may take."""
        return self.limit_s * max(0.0, 1.0 - self.gone) / max(1, rows)


def run(only: Sequence[str], quick: bool, write: bool) -> None:
    """Measure all rows, or those of some labels, and write them where that is wanted.

    Rows of other labels, and first calls that are not measured now, stay in the record.
    """
    device = open_gpu("cuda")
    watch = Watch(QUICK_LIMIT_S if quick else LIMIT_S)
    path = path_for(device) if write else None
    wanted = [case for case in cases(quick) if not only or case.label in only]
    where = {**dataclasses.asdict(device.description), "libraries": gpu_libraries("cuda")}
    record: Record = {
        "environment": plain({**dataclasses.asdict(environment()), "device": where}),
        "versions": ", ".join(f"{k} {v}" for k, v in versions(PACKAGES).items()),
        "quick": quick,
        "passes": 1 if quick else len(_COMPILE_UNTIL),
        "rows": [],
        "first_calls": [],
    }
    if only and path is not None and path.exists():
        former = json.loads(path.read_text(encoding="utf-8"))
        record |= {key: former[key] for key in ("rows", "first_calls")}
        for row in record["rows"]:
            row.setdefault("time", former["environment"]["time"])
        record["quick"] = quick or former["quick"]
        record["passes"] = min(record["passes"], former.get("passes", 1))
    if not quick and not only:
        record["first_calls"] = first_calls("cuda")
        _keep(record, path)
    _measure(record, wanted, watch, quick, path)
    record["seconds"] = round(time.perf_counter() - watch.start, 1)
    print(f"{record['seconds']} s in all", file=sys.stderr)
    _keep(record, path)


def _measure(
    record: Record, wanted: Sequence[Case], watch: Watch, quick: bool, path: Path | None
) -> None:
    """Fill in the rows, in one pass or in several."""
    taken: dict[str, Record] = {}
    passes = _COMPILE_UNTIL[:1] if quick else _COMPILE_UNTIL
    left = len(passes) * len(wanted)
    for compile_until in passes:
        watch = dataclasses.replace(watch, compile_until=compile_until)
        for case in wanted:
            row = row_of_case(case, watch, left, rounds=4 if quick else 10)
            left -= 1
            print(line(row), flush=True)
            taken[case.key] = kept(taken.get(case.key, row), row)
            record["rows"] = merged(record["rows"], taken[case.key])
            _keep(record, path)


def kept(one: Record, other: Record) -> Record:
    """That of two measurements of a row which has more times; of equals, that in which PyTorch's
    eager call took its host less time, or, without one, the copy took less.

    A peer's time tells which speed the host had, and favours nobody.
    """

    def order(row: Record) -> tuple[int, float]:
        times = row["times"]
        peer = times.get("torch eager", {}).get("host_us") or times.get(COPY, {}).get("whole_us")
        return -len(times), peer["median"] if peer else math.inf

    return min(one, other, key=order)


def merged(rows: list[Record], row: Record) -> list[Record]:
    """The rows with a new one in place of the former of its key, in the order of the cases."""
    order = {case.key: place for place, case in enumerate(cases(quick=False))}
    others = [one for one in rows if one["key"] != row["key"] and one["key"] in order]
    return sorted([*others, row], key=lambda one: order[one["key"]])


def row_of_case(case: Case, watch: Watch, left: int, rounds: int) -> Record:
    """The record of one row, whatever goes wrong."""
    start = time.perf_counter()
    row: Record = {
        "key": case.key,
        "label": case.label,
        "kind": case.kind,
        "precision": case.precision,
        "dtype": case.dtype,
        "batch": case.problem.batch_size,
        "times": {},
        "refused": {},
    }
    if watch.gone >= 1:
        row["refused"]["all"] = "the time of the run was over"
        return row
    try:
        _fill(row, case, watch, left, rounds)
    except Exception as error:
        # The others are worth having all the same.
        row["refused"]["all"] = f"{type(error).__name__}: {error}"
    _tidy()
    return row | {"seconds": round(time.perf_counter() - start, 2)}


def _fill(row: Record, case: Case, watch: Watch, left: int, rounds: int) -> None:
    import torch

    seconds = watch.share(left)
    torch.compiler.reset()
    with arithmetic(case.torch_precision), torch.inference_mode():
        contenders: dict[str, Contender] = {}
        check = Check(case)
        for name, make in makers(case, check):
            if name.startswith("torch") and name != "torch eager" and watch.late:
                row["refused"][name] = "left out: too little time to compile"
                continue
            try:
                contender = make()
                theirs = name.startswith("torch")
                reason = None if name == COPY else judged(contender, check, theirs)
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
            if reason is None:
                contenders[name] = contender
            else:
                row["refused"][name] = reason[:500]
        samples, failed = measure(
            contenders, torch.cuda.synchronize, rounds=rounds, seconds=0.5 * seconds
        )
    row["times"] = {name: one.record() for name, one in samples.items()}
    row["refused"] |= {name: reason[:500] for name, reason in failed.items()}


def line(row: Record) -> str:
    """A row for a terminal: medians of host / event / whole in microseconds."""
    parts = [f"{row['key']:48}"]
    for name, times in row["times"].items():
        told = [times.get(clock) for clock in ("host_us", "event_us", "whole_us")]
        parts.append(f"{name} " + "/".join(f"{one['median']:.4g}" if one else "-" for one in told))
    parts += [f"[{name}: {reason[:160]}]" for name, reason in row["refused"].items()]
    return "; ".join(parts)


def _keep(record: Record, path: Path | None) -> None:
    if path is not None:
        path.write_text(json.dumps(plain(record), indent=1) + "\n", encoding="utf-8")


def _tidy() -> None:
    """Give back what a row's graphs and libraries hold."""
    gc.collect()
    if torch := sys.modules.get("torch"):
        torch.cuda.empty_cache()
