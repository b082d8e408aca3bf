"""Every record in one SQLite database, which several processes may write at once.

A *run* is one call of a command on one device; its *results* are rows of a ladder or of a search,
written one by one, each in a transaction of its own: what was written stays when the process is
killed. Writers wait for each other (a write-ahead log, a busy timeout, immediate transactions);
readers never wait.

The schema has a version, and a database of an older version is brought up to date when it is
opened.  A file that is no database of rooftile, that is damaged, or that a newer rooftile wrote,
raises `InputError` with its path.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from rooftile.devices.cache import history_file
from rooftile.errors import InputError
from rooftile.lab.measure.formed import formed
from rooftile.lab.measure.records import Ladder, Row, plain, row_from
from rooftile.ops import Problem
from rooftile.ops.checks import check_positive
from rooftile.ops.fields import batch_of
from rooftile.runtime.selection.choice import look_again
from rooftile.runtime.selection.database import clear, connect, transaction, utc
from rooftile.runtime.selection.tuned import Winner
from rooftile.strategies.contract.renamed import all_names, current

"""Readers of a row's parts that are more than a word or a number."""


_STORAGE = frozenset(
    ("X_NARROW", "OUT_NARROW", "X_LAST", "OUT_LAST", "WHERE_NARROW", "DY_NARROW", "Y_NARROW")
)
"""Keys of older records' configs that are no tunables."""


@dataclass(frozen=True)
class Record:
    """One result, with the run that it belongs to."""

    id: int
    run: str
    command: str
    """``climb``, ``tune``, or ``final``: the last round of a tuning, on fresh inputs."""
    time: str
    """When it was written: ISO 8601, UTC."""
    operation: str
    problem: Mapping[str, Any]
    """The problem's fields, without the batch."""
    batch: int
    """1 for a problem without a batch axis."""
    device: str
    hardware: str
    """The device's own name."""
    kind: str
    strategy: str
    precision: str
    status: str
    seed: int
    revision: str | None
    fingerprint: str
    """Of the launches, see `rooftile.runtime.selection.tuned.fingerprint`; empty where unknown."""
    row: Mapping[str, Any]
    """The `Row`, samples included."""
    environment: Mapping[str, Any]
    """Versions, driver, and what else `rooftile.lab.measure.environment` tells."""

    @property
    def config(self) -> dict[str, int]:
        """The value of every tunable; empty where the strategy has none. Records of before
        `Problem.stored` say in it, too, that no array was stored otherwise."""
        config = self.row.get("config", {})
        return {name: value for name, value in config.items() if name not in _STORAGE}

    @property
    def median_ms(self) -> float | None:
        """The (warm) median time; None unless it passed."""
        timing = self.row["time_ms"]
        return timing["median"] if timing else None

    @property
    def samples(self) -> tuple[float, ...]:
        """The (warm) samples in milliseconds."""
        timing = self.row["time_ms"]
        return tuple(timing.get("samples", ())) if timing else ()

    def to_row(self) -> Row:
        """The row as it was written."""
        return row_from(self.row)

    def to_json(self) -> dict[str, Any]:
        """The object that ``rooftile history --json`` lists."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Record:
        """The record of such an object.  Raises as `row_from` for another one."""
        record = formed(cls, found, "a record")
        record.to_row()
        return record


@dataclass(frozen=True)
class Run:
    """One call of a command, whose results are being written."""

    id: str
    device: str
    hardware: str


class History:
    """An open database; for one thread.  Close it, or use it in a ``with``."""

    def __init__(
        self, path: Path | None = None, *, refused: Callable[[InputError], object] | None = None
    ) -> None:
        """Open ``path``, or the user's own (`history_file`); made where it is missing.

        ``refused`` is called once with the error where a row cannot be written, a full disk for
        example, and then nothing more is written; without it the error is raised.  Raises
        `InputError` for a file that is not rooftile's, damaged or of a newer version.
        """
        self.path, self._refused, self._gave_up = path or history_file(), refused, False
        self._database = connect(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; what was added is in it already."""
        self._database.close()

    def begin(
        self,
        command: str,
        device: str,
        hardware: str,
        environment: Mapping[str, Any],
        *,
        seed: int = 0,
    ) -> Run:
        """Note a run, to which results can then be added."""
        moment = datetime.datetime.now().astimezone()
        run = Run(f"{moment:%y%m%d-%H%M%S}-{os.urandom(3).hex()}", device, hardware)
        text = json.dumps(environment, allow_nan=False)
        values = run.id, utc(moment), command, device, hardware, seed
        self.write(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*values, environment.get("revision"), text),
        )
        return run

    def add(self, run: Run, problem: Problem, row: Row, *, fingerprint: str = "") -> int:
        """Write one result and return its number; killing the process no longer loses it."""
        text = json.dumps(plain(dataclasses.asdict(row)), allow_nan=False)
        values = (
            run.id,
            utc(),
            problem.operation,
            problem.text,
            batch_of(problem),
            row.kind,
            row.strategy,
            row.precision,
            row.status,
            fingerprint,
            text,
        )
        return self.write(
            "INSERT INTO results (run, time, operation, problem, batch, kind, strategy, "
            "precision, status, fingerprint, row) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
            values,
        )

    def add_ladder(self, ladder: Ladder, command: str, *, seed: int = 0) -> Run:
        """Write a ladder's rows as one run; without rows the run only begins, to be added to."""
        shown = ladder.to_json()
        # The roof that the rows were judged by goes with them.
        found = {**shown["environment"], "ceilings": shown["ceilings"]}
        hardware = ladder.gpu.name if ladder.gpu else ladder.environment.cpu
        run = self.begin(command, ladder.device, hardware, found, seed=seed)
        for row in ladder.rows:
            self.add(run, ladder.problem, row)
        return run

    def records(
        self,
        *,
        operation: str | None = None,
        problem: Problem | None = None,
        any_batch: bool = False,
        device: str | None = None,
        hardware: str | None = None,
        strategy: str | None = None,
        precision: str | None = None,
        status: str | None = None,
        command: str | None = None,
        run: str | None = None,
        revision: str | None = None,
        since: datetime.datetime | None = None,
        after: int | None = None,
        last: int | None = None,
    ) -> list[Record]:
        """The records that fit everything given, oldest first; ``last`` keeps that number of the
        newest.

        ``any_batch`` takes the problem at every batch.  ``device`` is a kind (``cuda``) or a
        device (``cuda:0``); ``run`` and ``revision`` may be the beginning of one; ``after`` is
        the number of a record.  Raises `InputError`.
        """
        if last is not None:
            check_positive(last=last)
        text = problem.text if problem else None
        batch = batch_of(problem) if problem and not any_batch else None
        tests: list[tuple[str, Any]] = [
            ("results.operation = ?", operation),
            ("results.problem = ?", text),
            ("results.batch = ?", batch),
            ("runs.hardware = ?", hardware),
            ("instr(?, '|' || results.strategy || '|')", strategy and _listed(strategy)),
            ("results.precision = ?", precision),
            ("results.status = ?", status),
            ("runs.command = ?", command),
            ("instr(runs.id, ?) = 1", run),
            ("instr(runs.revision, ?) = 1", revision),
            ("results.id > ?", after),
            ("results.time >= ?", utc(since) if since else None),
            ("runs.device || ':' LIKE ? || ':%'", device),
        ]
        given = [(test, value) for test, value in tests if value is not None]
        where = " AND ".join(test for test, _ in given) or "1"
        statement = f"{_SELECT} WHERE {where} ORDER BY results.id DESC LIMIT ?"
        values = [value for _, value in given]
        rows = self.rows(statement, (*values, -1 if last is None else last))
        return [_record(row) for row in reversed(rows)]

    def rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """A query's rows."""
        with clear(self.path):
            return self._database.execute(statement, values).fetchall()

    def write(self, statement: str, values: tuple[Any, ...]) -> int:
        """Insert a row, in a transaction of its own, and return its number; 0 where none was."""
        if self._gave_up:
            return 0
        try:
            with clear(self.path), transaction(self._database):
                return int(self._database.execute(statement, values).lastrowid or 0)
        except InputError as error:
            if self._refused is None:
                raise
            self._gave_up = True
            self._refused(error)
            return 0


