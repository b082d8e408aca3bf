"""A page's content, from the objects that ``climb``, ``run``, ``train``, ``reproduce`` and
``history`` print as JSON, or from the history's own records."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypedDict

from rooftile.errors import InputError
from rooftile.lab.measure.ceilings.cpu import Rates, Roof
from rooftile.lab.measure.ceilings.gpu import ceilings_from
from rooftile.lab.measure.formed import formed
from rooftile.lab.measure.history.store import Record
from rooftile.lab.measure.records import Ladder, Row, busy, median, row_from
from rooftile.lab.show.report.training import TrainingRun

_FOREIGN = ("audit", "submit")
"""The commands whose rows are kernels of others."""
_EXPECTED = "JSON that rooftile climb, run, train, reproduce or history printed with --json"

UNFIT = (OSError, ValueError, TypeError, KeyError, AttributeError)
"""Exceptions of reading another kind of file, or one with other objects."""


@dataclass(frozen=True)
class Section:
    """One problem on one device: its ladder, and what was tried in tuning."""

    problem: Mapping[str, Any]
    device: str
    hardware: str
    environment: Mapping[str, Any]
    ceilings: Mapping[str, Any]
    """The ceilings as measured; empty where unknown."""
    rows: tuple[Row, ...] = ()
    trials: tuple[Row, ...] = ()
    foreign: tuple[Row, ...] = ()
    """Kernels that were audited or submitted, the newest result of each."""
    times: tuple[str, ...] = ()
    """When it was first and last measured."""
    revisions: tuple[str, ...] = ()

    @property
    def operation(self) -> str:
        """The operation's name."""
        return str(self.problem["operation"])

    @property
    def roof(self) -> Roof | None:
        """The rates that bound it; None where no ceilings are known."""
        if not self.ceilings:
            return None
        if "all_cores" in self.ceilings:
            return formed(Rates, self.ceilings["all_cores"], "ceilings")
        return ceilings_from(self.ceilings)

    @property
    def passed(self) -> list[Row]:
        """The rows that have a time, fastest first."""
        return sorted((row for row in self.rows if row.time_ms), key=median)

    @property
    def timed(self) -> str:
        """Number of rungs and peers with a time, and of all."""
        counts = []
        for kind, name in (("strategy", "rung"), ("peer", "peer")):
            rows = [row for row in self.rows if row.kind == kind]
            done = sum(row.time_ms is not None for row in rows)
            if rows:
                counts.append(f"{done} of {len(rows)} {name}{'s' * (len(rows) > 1)}")
        return ", ".join(counts) or "none"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why its times may not be trusted."""
        rows = (*self.rows, *self.trials, *self.foreign)
        said = [busy([(row.strategy, row.time_ms) for row in rows])]
        if self.ceilings.get("undisturbed") is False:
            said.append("The ceilings were measured while other programs ran.")
        return tuple(filter(None, said))

    @property
    def floors_ms(self) -> dict[str, float]:
        """The least time that the ceilings allow each precision, as the rows were judged."""
        floors = {row.precision: floor_ms(row) for row in self.passed}
        return {name: floor for name, floor in floors.items() if floor is not None}

    @property
    def intensity(self) -> float:
        """FLOP for each compulsory byte; NaN where no row tells."""
        rates = ((row.gflops, row.gbps) for row in self.rows)
        return next((flops / size for flops, size in rates if flops and size), math.nan)

    @property
    def compute_bound(self) -> bool:
        """True if arithmetic, not memory, sets the floor."""
        roof = self.roof
        return roof is not None and self.intensity * roof.bandwidth_gbps >= roof.rate_gflops()


@dataclass(frozen=True)
class NetworkRun:
    """A network's operations and their times, as ``run`` prints them."""

    model: str
    device: str
    precision: str
    batch: int
    op_times_ms: Mapping[str, float]
    strategies: Mapping[str, str]
    total_ms: float
    images_per_s: float
    accuracy: float
    images: int
    environment: Mapping[str, Any]
    peers: tuple[Row, ...] = ()
    plan: Row | None = None
    """The whole network as it was timed in turns with the peers; None where it was not."""

    @property
    def contestants(self) -> tuple[Row, ...]:
        """The peers, and before them the plan, if it was timed in turns with them."""
        return (self.plan, *self.peers) if self.plan else self.peers

    @property
    def hardware(self) -> str:
        """The device's own name."""
        return _hardware(self.environment)


