"""Names of problems and configs, and sentences on comparisons, of the commands on records."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rooftile.cli.render.output import Output
    from rooftile.lab.measure.history.compare import Comparison
    from rooftile.lab.measure.history.store import History, Record
    from rooftile.ops import Array, Problem
    from rooftile.runtime.timing.host import Timing


@contextlib.contextmanager
def recording(output: Output, wanted: bool) -> Iterator[History | None]:
    """The open history; None where none is ``wanted``, or where records cannot be written, of which
    it warns: measurements are printed all the same.

    It is opened before anything is measured, so that the warning comes at once.
    """
    from rooftile.errors import InputError
    from rooftile.lab.measure.history.store import History

    def refused(error: InputError) -> None:
        output.warn(f"nothing more is recorded: {error}")

    history = None
    try:
        history = History(refused=refused) if wanted else None
    except InputError as error:
        output.warn(f"nothing is recorded: {error}")
    with history or contextlib.nullcontext():
        yield history


@contextlib.contextmanager
def searching(output: Output) -> Iterator[History]:
    """The open history of a search, which goes on from what is in it; where none can be opened, of
    which it warns, one that is gone at the end."""
    from rooftile.errors import InputError
    from rooftile.lab.measure.history.store import History

    with tempfile.TemporaryDirectory() as folder:
        try:
            history = History()
        except InputError as error:
            output.warn(f"nothing is recorded: {error}")
            history = History(Path(folder) / "history.sqlite")
        with history:
            yield history


def warn_if_busy(output: Output, times: Mapping[str, Timing | None]) -> None:
    """Say so on standard error where other programs disturbed times too much to trust them."""
    from rooftile.lab.measure.records import busy

    if said := busy(times.items()):
        output.warn(said[0].lower() + said[1:].rstrip("."))


def problem_name(record: Record) -> str:
    """A named problem's name with the batch, where it has one; of another problem, its sizes."""
    import json

    from rooftile.ops import named, names
    from rooftile.ops.registry import operations

    known = operations().get(record.operation)
    batch = "" if known and not known.has_batch else f" x{record.batch}"
    text = json.dumps(dict(record.problem))
    for name in names(record.operation):
        if named(record.operation, name).text == text:
            return f"{name}{batch}"
    values = record.problem.values()
    sizes = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    if not sizes:
        sizes = [one for value in values if isinstance(value, list) for one in value]
    true = "".join(f" {name}" for name, value in record.problem.items() if value is True)
    return f"{record.operation} {'x'.join(map(str, sizes))}{true}{batch}"


def shapes(problem: Problem) -> str:
    """A problem's arrays: ``x[8,1,86,86] weights[4,1,7,7] bias[4] -> [8,4,40,40]``."""
    outputs = problem.output_arrays
    given = " ".join(f"{array.name}{_form(array)}" for array in problem.given_arrays)
    made = " ".join(f"{array.name if len(outputs) > 1 else ''}{_form(array)}" for array in outputs)
    return f"{given} -> {made}"


def titled(problem: Problem, shape: str) -> str:
    """The operation and the name of its problem, if it has one, and how arrays are stored."""
    from rooftile.ops.named import STORED

    name, *storage = shape.partition(STORED)
    return f"{problem.operation}{'' if '=' in name else f' {name}'}{''.join(storage)}"


def _form(array: Array) -> str:
    """The shape, with the dtype where it is not float32."""
    shape = f"[{','.join(map(str, array.shape))}]"
    return shape if array.dtype == "float32" else f"{shape}:{array.dtype}"


def words(config: Any) -> str:
    """A config in one line: ``GROUPS=28 ITEMS=64``."""
    return " ".join(f"{name}={value}" for name, value in config.items())


def comparison_json(comparison: Comparison | None) -> dict[str, Any] | None:
    """A comparison's fields; an end that is infinite is null."""
    from rooftile.lab.measure.records import plain

    found: dict[str, Any] | None = plain(dataclasses.asdict(comparison)) if comparison else None
    return found
