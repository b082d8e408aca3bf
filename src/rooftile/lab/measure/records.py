"""A climb's findings, as frozen records that become JSON as they are."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from rooftile.devices.gpu import Description
from rooftile.devices.gpu import Resources as Used
from rooftile.lab.judge.verdict import Verdict
from rooftile.lab.measure.ceilings.cpu import Ceilings, Roof
from rooftile.lab.measure.ceilings.gpu import GpuCeilings
from rooftile.lab.measure.environment import Environment, gpu_libraries
from rooftile.lab.measure.formed import formed
from rooftile.ops import Precision, Problem
from rooftile.ops.fields import fields_of
from rooftile.runtime.timing.host import Timing
from rooftile.runtime.timing.telemetry import Clocks

Kind = Literal["strategy", "peer"]
Status = Literal["passed", "failed", "skipped", "error"]
Cause = Literal[
    "",
    "unsupported",
    "precision",
    "device",
    "not installed",
    "time limit",
    "interrupted",
    "wrong",
    "invalid time",
    "out of memory",
    "compile",
    "crashed",
    "error",
]
"""The closed set of reasons why a row has no time; empty for one that passed."""


@dataclass(frozen=True)
class Error:
    """The part of a `Verdict` that is kept."""

    max_abs: float
    max_rel: float
    budget_fraction: float

    @classmethod
    def of(cls, verdict: Verdict) -> Error:
        """A verdict's measured error."""
        return cls(verdict.max_abs, verdict.max_rel, verdict.budget_fraction)


@dataclass(frozen=True)
class KernelResources:
    """Resources of the most demanding kernel on a GPU; None for an unknown number."""

    registers: int | None = None
    shared_bytes: int | None = None
    spill_bytes: int | None = None
    occupancy: float | None = None

    @classmethod
    def most(cls, used: Sequence[Used]) -> KernelResources:
        """The most that any kernel takes, and the least occupancy."""

        def told(name: str) -> list[Any]:
            return [value for one in used if (value := getattr(one, name)) is not None]

        names = ("registers", "shared_bytes", "spill_bytes")
        most = {name: max(told(name), default=None) for name in names}
        return cls(**most, occupancy=min(told("occupancy"), default=None))


@dataclass(frozen=True)
class Row:
    """One rung, or one peer.  A row has no time unless its status is ``passed``."""

    kind: Kind
    strategy: str
    device: str
    precision: str
    status: Status
    reason: str = ""
    """Why the row has no time; where it passed, what else must be known of its time."""
    config: Mapping[str, object] = field(default_factory=dict)
    error: Error | None = None
    """None where nothing was computed."""
    time_ms: Timing | None = None
    """The warm time: of calls on the same arrays again and again."""
    cold_ms: Timing | None = None
    """The cold time: nothing of the arrays is in the last-level cache before each call."""
    first_call_ms: float | None = None
    """The time to compile or load, pack, and compute for the first time."""
    gflops: float | None = None
    """1e9 FLOP of the direct method a second; a transform needs fewer, so it may pass the peak."""
    gbps: float | None = None
    """1e9 compulsory bytes a second."""
    roof_fraction: float | None = None
    """The problem's floor over the median time; None where no ceilings are known."""
    resources: KernelResources = field(default_factory=KernelResources)
    clocks: Clocks | None = None
    """A GPU's sensors around the samples; None where they cannot be read."""
    cause: Cause = ""

    def __post_init__(self) -> None:
        numbers = (self.time_ms, self.gflops, self.gbps)
        only_passed = (*numbers, self.cold_ms, self.first_call_ms, self.roof_fraction)
        if self.status == "passed":
            if self.cause:
                raise ValueError(f"a row that passed has its time; this one says {self.cause!r}")
            if any(number is None for number in numbers):
                raise ValueError("a row that passed has a time and what follows from it")
            return
        if any(number is not None for number in only_passed):
            raise ValueError(f"a row has no time unless it passed; this one {self.status}")
        if not self.reason:
            raise ValueError(f"a row that is {self.status} says why")


