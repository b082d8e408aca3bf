"""How the commands on records name a problem and a config, and tell of a comparison."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rooftile.lab.history.compare import Comparison
    from rooftile.lab.history.store import Record


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
