"""How the commands on records name a problem and a config, and tell of a comparison."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rooftile.cli._output import Output
    from rooftile.lab.history.compare import Comparison
    from rooftile.lab.history.store import History, Record


@contextlib.contextmanager
def recording(output: Output, wanted: bool) -> Iterator[History | None]:
    """The open history; None where none is ``wanted``, or nothing can be written there.

    It is opened before anything is measured, so that whoever cannot record knows at once.
    """
    from rooftile.errors import InputError
    from rooftile.lab.history.store import History
    from rooftile.runtime.database import cannot_write

    history = None
    try:
        history = History() if wanted else None
    except InputError as error:
        if not cannot_write(error):
            raise
        output.warn(f"nothing is recorded: {error}")
    with history or contextlib.nullcontext():
        yield history


def problem_name(record: Record) -> str:
    """A named problem's name with the batch, where it has one; of another problem, its sizes."""
    import json

    from rooftile.ops import named, names
    from rooftile.ops.registry import operations
    from rooftile.runtime.database import problem_text

    known = operations().get(record.operation)
    batch = "" if known and not known.has_batch else f" x{record.batch}"
    text = json.dumps(dict(record.problem))
    for name in names(record.operation):
        if problem_text(named(record.operation, name)) == text:
            return f"{name}{batch}"
    values = record.problem.values()
    sizes = [value for value in values if isinstance(value, int)]
    if not sizes:
        sizes = [one for value in values if isinstance(value, list) for one in value]
    return f"{record.operation} {'x'.join(map(str, sizes))}{batch}"


def words(config: Any) -> str:
    """A config in one line: ``GROUPS=28 ITEMS=64``."""
    return " ".join(f"{name}={value}" for name, value in config.items())


def comparison_json(comparison: Comparison | None) -> dict[str, Any] | None:
    """A comparison's fields; an end that is infinite is null."""
    from rooftile.lab.records import plain

    found: dict[str, Any] | None = plain(dataclasses.asdict(comparison)) if comparison else None
    return found