class Check(TypedDict):
    """The verdict on a result before it was timed."""

    passed: bool


class Claim(TypedDict):
    """A document's claim in words."""

    words: str
    true: bool
    because: str


class Judged(TypedDict):
    """A published number, ours, and what becomes of it."""

    table: str
    key: str
    value: float
    ours: float | None
    unit: str
    document: str
    place: str
    verdict: str
    reason: str


@dataclass(frozen=True)
class Reproduced:
    """A published experiment that was run again, as ``reproduce`` prints it."""

    experiment: str
    device: str
    hardware: str
    quick: bool
    checks: tuple[Check, ...]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...]
    verdicts: tuple[Judged, ...]
    environment: Mapping[str, Any]


@dataclass(frozen=True)
class Content:
    """All that a page shows."""

    sections: tuple[Section, ...] = ()
    networks: tuple[NetworkRun, ...] = ()
    experiments: tuple[Reproduced, ...] = ()
    trainings: tuple[TrainingRun, ...] = ()

    def __add__(self, other: Content) -> Content:
        return Content(
            self.sections + other.sections,
            self.networks + other.networks,
            self.experiments + other.experiments,
            self.trainings + other.trainings,
        )

    def __bool__(self) -> bool:
        return bool(self.sections or self.networks or self.experiments or self.trainings)

    @property
    def runs(self) -> tuple[NetworkRun | TrainingRun, ...]:
        """The networks and the trainings."""
        return self.networks + self.trainings

    @property
    def rows(self) -> int:
        """Number of rows and trials."""
        return sum(len(one.rows) + len(one.trials) + len(one.foreign) for one in self.sections)

    def only(self, operation: str | None, device: str | None) -> Content:
        """The records of one operation, on one device or kind of device. None stands for every
        device, and for all operations, networks, experiments and trainings."""

        def fits(where: str) -> bool:
            return device is None or f"{where}:".startswith(f"{device}:")

        return Content(
            tuple(
                section
                for section in self.sections
                if operation in (None, section.operation) and fits(section.device)
            ),
            tuple(run for run in self.networks if operation is None and fits(run.device)),
            tuple(run for run in self.experiments if operation is None and fits(run.device)),
            tuple(run for run in self.trainings if operation is None and fits(run.device)),
        )


def floor_ms(row: Row) -> float | None:
    """The least time that the ceilings allow, as the row was judged; None where unknown."""
    return row.roof_fraction * median(row) if row.roof_fraction else None


def read_files(paths: Iterable[Path]) -> Content:
    """The files' content. Raises `InputError` for a file of another kind."""
    found = Content()
    for path in paths:
        try:
            found += content(json.loads(path.read_text(encoding="utf-8")))
        except UNFIT as error:
            what = f"{path} (no {error})" if type(error) is KeyError else f"{path} ({error})"
            raise InputError("FILE", what, _EXPECTED) from error
    return found


def content(value: Mapping[str, Any]) -> Content:
    """The content of one JSON object. Raises one of `UNFIT` for another kind."""
    if "epochs" in value:
        return Content(trainings=(_training(value),))
    if "op_times_ms" in value:
        return Content(networks=(_network(value),))
    if "records" in value and any("experiment" in record for record in value["records"]):
        return Content(experiments=tuple(map(_reproduced, value["records"])))
    if "records" in value:
        return from_records([Record.from_json(record) for record in value["records"]])
    if "problem" in value and "rows" in value:
        return Content((_section(value),))
    raise ValueError(f"an object with the keys {', '.join(sorted(value)[:6]) or '(none)'}")


def from_ladder(ladder: Ladder) -> Content:
    """A ladder that was just climbed."""
    return content(ladder.to_json())


