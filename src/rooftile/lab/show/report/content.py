"""A page's content: ladders, networks, experiments and trainings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from rooftile.lab.measure.ceilings.cpu import Rates, Roof
from rooftile.lab.measure.ceilings.gpu import ceilings_from
from rooftile.lab.measure.formed import formed
from rooftile.lab.measure.records import Row, busy, median
from rooftile.lab.show.report.training import TrainingRun


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
        return hardware_of(self.environment)


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


def hardware_of(environment: Mapping[str, Any]) -> str:
    """A GPU's name, else the processor's."""
    device = environment.get("device") or {}
    return str(device.get("name") or environment.get("cpu", ""))
