"""Run a published experiment again, and say which of its numbers hold.

Without an experiment it lists them: what each needs, and how long it takes.  Each is run as its
authors set it up and as it should be, is verified, and is timed; each published number then has a
verdict that follows from the measurements: it holds, holds in ratio, cannot be, measured something
else, or differs on this machine.  `all` runs all that the device can.
"""

from __future__ import annotations

import argparse
import functools
import json
from collections import Counter
from pathlib import Path
from typing import Any

from rooftile._files import write_atomically
from rooftile.cli.render.output import Output
from rooftile.cli.render.sheet import Sheet
from rooftile.errors import InputError
from rooftile_papers.reproduce.listed import listed

_ALL = "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument(
        "experiment", nargs="?", metavar="ID", help="which one, or all; none: list them"
    )
    parser.add_argument("--list", action="store_true", help="list the experiments, and run none")
    parser.add_argument(
        "--quick", action="store_true", help="smaller sizes and fewer samples: under two minutes"
    )
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="write the records there, as JSON"
    )


def command(arguments: argparse.Namespace) -> int:
    """List or run.  Exit code 1 where a result of ours was wrong."""
    from rooftile_papers.reproduce.catalogue import (
        EXPERIMENTS,
        experiment,
        record,
        runs_on,
        setting,
    )

    output = Output(arguments)
    if arguments.list or arguments.experiment is None:
        found, sheet = listed()
        output.result({"experiments": found})
        output.show(sheet)
        return 0
    chosen = list(EXPERIMENTS.values())
    if arguments.experiment != _ALL:
        chosen = [experiment(arguments.experiment)]
    place = _opened(setting, arguments)
    if arguments.experiment == _ALL:
        chosen = [one for one in chosen if runs_on(one, place)]
    records = []
    for one in chosen:
        with output.working(f"reproducing {one.name} on {place.device}"):
            records.append(record(one, place, functools.partial(_tell, output)))
        _show(output, one.title, records[-1])
        if arguments.record:
            # After each experiment: what ends this process loses none that is done.
            text = json.dumps({"records": records}, indent=1, allow_nan=False)
            write_atomically(arguments.record, f"{text}\n".encode())
    output.result({"records": records})
    wrong = [check for kept in records for check in kept["checks"] if not check["passed"]]
    return 1 if wrong else 0


def _opened(setting: Any, arguments: argparse.Namespace) -> Any:
    """The device; a missing one is wrong usage here, since nothing else can stand for it."""
    from rooftile.errors import DeviceMissing

    try:
        return setting(arguments.device, quick=arguments.quick, seed=arguments.seed)
    except DeviceMissing as error:
        raise InputError("device", repr(arguments.device), f"one that is there: {error}") from error


def _tell(output: Output, kind: str, item: Any) -> None:
    """A measurement, or a check that failed, as it comes."""
    if kind == "measured":
        output.line(f"{item.name}: {item.value:.4g} {item.unit}")
    elif kind == "checks" and not item.passed:
        output.line(f"WRONG: {item.name}: {item.said}")


def _show(output: Output, title: str, kept: dict[str, Any]) -> None:
    output.show(f"{kept['experiment']}: {title}", f"{kept['device']}, {kept['hardware']}", "")
    for check in kept["checks"]:
        if not check["passed"]:
            output.show(f"WRONG: {check['name']}: {check['said']}")
    measured = Sheet("measured", "median", "from", "to", "unit", numbers=["median", "from", "to"])
    for one in kept["measured"]:
        numbers = (f"{one[key]:.4g}" for key in ("value", "low", "high"))
        measured.add_row(one["name"], *numbers, one["unit"])
    verdicts = Sheet(
        "published",
        "there",
        "here",
        "unit",
        "verdict",
        "reason",
        numbers=["there", "here"],
        wraps=["reason"],
    )
    for one in kept["verdicts"]:
        here = "" if one["ours"] is None else f"{one['ours']:.4g}"
        name = f"{one['table']}/{one['key']}"
        there = f"{one['value']:g}"
        verdicts.add_row(name, there, here, one["unit"], one["verdict"], one["reason"])
    output.show(measured, "", verdicts, "")
    for claim in kept["claims"]:
        output.show(f"{'true' if claim['true'] else 'not true'}: {claim['words']}")
        output.show(f"    {claim['because']}")
    for note in kept["notes"]:
        output.show(f"note: {note}")
    counted = Counter(one["verdict"] for one in kept["verdicts"])
    output.show(", ".join(f"{count} {word}" for word, count in counted.items()), "")
