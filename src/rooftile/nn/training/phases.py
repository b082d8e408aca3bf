"""Times of a training's phases, by layer."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Span:
    """One call of a phase: when it began and how long it took, in seconds."""

    phase: str
    layer: str
    start: float
    seconds: float


@dataclass
class Tally:
    """All calls of a phase of a layer, in seconds."""

    calls: int = 0
    total: float = 0.0
    least: float = float("inf")
    most: float = 0.0

    def add(self, seconds: float) -> None:
        """One more call."""
        self.calls += 1
        self.total += seconds
        self.least = min(self.least, seconds)
        self.most = max(self.most, seconds)

    @property
    def average(self) -> float:
        """Seconds a call."""
        return self.total / self.calls


class Phases:
    """Does not look at the clock: what training uses by default."""

    timed = False

    def of(self, phase: str, layer: str = "") -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def took(self, phase: str, layer: str, start: float, seconds: float) -> None:
        """Note a call that a device has measured; ``start`` is of `time.perf_counter`."""


@dataclass
class Profile(Phases):
    """Times every call; keeps the first spans, for a timeline."""

    timed = True

    tallies: dict[tuple[str, str], Tally] = field(default_factory=dict)
    """By phase and layer, in the order in which they first came."""
    spans: list[Span] = field(default_factory=list)
    kept: int = 2000
    """Number of spans that are kept."""
    began: float = field(default_factory=time.perf_counter)

    @contextlib.contextmanager
    def of(self, phase: str, layer: str = "") -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.took(phase, layer, start, time.perf_counter() - start)

    def took(self, phase: str, layer: str, start: float, seconds: float) -> None:
        self.tallies.setdefault((phase, layer), Tally()).add(seconds)
        if len(self.spans) < self.kept:
            self.spans.append(Span(phase, layer, start - self.began, seconds))

    @property
    def total(self) -> float:
        """Seconds of all calls."""
        return sum(tally.total for tally in self.tallies.values())
