"""The patterns on the CPU: the public call, its ladder, PyTorch, NumPy, SciPy, a copy, a read.

Everything of one row runs in one process on the same arrays, is verified against the float64
reference first, and then timed in turns (`rooftile.runtime.timing.host`).
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import patterns_rows as rows
from pages import own_name
from patterns_calls import CALLS
from patterns_cases import CPU, Case
from patterns_rows import COPY, OURS, READ, Record, Watch

from rooftile.devices import cpu
from rooftile.devices.ceilings import cpu_name
from rooftile.lab.judge.exam import poison
from rooftile.lab.judge.expected import Expected
from rooftile.lab.measure.ceilings.cpu import ceilings
from rooftile.lab.measure.ceilings.cpu_kernels import streaming_copy, streaming_read
from rooftile.lab.measure.environment import environment, versions
from rooftile.lab.measure.peers.cpu import PEERS, keeping_memory
from rooftile.lab.measure.records import plain
from rooftile.ops import AnyArray
from rooftile.runtime.selection.choice import choose
from rooftile.runtime.timing.host import interleaved

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("numpy", "torch", "scipy", "llvmlite")
TAKEN = ("torch eager", "numpy", "scipy")
LIMIT_S = 345.0
"""No row begins later than this after the start."""
_OTHERS = {"conversions": "patterns_conversions", "chooser": "patterns_choice_cpu"}
"""Parts of the record that are no rows, and who measures them, beside other libraries."""
_SECONDS = 0.8
"""Seconds of samples of each contestant."""
_SLOWEST_S = 2.0
"""A rung, or a peer, that takes longer is left out."""

Call = Callable[[], object]
Result = Callable[[], tuple[AnyArray, ...]]


def run(only: list[str], write: bool) -> Path | None:
    """Measure all rows, or those of some operations or keys; returns the record's file."""
    roof, watch = ceilings(progress=_say).all_cores, Watch(LIMIT_S)
    path = path_for(cpu_name())
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    record: Record = {
        **{name: kept[name] for name in (*_OTHERS, "held_out") if name in kept},
        "environment": plain(asdict(environment())),
        "versions": versions(PACKAGES),
        "ceilings": plain(asdict(roof)),
        "rows": kept.get("rows", []),
    }
    wanted = [case for case in CPU if not only or case.key in only or case.operation in only]

    def keep() -> None:
        if write:
            path.write_text(json.dumps(plain(record), indent=1) + "\n", encoding="utf-8")

    with keeping_memory():
        for case in wanted:
            if watch.left_s < 0:
                _say(f"{case.key}: the time of the run is over")
                break
            start = time.perf_counter()
            row = rows.row_of(case, choose(case.problem, case.precision), roof)
            fill(row, case)
            row["seconds"] = round(time.perf_counter() - start, 2)
            record["rows"] = rows.merged(record["rows"], row, CPU)
            print(rows.line(row), flush=True)
            keep()
        for name, module in _OTHERS.items():
            if name in only:
                for record[name] in importlib.import_module(module).measured(watch):
                    keep()
    _say(f"{LIMIT_S - watch.left_s:.0f} s in all")
    return path if write else None


def path_for(name: str) -> Path:
    """The record of this processor: the first one's has no name of its own."""
    first = RESULTS / "patterns-cpu.json"
    if first.exists():
        where = json.loads(first.read_text(encoding="utf-8"))["environment"]
        if where["cpu"] != name:
            return RESULTS / own_name("patterns-cpu", name)
    return first


def fill(row: Record, case: Case, seconds: float = _SECONDS) -> None:
    """Verify everybody, then time in turns all who were right."""
    arrays = case.problem.random(0)
    expected = Expected(case.problem, *arrays)
    calls: dict[str, tuple[str, Call]] = {}
    for kind, name, call, result in _contestants(case, arrays):
        try:
            reason = _why_not(call, result, expected, case)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
        if reason:
            row["entries"].append(rows.entry(kind, name, None, reason))
        else:
            calls[name] = kind, call
    # Of whole blocks, so of some bytes less.
    scales: dict[str, float] = {}
    for kind, (call, moved) in _rulers(case):
        calls[kind], scales[kind] = (kind, call), rows.moved_bytes(case) / moved
    timings = interleaved({name: call for name, (_, call) in calls.items()}, seconds=seconds)
    for name, (kind, _) in calls.items():
        one = rows.entry(kind, name, timings[name])
        if scale := scales.get(kind):
            one["time_ms"] |= {key: scale * one["time_ms"][key] for key in ("median", "p20", "p80")}
        row["entries"].append(one)


def _rulers(case: Case) -> Iterator[tuple[str, tuple[Call, int]]]:
    """What moves as many bytes and does nothing else, with how many it moves: a copy, and a read
    where a goal is set by one."""
    moved, threads = rows.moved_bytes(case), cpu.cores()
    yield COPY, streaming_copy(moved // 2, threads)
    if any(goal.what == READ for goal in case.goals):
        yield READ, streaming_read(moved, threads)


def _contestants(
    case: Case, arrays: tuple[AnyArray, ...]
) -> Iterator[tuple[str, str, Call, Result]]:
    """Everybody: kind, name, the call that is timed, and what it made."""
    output = case.problem.output_arrays[0]
    out = cpu.aligned(output.shape, output.numpy, "a result")
    public = partial(CALLS[case.operation](case.problem, *arrays), out=out, **case.options)
    made: list[AnyArray] = [out]

    def call(**options: Any) -> None:
        made[0] = public(**options)

    def mine() -> tuple[AnyArray, ...]:
        # Of a result whose length depends on the data, a call gives a part of ``out``.
        assert np.shares_memory(made[0], out)
        return case.problem.given_by_others(np.asarray(made[0]))

    poison(out)
    yield "strategy", OURS, call, mine
    for rung in rows.rungs(case, "cpu"):
        poison(out)
        yield "strategy", rung.name, partial(call, strategy=rung.name), mine
    count = len(case.problem.input_arrays)
    for peer in PEERS:
        if peer.name in TAKEN and peer.why_not(case.problem) is None:
            try:
                bound = peer.bind(case.problem, arrays[count:], arrays[:count])
            except NotImplementedError:
                continue
            yield "peer", peer.name, bound.compute, bound.result


def _why_not(call: Call, result: Result, expected: Expected, case: Case) -> str:
    """Why somebody has no time; empty where nothing is wrong."""
    call()
    verdict = expected.judge(result(), case.precision)
    if not verdict.passed:
        return f"wrong: {verdict.reason}"
    start = time.perf_counter()
    call()
    took = time.perf_counter() - start
    return f"a call takes {took:.1f} s" if took > _SLOWEST_S else ""


def _say(text: Any) -> None:
    print(text, file=sys.stderr, flush=True)