@dataclass(frozen=True)
class Ladder:
    """Every strategy of an operation on one problem, verified and timed, with its peers."""

    problem: Problem
    device: str
    ceilings: Ceilings | GpuCeilings | None
    """The processor's ceilings for an OpenCL device that is no GPU; None where none are known."""
    environment: Environment
    rows: tuple[Row, ...]
    gpu: Description | None = None
    """The GPU of the rungs; None for the CPU."""
    interrupted: bool = False
    """True if an interrupt left rungs without times or with fewer samples."""

    @property
    def roof(self) -> Roof | None:
        """The rows' bounds: the ceilings of all cores, or of the GPU."""
        return self.ceilings.all_cores if isinstance(self.ceilings, Ceilings) else self.ceilings

    @property
    def floor_ms(self) -> float:
        """The least time in milliseconds that the ceilings allow; NaN where none are known."""
        return self.roof.floor_ms(self.problem) if self.roof else math.nan

    def best(self, kind: Kind, precision: str | None = None) -> Row | None:
        """The fastest row that passed; None without one."""
        return _best(self.rows, kind, precision)

    def contests(self) -> list[tuple[Row, Row]]:
        """The fastest strategy of each precision with the fastest peer that it is compared with."""
        return contests(self.rows)

    def to_json(self) -> dict[str, Any]:
        """The object that ``rooftile climb --json`` prints."""
        return {
            "problem": problem_json(self.problem),
            "device": self.device,
            "ceilings": plain(dataclasses.asdict(self.ceilings)) if self.ceilings else {},
            "environment": self._environment_json(),
            "rows": [row_json(row) for row in self.rows],
        }

    def _environment_json(self) -> dict[str, Any]:
        found: dict[str, Any] = plain(dataclasses.asdict(self.environment))
        if self.gpu is None:
            return found
        device = {**dataclasses.asdict(self.gpu), "libraries": gpu_libraries(self.gpu.kind)}
        return {**found, "device": plain(device)}


def peer_precision(precision: str) -> str:
    """The precision of the peers that a rung is compared with: its own.

    ``fast`` has no peers: libraries choose transforms by themselves, at ``ieee``.
    """
    return "ieee" if precision == "fast" else precision


def contests(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """The fastest strategy of each precision, with the fastest peer that it is compared with.

    Precisions where one of them is missing are left out.
    """
    pairs = (
        (_best(rows, "strategy", precision), _best(rows, "peer", peer_precision(precision)))
        for precision in get_args(Precision)
    )
    return [(best, peer) for best, peer in pairs if best and peer]


def _best(rows: Sequence[Row], kind: Kind, precision: str | None) -> Row | None:
    timed = [row for row in rows if row.kind == kind and row.time_ms]
    fitting = (row for row in timed if precision in (None, row.precision))
    return min(fitting, key=median, default=None)


def median(row: Row) -> float:
    """The (warm) median in milliseconds; infinite for a row without a time."""
    return row.time_ms.median if row.time_ms else math.inf


_NAMED = 4
"""Disturbed times of which the names are told."""


def busy(times: Iterable[tuple[str, Timing | None]]) -> str:
    """A sentence on times that other programs disturbed too much to trust them; empty without
    any."""
    shares: dict[str, float] = {}
    for name, timing in times:
        if timing is not None and timing.disturbed and timing.waited is not None:
            shares[name] = max(timing.waited, shares.get(name, 0.0))
    if not shares:
        return ""
    names = [*shares][:_NAMED] + (["others"] if len(shares) > _NAMED else [])
    return (
        f"The machine was too busy to trust times: {', '.join(names)}: up to "
        f"{100 * max(shares.values()):.0f} % of it is waiting for processors that others had."
    )


def problem_json(problem: Problem) -> dict[str, Any]:
    """A problem's fields with its operation, FLOPs and compulsory bytes."""
    fields = fields_of(problem)
    derived: dict[str, Any] = {"flops": problem.flops, "bytes": problem.bytes}
    shapes = {array.name: array.shape for array in problem.output_arrays}
    derived["output_shape"] = next(iter(shapes.values())) if len(shapes) == 1 else shapes
    return {"operation": problem.operation, **plain(fields), **plain(derived)}


def row_json(row: Row) -> dict[str, Any]:
    """A row with exactly the keys of the format.

    It leaves out whether a median is steady, which is for people, and its samples, which are for
    the history.
    """
    fields = dataclasses.asdict(row)
    for timing in (fields["time_ms"], fields["cold_ms"]):
        if timing:
            del timing["steady"], timing["samples"]
    found: dict[str, Any] = plain(fields)
    return found


def row_from(found: Mapping[str, Any]) -> Row:
    """A row from its JSON object.  Raises `ValueError`, `TypeError` or `KeyError` for another."""
    parts = dict(found)
    for name in ("time_ms", "cold_ms"):
        if found[name]:  # What climb prints leaves out whether the median had settled.
            parts[name] = {"steady": True, **found[name]}
    if error := found["error"]:  # JSON has null for what is not finite.
        parts["error"] = {key: math.nan if one is None else one for key, one in error.items()}
    return formed(Row, parts, "a row")


def plain(value: Any) -> Any:
    """A value as lists and dictionaries of what JSON holds; what is not finite becomes None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
