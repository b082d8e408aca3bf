"""What tunings found best, for whoever picks a strategy or a config.

Every call of an operation asks for it, so it is cheap: without a database it costs one look for
the file; with one, the file is read again only after it has changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from rooftile.devices.cache import history_file
from rooftile.devices.select import describe_gpu, parse_device
from rooftile.errors import DeviceMissing
from rooftile.ops import Problem
from rooftile.strategies import Config, Strategy, ladder

if TYPE_CHECKING:
    from rooftile.devices.gpu import Description

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


def tuned_config(
    strategy: Strategy, problem: Problem, device: Description
) -> dict[str, int] | None:
    """The recorded config of a strategy for a problem on a device; None without one.

    Of the nearest batch the newest counts, and only one with which the strategy still launches
    what was timed then.  Raises `InputError` for a database that cannot be read.
    """
    found = stamp()
    if not found:
        return None
    for winner in _near(problem, device.kind, device.name, history_file(), found):
        if winner.strategy == strategy.name and _still(strategy, problem, winner):
            return dict(winner.config)
    return None


def tuned_choice(problem: Problem, precision: str, device: str) -> Strategy | None:
    """The strategy that a tuning found faster than what was picked before; None without one.

    ``device`` is ``cpu``, ``cuda[:N]`` or ``opencl[:N]``.  Raises `InputError` for a database that
    cannot be read.
    """
    kind, index = parse_device(device)
    if kind == "cpu":
        return None  # The CPU's strategies have no tunables.
    path, found = history_file(), stamp()
    if not found or not _any_preferred(problem, kind, path, found):
        return None
    try:
        gpu = describe_gpu(kind, index)
    except DeviceMissing:
        return None  # Whoever runs the strategy will say so.
    return _choice(problem, precision, kind, gpu.name, path, found)


@lru_cache(maxsize=1024)
def _any_preferred(problem: Problem, kind: str, path: Path, stamp: Stamp) -> bool:
    """Whether a tuning on some device of a kind found a faster strategy; no device is opened."""
    from rooftile.runtime.database import problem_text

    return any(
        winner.preferred
        for (text, of, _), winners in _table(path, stamp).items()
        if of == kind and text == problem_text(problem)
        for winner in winners
    )


@lru_cache(maxsize=1024)
def _choice(
    problem: Problem, precision: str, kind: str, hardware: str, path: Path, stamp: Stamp
) -> Strategy | None:
    rungs = {rung.name: rung for rung in ladder(problem.operation, kind)}
    for winner in _near(problem, kind, hardware, path, stamp):
        rung = rungs.get(winner.strategy)
        if rung is None or not winner.preferred:
            continue
        takes = winner.precision == precision and rung.why_not(problem) is None
        if takes and _still(rung, problem, winner):
            return rung
    return None


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


def _still(strategy: Strategy, problem: Problem, winner: Winner) -> bool:
    """Whether the strategy can run the problem so, and launches what it did when it won."""
    if set(winner.config) != {tunable.name for tunable in strategy.tunables}:
        return False
    then = problem if problem.batch_size is None else problem.with_batch(winner.batch)
    same = fingerprint(strategy, then, items(winner.config)) == winner.fingerprint
    return same and strategy.invalid(problem, strategy.config(problem, winner.config)) is None


@lru_cache(maxsize=1024)
def _near(
    problem: Problem, kind: str, hardware: str, path: Path, stamp: Stamp
) -> tuple[Winner, ...]:
    """The winners of near batches: the nearest first, and of one batch the newest first."""
    from rooftile.runtime.database import problem_text

    found = _table(path, stamp).get((problem_text(problem), kind, hardware), ())

    def distance(winner: Winner) -> float:
        return abs(math.log(winner.batch / (problem.batch_size or 1)))

    near = [winner for winner in found if distance(winner) <= math.log(_NEAR)]
    return tuple(sorted(near, key=distance))


@lru_cache(maxsize=1)
def _table(path: Path, stamp: Stamp) -> Mapping[tuple[str, str, str], tuple[Winner, ...]]:
    """All winners, newest first, by problem, kind and hardware."""
    # Where nothing was tuned, nobody needs SQLite.
    import json

    from rooftile.runtime.database import clear, connect

    found: dict[tuple[str, str, str], tuple[Winner, ...]] = {}
    with clear(path), contextlib.closing(connect(path)) as database:
        rows = database.execute(
            "SELECT problem, kind, hardware, batch, precision, strategy, config, fingerprint, "
            "preferred FROM winners ORDER BY id DESC"
        ).fetchall()
    for *key, batch, precision, strategy, config, print_, preferred_ in rows:
        values = json.loads(config)
        winner = Winner(batch, precision, strategy, values, print_, bool(preferred_))
        place = (key[0], key[1], key[2])
        found[place] = (*found.get(place, ()), winner)
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
        except FileNotFoundError:
            if not stamps:
                return ()
            continue
        stamps += ((found.st_ino, found.st_size, found.st_mtime_ns),)
    return stamps
