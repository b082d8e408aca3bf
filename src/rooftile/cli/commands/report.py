"""Write one self-contained HTML page of what was measured: from files, or from the history.

FILES are what climb, run, train, reproduce or history printed with --json.  Without one, the page
shows all that is recorded: of each problem on each device the newest result of every strategy, and
every trial of a tuning.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rooftile.cli._options import check_writable
from rooftile.cli.render.output import Output

if TYPE_CHECKING:
    from rooftile.lab.show.report import Content

DEFAULTS = {"device": None}
DEVICE = "only what was measured on that device (default: on all)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="JSON of a command")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("report.html"),
        metavar="FILE",
        help="where the page goes (default report.html)",
    )
    parser.add_argument("--operation", metavar="OP", help="only this operation")


def command(arguments: argparse.Namespace) -> int:
    """Write the page.  Exit code 0."""
    from rooftile._files import write_atomically
    from rooftile.errors import InputError
    from rooftile.lab.show.report import page

    check_writable("--out", arguments.out)
    output = Output(arguments)
    content = _content(arguments, output).only(arguments.operation, arguments.device)
    if not content:
        operation, device = arguments.operation, arguments.device
        only = (f" of {operation}" if operation else "") + (f" on {device}" if device else "")
        expected = "FILES of climb --json, or a history, which climb writes"
        raise InputError("records", f"none{only}", expected)
    write_atomically(arguments.out, page(content).encode())
    ladders, networks = len(content.sections), len(content.networks)
    experiments, trainings = len(content.experiments), len(content.trainings)
    output.result(
        {
            "out": str(arguments.out),
            "ladders": ladders,
            "networks": networks,
            "experiments": experiments,
            "trainings": trainings,
            "rows": content.rows,
        }
    )
    output.path(arguments.out)
    made = f"ladders {ladders}, networks {networks}, experiments {experiments}"
    output.show(f"{made}, trainings {trainings}, rows {content.rows}")
    return 0


def _content(arguments: argparse.Namespace, output: Output) -> Content:
    from rooftile.lab.measure.history.store import records
    from rooftile.lab.show.report import from_records, legible, read_files

    if arguments.files:
        return read_files(arguments.files)
    found = records(operation=arguments.operation, device=arguments.device)
    kept = legible(found)
    if len(kept) < len(found):
        output.warn(f"left out: {len(found) - len(kept)} records of the history are no results")
    return from_records(kept)
