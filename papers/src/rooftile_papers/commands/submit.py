"""Grade a kernel on a lab's data sets: which pass, and how fast.

KERNEL is FILE or FILE:FUNCTION (default: the function `kernel`), a Python function or a kernel of a
.cu or .cl file as `rooftile audit` takes them; it runs in a process of its own.  The data sets lie
in folders of the lab's name, in --data or where ROOFTILE_COURSE_LABS says.  Submissions go to the
history, from which `rooftile ranking --lab NAME` makes the list of the best.  Exit code 0: every
data set passed; 1: one did not; 2: wrong usage.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rooftile.cli._options import seconds
from rooftile.cli.render.output import Output, milliseconds
from rooftile.cli.render.records import recording
from rooftile.cli.render.sheet import Sheet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("kernel", metavar="KERNEL", help="FILE or FILE:FUNCTION")
    parser.add_argument("--lab", required=True, metavar="NAME", help="which lab, as matmul")
    parser.add_argument("--data", type=Path, metavar="DIR", help="the folder of all labs")
    parser.add_argument("--name", metavar="WHO", help="who submits (default: the file's name)")
    parser.add_argument(
        "--launch", default="", metavar="LINE", help="of a text: see `rooftile audit --help`"
    )
    parser.add_argument(
        "--limit",
        type=seconds,
        default=20.0,
        metavar="S",
        help="a call of more seconds is a hang (default 20)",
    )
    parser.add_argument("--no-history", action="store_true", help="do not record the result")


def command(arguments: argparse.Namespace) -> int:
    """Grade, record, print."""
    from rooftile.lab.audit import Foreign, plain_words
    from rooftile_papers.coursework.grading import grade, keep
    from rooftile_papers.coursework.labs import cases

    output = Output(arguments)
    sets = cases(arguments.lab, arguments.data)
    given = arguments.kernel
    if Path(given).is_file():
        given = f"{given}:kernel"
    kernel = Foreign.parse(given, arguments.device, launch=arguments.launch)
    name = plain_words(arguments.name or kernel.path.stem)
    with recording(output, not arguments.no_history) as history:
        with output.working(f"grading {kernel.name} on {len(sets)} data sets"):
            grades = grade(kernel, sets, limit_s=arguments.limit)
        if history is not None:
            keep(history, arguments.lab, name, kernel, grades)
    sheet = Sheet("data set", "grade", "ms", "why", numbers=["ms"], wraps=["why"])
    found = []
    for one in grades:
        median = one.time_ms.median if one.time_ms else None
        word = "passed" if one.passed else "failed"
        sheet.add_row(one.case.name, word, milliseconds(median) if median else "", one.reason)
        found.append(
            {"case": one.case.name, "status": word, "reason": one.reason, "median_ms": median}
        )
    passed = sum(one.passed for one in grades)
    result = {"lab": arguments.lab, "name": name, "device": kernel.device}
    output.result({**result, "passed": passed, "grades": found})
    output.show(sheet, f"{name}: {passed} of {len(grades)} data sets passed")
    return 0 if passed == len(grades) else 1
