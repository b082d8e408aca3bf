"""The base of experiments: one measures, and judges from its measurements."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self

from rooftile.devices.gpu import GpuDevice
from rooftile_papers.reproduce.figures import Figure, Table, tables

Kind = Literal["cpu", "opencl", "cuda"]
Word = Literal[
    "holds",
    "holds in ratio",
    "cannot be",
    "measured something else",
    "differs here",
    "not measured",
]
"""The closed set of verdicts."""


@dataclass(frozen=True)
class Setting:
    """The device and the thoroughness of an experiment's run."""

    device: str
    gpu: GpuDevice | None
    """The opened ``device``; None for the CPU itself."""
    quick: bool = False
    seed: int = 0

    @property
    def large(self) -> bool:
        """True if the documents' sizes fit: on a GPU, which has the time for them."""
        return self.gpu is not None and bool(self.gpu.description.gpu)


@dataclass(frozen=True)
class Measured:
    """One number that was measured, or calculated: the median of its samples."""

    name: str
    value: float
    unit: str
    low: float
    high: float
    samples: int
    group: str = ""
    """The group that it is shown with: ``as published``, ``rightly``."""


@dataclass(frozen=True)
class Check:
    """Something that must be so for a run to count: a result was verified."""

    name: str
    passed: bool
    said: str = ""


@dataclass(frozen=True)
class Claim:
    """Something that the document says in words, and whether numbers bear it out."""

    words: str
    true: bool
    because: str


@dataclass(frozen=True)
class Found:
    """All that a run of an experiment has measured."""

    measured: tuple[Measured, ...]
    checks: tuple[Check, ...]
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    """Parts that were left out or made smaller, with the reasons."""

    def value(self, name: str) -> float | None:
        """The number of this name; None where it was not measured."""
        return next((one.value for one in self.measured if one.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Found:
        """The result of `to_json`, read."""
        return cls(
            tuple(Measured(**one) for one in found["measured"]),
            tuple(Check(**one) for one in found["checks"]),
            tuple(Claim(**one) for one in found["claims"]),
            tuple(found["notes"]),
        )


@dataclass(frozen=True)
class Ruling:
    """The verdict on one published number."""

    figure: Figure
    word: Word
    reason: str
    ours: float | None = None
    """Ours of the same, in the same unit."""

    def to_json(self) -> dict[str, Any]:
        """The figure's own fields with the verdict."""
        known = dataclasses.asdict(self.figure)
        return {**known, "ours": self.ours, "verdict": self.word, "reason": self.reason}


class Experiment(ABC):
    """One published experiment."""

    name: ClassVar[str]
    title: ClassVar[str]
    what: ClassVar[str]
    """The document's work in a few sentences, and its errors."""
    prefixes: ClassVar[tuple[str, ...]]
    """Beginnings of its published tables' ids."""
    needs: ClassVar[Mapping[Kind, tuple[float, float]]]
    """The kinds of device that it runs on, with its seconds there: in full, and quickly. The CPU's
    and OpenCL's are of two cores, CUDA's of an H200."""
    unmeasured: ClassVar[Mapping[str, str]] = {}
    """Why nothing is measured for tables whose ids begin so."""

    @abstractmethod
    def measure(self, setting: Setting) -> Found:
        """Run it.  Raises what the device raises; a wrong result is a check that failed."""

    @abstractmethod
    def judge(self, found: Found) -> list[Ruling]:
        """A verdict on each published number, from a record alone."""

    def tables(self) -> tuple[Table, ...]:
        """Its published tables."""
        return tuple(one for one in tables().values() if one.id.startswith(self.prefixes))


hear: ContextVar[Callable[[str, Any], None] | None] = ContextVar("hear", default=None)
"""Is given what an experiment gathers as it comes: the name of a list of `Log`, and the item."""


BEGUN = "begun"
"""`hear` is told this of a part of an experiment before it runs, with the part's name."""
left_out: ContextVar[Mapping[str, str]] = ContextVar("left_out", default=MappingProxyType({}))
"""Parts of an experiment that ended its process before, and how."""


def begin(name: str) -> None:
    """Say that a part of an experiment runs from now on: where the process ends, it is to blame.
    An empty name stands for what is no part's."""
    if (told := hear.get()) is not None:
        told(BEGUN, name)


class _Told(list[Any]):
    """A list that tells `hear` of each item."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def append(self, item: Any) -> None:
        super().append(item)
        if (told := hear.get()) is not None:
            told(self._name, item)

    def extend(self, items: Iterable[Any]) -> None:
        if isinstance(items, _Told):  # These were told when they came.
            super().extend(items)
            return
        for item in items:
            self.append(item)

    def __iadd__(self, items: Iterable[Any]) -> Self:  # type: ignore[misc]
        self.extend(items)
        return self


@dataclass
class Log:
    """The record that an experiment gathers while it runs."""

    measured: list[Measured] = field(default_factory=lambda: _Told("measured"))
    checks: list[Check] = field(default_factory=lambda: _Told("checks"))
    claims: list[Claim] = field(default_factory=lambda: _Told("claims"))
    notes: list[str] = field(default_factory=lambda: _Told("notes"))

    def number(self, name: str, value: float, unit: str, group: str = "") -> None:
        """A calculated number, or one that was taken once."""
        self.measured.append(Measured(name, value, unit, value, value, 1, group))

    def check(self, name: str, passed: bool, said: str = "") -> None:
        """Note whether a result was right."""
        self.checks.append(Check(name, bool(passed), said))

    def claim(self, words: str, true: bool, because: str) -> None:
        """Something that the document says."""
        self.claims.append(Claim(words, bool(true), because))

    def found(self) -> Found:
        """All of it."""
        lists = self.measured, self.checks, self.claims, self.notes
        return Found(*map(tuple, lists))  # type: ignore[arg-type]


def ruled(rulings: Sequence[Ruling], experiment: Experiment) -> list[Ruling]:
    """The rulings, and one that says so for each number that nothing was measured for."""
    known = {one.figure.id for one in rulings}
    reasons = experiment.unmeasured.items()

    def why(table: str) -> str:
        found = (reason for prefix, reason in reasons if table.startswith(prefix))
        return next(found, "this run has no measurement for it")

    rest = [
        Ruling(figure, "not measured", why(table.id))
        for table in experiment.tables()
        for figure in table.figures
        if figure.id not in known
    ]
    return [*rulings, *rest]