def from_records(records: Sequence[Record]) -> Content:
    """For each problem on each device, the newest row of each strategy and all trials."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        shape = json.dumps(record.problem, sort_keys=True)
        key = (record.operation, shape, f"{record.batch:09}", record.device, record.hardware)
        groups.setdefault(key, []).append(record)
    return Content(tuple(_group(groups[key]) for key in sorted(groups)))


def _group(records: list[Record]) -> Section:
    own = [record for record in records if record.command not in ("tune", *_FOREIGN)]
    last = records[-1]
    known = [roof for record in records if (roof := record.environment.get("ceilings"))]
    return _checked(
        Section(
            problem={"operation": last.operation, "batch": last.batch, **last.problem},
            device=last.device,
            hardware=last.hardware,
            environment={
                key: value for key, value in last.environment.items() if key != "ceilings"
            },
            ceilings=known[-1] if known else {},
            rows=_newest(own),
            trials=tuple(row_from(record.row) for record in records if record.command == "tune"),
            foreign=_newest([record for record in records if record.command in _FOREIGN]),
            times=(records[0].time, last.time),
            revisions=tuple(
                dict.fromkeys(record.revision for record in records if record.revision)
            ),
        )
    )


def _newest(records: Iterable[Record]) -> tuple[Row, ...]:
    """The newest row of each strategy, peer or kernel at each precision."""
    newest: dict[tuple[str, str, str], tuple[str, Row]] = {}
    for record in records:
        key, row = (record.kind, record.strategy, record.precision), row_from(record.row)
        run, kept = newest.get(key, ("", row))
        # The last round of a tuning times the winner next to the default: show the winner.
        if run != record.run or median(row) < median(kept):
            newest[key] = (record.run, row)
    return tuple(row for _, row in newest.values())


def _section(value: Mapping[str, Any]) -> Section:
    environment = dict(value["environment"])
    revision = environment.get("revision")
    return _checked(
        Section(
            problem=formed(dict[str, Any], value["problem"], "problem"),
            device=formed(str, value["device"], "device"),
            hardware=_hardware(environment),
            environment=environment,
            ceilings=value["ceilings"],
            rows=tuple(row_from(row) for row in value["rows"]),
            times=(environment["time"],) * 2 if "time" in environment else (),
            revisions=(revision,) if revision else (),
        )
    )


def _checked(section: Section) -> Section:
    """A section whose problem, ceilings and times can be shown.  Raises `ValueError` otherwise."""
    formed(str, section.problem.get("operation"), "the problem's operation")
    formed(tuple[str, ...], section.times, "the environment's time")
    formed(tuple[str, ...], section.revisions, "the environment's revision")
    formed(dict[str, Any], section.ceilings, "ceilings")
    roof = section.roof
    if roof is not None and not min(roof.bandwidth_gbps, roof.rate_gflops()) > 0:
        raise ValueError("ceilings are above nought")
    return section


def _hardware(environment: Mapping[str, Any]) -> str:
    """A GPU's name, else the processor's."""
    device = environment.get("device") or {}
    return str(device.get("name") or environment.get("cpu", ""))


def _network(value: Mapping[str, Any]) -> NetworkRun:
    names = [field.name for field in fields(NetworkRun) if field.name not in ("peers", "plan")]
    made = formed(NetworkRun, {name: value[name] for name in names})
    peers = tuple(row_from(row) for row in value.get("peers", ()))
    plan = row_from(value["plan"]) if "plan" in value else None
    return replace(made, peers=peers, plan=plan)


def _reproduced(value: Mapping[str, Any]) -> Reproduced:
    names = [field.name for field in fields(Reproduced)]
    return formed(Reproduced, {name: value[name] for name in names})


def _training(value: Mapping[str, Any]) -> TrainingRun:
    if not value["epochs"]:
        raise ValueError("a training without an epoch")
    profile = value.get("profile", {})
    names = ("model", "device", "options", "epochs", "seconds", "environment")
    given = {name: value[name] for name in names} | {
        name: profile[name] for name in ("phases", "timeline") if name in profile
    }
    made = formed(TrainingRun, {**given, "hardware": _hardware(value["environment"])})
    told = {(phase["phase"], phase["layer"]) for phase in made.phases}
    if not told.issuperset((span["phase"], span["layer"]) for span in made.timeline):
        raise ValueError("the profile's timeline has a phase that its phases lack")
    return made
