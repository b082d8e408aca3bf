"""Rows of the patterns' records: one problem, everybody who was timed on it, and its goals."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from patterns_cases import Case

from rooftile.lab.measure.ceilings.cpu import Roof
from rooftile.lab.measure.environment import environment
from rooftile.runtime.timing.host import Timing
from rooftile.strategies import Strategy, ladder

Record = dict[str, Any]

OURS, COPY, READ = "rooftile", "copy", "read"


@dataclass
class Watch:
    """How much time a run has, and has left."""

    limit_s: float
    start: float = field(default_factory=time.perf_counter)

    @property
    def left_s(self) -> float:
        """Seconds that are left; none or fewer when the time is over."""
        return self.limit_s - (time.perf_counter() - self.start)


def rungs(case: Case, kind: str) -> Iterator[Strategy]:
    """The rungs of a case's precision that take its problem, where its ladder is wanted."""
    if case.ladder:
        for rung in ladder(case.operation, kind):
            if rung.precision == case.precision and rung.why_not(case.problem) is None:
                yield rung


def row_of(case: Case, picked: Strategy, roof: Roof | None) -> Record:
    """A row without times; ``picked`` is what a call takes."""
    problem, where = case.problem, environment()
    return {
        "key": case.key,
        "measured": {"time": where.time, "revision": where.revision, "load": where.load},
        "operation": case.operation,
        "name": case.name,
        "precision": case.precision,
        "dtype": case.dtype,
        "goals": [asdict(goal) for goal in case.goals],
        "ladder": case.ladder,
        "picked": picked.name,
        "bytes": moved_bytes(case),
        "flops": problem.flops,
        "floor_ms": floor_ms(case, roof, picked.transforms) if roof else None,
        "entries": [],
    }


def moved_bytes(case: Case) -> int:
    """The compulsory bytes, with the case's dtype in the place of float32."""
    size = 4 if case.dtype == "float32" else 2
    arrays = case.problem.arrays
    saved = sum((4 - size) * one.size for one in arrays if one.dtype == "float32")
    return case.problem.bytes - saved


def floor_ms(case: Case, roof: Roof, saves: bool) -> float:
    """The least time that FLOPs and compulsory bytes allow; bytes alone where a method ``saves``
    FLOPs."""
    compute = 0.0 if saves else case.problem.flops / roof.rate_gflops(case.precision)
    return 1e-6 * max(compute, moved_bytes(case) / roof.bandwidth_gbps)


def entry(kind: str, name: str, timing: Timing | None = None, reason: str = "") -> Record:
    """Somebody who was timed, or why not.

    ``kind`` is ``strategy``, ``peer``, ``copy`` or ``read``.
    """
    told = None
    if timing is not None:
        told = {key: getattr(timing, key) for key in ("median", "p20", "p80", "n")}
    return {"kind": kind, "name": name, "time_ms": told, "reason": reason[:300]}


def median(row: Record, name: str) -> float | None:
    """The milliseconds of somebody; None without a time."""
    found = (one for one in row["entries"] if one["name"] == name and one["time_ms"])
    return next((float(one["time_ms"]["median"]) for one in found), None)


def best_peer(row: Record) -> Record | None:
    """The fastest peer."""
    timed = [one for one in row["entries"] if one["kind"] == "peer" and one["time_ms"]]
    return min(timed, key=lambda one: float(one["time_ms"]["median"]), default=None)


def reached(row: Record, goal: Record) -> tuple[float, bool] | None:
    """What was reached of a goal, and whether that suffices; None where a time is missing."""
    ours = median(row, OURS)
    if ours is None:
        return None
    if goal["what"] == "ms":
        return ours, ours <= goal["value"]
    if goal["what"] == "floor":
        other = row["floor_ms"]
    elif goal["what"] == "peer":
        peer = best_peer(row)
        other = peer["time_ms"]["median"] if peer else None
    else:
        other = median(row, goal["what"])
    return (other / ours, other / ours >= goal["value"]) if other else None


def line(row: Record) -> str:
    """A row for a terminal."""
    timed = sorted(
        (one for one in row["entries"] if one["time_ms"]), key=lambda one: one["time_ms"]["median"]
    )
    parts = [f"{one['name']} {one['time_ms']['median']:.4g}" for one in timed]
    told = (f"{goal['what']} {goal['value']:g}: {_told(row, goal)}" for goal in row["goals"])
    refused = (f"[{e['name']}: {e['reason'][:120]}]" for e in row["entries"] if e["reason"])
    floor = f"floor {row['floor_ms']:.4g}" if row["floor_ms"] else ""
    return "; ".join(filter(None, [f"{row['key']:40}", floor, *parts, *told, *refused]))


def _told(row: Record, goal: Record) -> str:
    found = reached(row, goal)
    return "no time" if found is None else f"{found[0]:.4g} {'yes' if found[1] else 'NO'}"


def merged(rows: list[Record], row: Record, cases: tuple[Case, ...]) -> list[Record]:
    """The rows with a new one in place of the former of its key, in the order of the cases."""
    order = {case.key: place for place, case in enumerate(cases)}
    others = [one for one in rows if one["key"] != row["key"] and one["key"] in order]
    return sorted([*others, row], key=lambda one: order[one["key"]])
