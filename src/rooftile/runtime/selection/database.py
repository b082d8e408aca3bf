"""A SQLite file that several processes may write: opened, checked, brought up to date.

It is apart from `rooftile.lab.measure.history.store`, because a call reads tunings here and needs
nothing of what measures.
"""

from __future__ import annotations

import contextlib
import datetime
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from rooftile._files import is_full
from rooftile.errors import InputError

_APPLICATION = 0x726F6F66
"""Marks a SQLite file as ours: "roof"."""
_BUSY_S = 30.0
"""Longest wait of a writer for others."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE runs (
            id TEXT PRIMARY KEY, time TEXT NOT NULL, command TEXT NOT NULL, device TEXT NOT NULL,
            hardware TEXT NOT NULL, seed INTEGER NOT NULL, revision TEXT,
            environment TEXT NOT NULL)""",
        """CREATE TABLE results (
            id INTEGER PRIMARY KEY, run TEXT NOT NULL REFERENCES runs (id), time TEXT NOT NULL,
            operation TEXT NOT NULL, problem TEXT NOT NULL, batch INTEGER NOT NULL,
            kind TEXT NOT NULL, strategy TEXT NOT NULL, precision TEXT NOT NULL,
            status TEXT NOT NULL, fingerprint TEXT NOT NULL, row TEXT NOT NULL)""",
        "CREATE INDEX results_by_problem ON results (problem, batch, strategy)",
        "CREATE INDEX results_by_run ON results (run)",
    ),
    (
        """CREATE TABLE winners (
            id INTEGER PRIMARY KEY, time TEXT NOT NULL, operation TEXT NOT NULL,
            problem TEXT NOT NULL, batch INTEGER NOT NULL, kind TEXT NOT NULL,
            hardware TEXT NOT NULL, precision TEXT NOT NULL, strategy TEXT NOT NULL,
            config TEXT NOT NULL, fingerprint TEXT NOT NULL, preferred INTEGER NOT NULL,
            result INTEGER NOT NULL REFERENCES results (id))""",
    ),
)
"""Statements that take a database from each version to the next; never changed once released."""


def connect(path: Path) -> sqlite3.Connection:
    """Open a database, made where it is missing.  Raises `InputError` with its path."""
    with clear(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
        try:
            _prepare(database, path)
        except BaseException:
            database.close()
            raise
        return database


@contextlib.contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """An immediate transaction: waits for other writers, and is all or nothing."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        # A full disk has rolled it back already.
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def clear(path: Path) -> Iterator[None]:
    """SQLite's errors as ours, with the file's name."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        # Some bits of the code tell in which call it was that a write failed.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if is_full(error) or code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            expected = (
                "a disk with space that works; what was recorded before is still there; make room, "
                "or name another file with ROOFTILE_HISTORY"
            )
        else:
            expected = (
                "a database that rooftile made and this user can write; move it away to begin "
                "anew, or name another with ROOFTILE_HISTORY"
            )
        raise InputError("history", f"{path} ({error})", expected) from error


def utc(moment: datetime.datetime | None = None) -> str:
    """A moment (None: now) as text that sorts by time; one without a zone is local."""
    now = moment or datetime.datetime.now().astimezone()
    return now.astimezone(datetime.UTC).isoformat(timespec="milliseconds")


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    """Check whose database it is, and bring it up to date."""
    version = _version(database, path)
    _write_ahead(database)
    database.execute("PRAGMA foreign_keys = ON")
    if version == len(MIGRATIONS):
        return
    with transaction(database):
        # Another process may have been faster.
        for statements in MIGRATIONS[_version(database, path) :]:
            for statement in statements:
                database.execute(statement)
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _version(database: sqlite3.Connection, path: Path) -> int:
    """The schema's version; 0 for an empty file.  Raises `InputError` for a stranger's."""
    # One statement, so that all three are of one moment.
    application, version, tables = database.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
        "FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    if tables and application != _APPLICATION:
        raise InputError("history", path, "a database that rooftile made; this one is not")
    if version > len(MIGRATIONS):
        raise InputError(
            "history",
            f"{path} of version {version}",
            f"at most version {len(MIGRATIONS)}: a newer rooftile wrote it; update this one, or "
            "name another with ROOFTILE_HISTORY",
        )
    return int(version)


def _write_ahead(database: sqlite3.Connection) -> None:
    """Switch the write-ahead log on; SQLite does not always wait for others who do the same."""
    end = time.monotonic() + _BUSY_S
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)
