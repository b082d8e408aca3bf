"""Show the best submissions to a lab: who passed every data set, the fastest first."""

from __future__ import annotations

import argparse
import dataclasses

from rooftile.cli.render.output import Output, milliseconds
from rooftile.cli.render.sheet import Sheet
from rooftile.errors import unknown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("--lab", required=True, metavar="NAME", help="which lab, as matmul")


def command(arguments: argparse.Namespace) -> int:
    """Print the list.  Exit code 0."""
    from rooftile.lab.measure.history.store import records
    from rooftile_papers.coursework.grading import COMMAND
    from rooftile_papers.coursework.labs import LABS
    from rooftile_papers.coursework.ranking import ranking

    if arguments.lab not in LABS:
        raise unknown("lab", arguments.lab, LABS)
    output = Output(arguments)
    places = ranking(records(command=COMMAND), arguments.lab)
    sheet = Sheet(
        "place",
        "name",
        "ms",
        "device",
        "submissions",
        "when",
        numbers=["place", "ms", "submissions"],
    )
    for number, one in enumerate(places, 1):
        total, count = milliseconds(one.total_ms), str(one.submissions)
        sheet.add_row(str(number), one.name, total, one.device, count, one.time[:16])
    output.result({"lab": arguments.lab, "places": [dataclasses.asdict(one) for one in places]})
    output.show(sheet if places else f"nobody has passed every data set of {arguments.lab} yet")
    return 0
