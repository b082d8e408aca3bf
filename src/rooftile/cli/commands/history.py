"""List what was measured: climbs and tunings, of all devices unless --device names one.

Everything that is recorded is in one SQLite file; ROOFTILE_HISTORY names another.
"""

from __future__ import annotations

import argparse
import itertools
from typing import TYPE_CHECKING

from rooftile.cli._options import add_precision, count, positive
from rooftile.cli.render.output import Output, milliseconds
from rooftile.cli.render.records import problem_name, words
from rooftile.cli.render.sheet import Sheet

if TYPE_CHECKING:
    import datetime

    from rooftile.lab.measure.history.store import Record

DEFAULTS = {"device": None}
DEVICE = "only what was measured on that device (default: on all)"
_LAST = 40
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("operation", nargs="?", metavar="OP", help="only this operation")
    parser.add_argument("--shape", metavar="NAME|key=value,...", help="only this problem of OP")
    parser.add_argument("--batch", type=positive, metavar="N", help="only the problem's batch N")
    parser.add_argument("--strategy", metavar="NAME", help="only this strategy")
    add_precision(parser, "only strategies of this precision")
    parser.add_argument(
        "--status",
        choices=("passed", "failed", "skipped", "error"),
        metavar="passed|failed|skipped|error",
        help="only results of this kind",
    )
    parser.add_argument(
        "--command",
        dest="source",
        choices=("climb", "sweep", "tune", "final", "audit"),
        metavar="climb|sweep|tune|final|audit",
        help="only of this command (final: a tuning's last round)",
    )
    parser.add_argument("--run", metavar="ID", help="only this run, or those that begin so")
    parser.add_argument(
        "--revision", metavar="REV", help="only this revision, or the beginning of it"
    )
    parser.add_argument(
        "--since", metavar="DATE|7d", help="only after a date, or of the last 7 days"
    )
    parser.add_argument(
        "--last",
        type=count,
        default=_LAST,
        metavar="N",
        help=f"the newest N (default {_LAST}; 0: all)",
    )


def command(arguments: argparse.Namespace) -> int:
    """Print the records, oldest first."""
    from rooftile.errors import InputError
    from rooftile.lab.measure.history.store import records
    from rooftile.ops import parse

    problem = None
    if arguments.shape is not None:
        if arguments.operation is None:
            raise InputError("shape", repr(arguments.shape), "an operation before it")
        problem = parse(arguments.operation, arguments.shape, arguments.batch)
    elif arguments.batch is not None:
        raise InputError("batch", arguments.batch, "--shape with it")
    found = records(
        operation=arguments.operation,
        problem=problem,
        any_batch=arguments.batch is None,
        device=arguments.device,
        strategy=arguments.strategy,
        precision=arguments.precision,
        status=arguments.status,
        command=arguments.source,
        run=arguments.run,
        revision=arguments.revision,
        since=moment(arguments.since),
        last=arguments.last or None,
    )
    output = Output(arguments)
    output.result({"records": [record.to_json() for record in found]})
    _show(output, found)
    if found and len(found) == arguments.last:
        output.show("", f"(the newest {arguments.last}; --last 0 shows all)")
    return 0


def moment(text: str | None) -> datetime.datetime | None:
    """``2026-11-21``, ``2026-11-21T10:30``, or ``7d``, ``12h``, ``30m``, ``2w`` ago."""
    import datetime

    from rooftile.errors import InputError

    if text is None:
        return None
    try:
        if text[:-1].isdigit() and text[-1] in _UNITS:
            ago = datetime.timedelta(**{_UNITS[text[-1]]: int(text[:-1])})
            return datetime.datetime.now().astimezone() - ago
        return datetime.datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise InputError(
            "since", repr(text), "a date such as 2026-11-21, or 7d, 12h, 30m"
        ) from None


def _show(output: Output, records: list[Record]) -> None:
    if not records:
        output.show("no records that fit; climb and tune write them")
        return
    for run, of_run in itertools.groupby(records, lambda record: record.run):
        made = Sheet(
            "problem", "strategy", "prec", "ms", "config", numbers=("ms",), wraps=("config",)
        )
        together = list(of_run)
        for record in together:
            time = milliseconds(record.median_ms) if record.median_ms is not None else record.status
            name, config = problem_name(record), words(record.config)
            made.add_row(name, record.strategy, record.precision, time, config)
        output.show(_heading(run, together[0]), made, "")
    output.show("(rooftile compare takes two runs or revisions, or the beginnings of them)")


def _heading(run: str, record: Record) -> str:
    """A run's id, as `rooftile compare` takes it, with where and at which revision it ran."""
    revision = f", revision {record.revision[:12]}" if record.revision else ""
    return f"{run}: {record.command} on {record.device} ({record.hardware}){revision}"
