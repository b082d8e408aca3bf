"""The best configs of tunings, for the choice of a strategy or a config.

Every call of an operation asks for it, so it is cheap: without a database it costs one look for
the file; with one, the file is read again only after it has changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rooftile.devices.cache import history_file
from rooftile.devices.select import describe_gpu
from rooftile.errors import DeviceMissing, InputError, RooftileWarning, warn
from rooftile.ops import Problem
from rooftile.strategies import Config, Strategy, ladder
from rooftile.strategies.contract.renamed import current

_NEAR = 4.0
"""A winner stands for batches within this factor of its own."""


@dataclass(frozen=True)
class Winner:
    """The config of a strategy that a tuning found best.

    ``preferred`` says whether it beat what was picked before.
    """

    batch: int
    precision: str
    strategy: str
    config: Config
    fingerprint: str
    preferred: bool


Stamp = tuple[tuple[int, int, int], ...]
"""Changes whenever the database does."""


@dataclass(frozen=True)
class Tunings:
    """The best configs of tunings for a problem on a kind of device."""

    problem: Problem
    kind: str
    winners: Mapping[str, tuple[Winner, ...]]
    """By hardware, the winners of near batches: the nearest first, and of one batch the newest
    first."""

    def config(self, strategy: Strategy, hardware: str) -> dict[str, int] | None:
        """The recorded config of a strategy on this hardware; None without one.

        Of the nearest batch the newest counts, and only one with which the strategy still launches
        what was timed then.
        """
        winners = [w for w in self.winners.get(hardware, ()) if w.strategy == strategy.name]
        _, winner = self._still(winners, {strategy.name: strategy})
        return None if winner is None else dict(winner.config)

    def strategy(self, precision: str, index: int) -> Strategy | None:
        """The strategy that a tuning on a device, ``kind:index``, found faster than what was picked
        before; None without one.  No device is opened where no tuning of the problem found one."""
        if not any(winner.preferred for found in self.winners.values() for winner in found):
            return None
        try:
            hardware = describe_gpu(self.kind, index).name
        except DeviceMissing:
            return None  # The run of the strategy will say so.
        winners = [
            winner
            for winner in self.winners.get(hardware, ())
            if winner.preferred and winner.precision == precision
        ]
        rungs = {rung.name: rung for rung in ladder(self.problem.operation, self.kind)}
        return self._still(winners, rungs)[0]

    def _still(
        self, winners: Iterable[Winner], rungs: Mapping[str, Strategy]
    ) -> tuple[Strategy, Winner] | tuple[None, None]:
        """The first winner whose strategy still takes the problem, can run it so, and launches what
        it did when it won."""
        problem = self.problem
        for winner in winners:
            rung, config = rungs.get(winner.strategy), winner.config
            if rung is None or set(config) != {tunable.name for tunable in rung.tunables}:
                continue
            if rung.why_not(problem) is not None:
                continue
            then = problem if problem.batch_size is None else problem.with_batch(winner.batch)
            same = fingerprint(rung, then, items(config)) == winner.fingerprint
            if same and rung.invalid(problem, rung.config(problem, config)) is None:
                return rung, winner
        return None, None


def tunings(problem: Problem, kind: str) -> Tunings:
    """The tunings of a problem on a kind of device.

    Of a database that cannot be read there are none, and a `RooftileWarning` says so once.
    """
    # The CPU's strategies have no tunables.
    found = () if kind == "cpu" else stamp()
    return _near(problem, kind, history_file(), found) if found else Tunings(problem, kind, {})


@lru_cache(maxsize=4096)
def fingerprint(strategy: Strategy, problem: Problem, config: tuple[tuple[str, int], ...]) -> str:
    """A name for what a strategy launches: its text, macros and steps.

    Configs with the same fingerprint are the same program; a record with another one is of an older
    program.  What the config leaves out has its default.  Raises what the strategy raises for a
    config that it does not know.
    """
    values = strategy.config(problem, dict(config))
    return hashlib.sha256(strategy.fingerprint(problem, values).encode()).hexdigest()[:24]


def items(config: Config) -> tuple[tuple[str, int], ...]:
    """A config as `fingerprint` takes it."""
    return tuple(sorted(config.items()))


@lru_cache(maxsize=1024)
def _near(problem: Problem, kind: str, path: Path, stamp: Stamp) -> Tunings:
    def distance(winner: Winner) -> float:
        return abs(math.log(winner.batch / (problem.batch_size or 1)))

    near = {
        hardware: tuple(sorted((w for w in found if distance(w) <= math.log(_NEAR)), key=distance))
        for hardware, found in _table(path, stamp).get((problem.text, kind), {}).items()
    }
    return Tunings(problem, kind, near)


@lru_cache(maxsize=1)
def _table(path: Path, stamp: Stamp) -> Mapping[tuple[str, str], Mapping[str, tuple[Winner, ...]]]:
    """All winners, newest first, by problem and kind, and by hardware."""
    # Where nothing was tuned, nobody needs SQLite.
    import json

    from rooftile.runtime.selection.database import clear, connect

    found: dict[tuple[str, str], dict[str, tuple[Winner, ...]]] = {}
    try:
        with clear(path), contextlib.closing(connect(path)) as database:
            rows = database.execute(
                "SELECT problem, kind, hardware, batch, precision, strategy, config, fingerprint, "
                "preferred FROM winners ORDER BY id DESC"
            ).fetchall()
    except InputError as error:
        warn(f"no tuning is known: {error}", RooftileWarning)
        return {}
    for text, kind, hardware, batch, precision, strategy, config, print_, preferred in rows:
        values = json.loads(config)
        winner = Winner(batch, precision, current(strategy), values, print_, bool(preferred))
        place = found.setdefault((text, kind), {})
        place[hardware] = (*place.get(hardware, ()), winner)
    return found


def stamp() -> Stamp:
    """Number, size and time of the user's database and of its log; empty without a database.

    It changes whenever a winner is added, by this process or another.
    """
    path = history_file()
    stamps: Stamp = ()
    for name in (path, f"{path}-wal"):
        try:
            found = os.stat(name)
        except OSError:
            if not stamps:
                return ()
            continue
        stamps += ((found.st_ino, found.st_size, found.st_mtime_ns),)
    return stamps