def records(**filters: Any) -> list[Record]:
    """`History.records` of the user's own database; none where there is no database yet."""
    if not history_file().exists():
        return []
    with History() as history:
        return history.records(**filters)


_SELECT = (
    "SELECT results.id, run, command, results.time, operation, problem, batch, device, "
    "hardware, kind, strategy, precision, status, seed, revision, fingerprint, row, "
    "environment FROM results JOIN runs ON runs.id = run"
)
"""In the order of a record's fields."""


def _record(found: tuple[Any, ...]) -> Record:
    values = list(found)
    for place in (5, 16, 17):
        values[place] = json.loads(values[place])
    row = values[16]
    values[10] = row["strategy"] = current(values[10])
    return Record(*values)


def _listed(strategy: str) -> str:
    """All names that records of a rung may have, each between bars."""
    return "".join(f"|{name}" for name in all_names(strategy)) + "|"


def record_winner(
    history: History, run: Run, problem: Problem, winner: Winner, kind: str, result: int
) -> None:
    """Write what a tuning found; ``result`` is the record of its time."""
    history.write(
        "INSERT INTO winners (time, operation, problem, batch, kind, hardware, precision, "
        "strategy, config, fingerprint, preferred, result) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            utc(),
            problem.operation,
            problem.text,
            winner.batch,
            kind,
            run.hardware,
            winner.precision,
            winner.strategy,
            json.dumps(dict(winner.config)),
            winner.fingerprint,
            int(winner.preferred),
            result,
        ),
    )
    look_again()
