"""Find what became faster or slower between two revisions, runs or record files.

A and B are each the beginning of a revision or of a run, or a file that rooftile history --json
wrote.  The exit code is 1 where B is slower, or broke what passed.
"""

from __future__ import annotations

import argparse
import collections
import math
from typing import TYPE_CHECKING, Any

from rooftile.cli._options import share
from rooftile.cli.render.output import Output, milliseconds
from rooftile.cli.render.records import comparison_json, problem_name, words
from rooftile.cli.render.sheet import Sheet

if TYPE_CHECKING:
    from rooftile.lab.measure.history.regressions import Change

_EFFECT, _LEVEL = 0.03, 0.05


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("before", metavar="A", help="a revision, a run, or a file of records")
    parser.add_argument("after", metavar="B", help="what is compared with it")
    parser.add_argument(
        "--effect",
        type=share,
        default=_EFFECT,
        metavar="SHARE",
        help=f"the smallest difference of interest (default {_EFFECT}: runs differ by themselves)",
    )
    parser.add_argument(
        "--level",
        type=share,
        default=_LEVEL,
        metavar="P",
        help=f"at most so often a verdict is a false alarm (default {_LEVEL})",
    )


def command(arguments: argparse.Namespace) -> int:
    """Compare, print the verdicts.  Exit code 1 where something became worse."""
    from rooftile.lab.measure.history.regressions import changes, side
    from rooftile.lab.measure.history.store import History

    output = Output(arguments)
    with History() as history:
        before, after = side(arguments.before, history), side(arguments.after, history)
    found = changes(before, after, effect=arguments.effect, level=arguments.level)
    counts = collections.Counter(change.outcome for change in found)
    output.result(
        {
            "before": arguments.before,
            "after": arguments.after,
            "effect": arguments.effect,
            "level": arguments.level,
            "changes": [_json(change) for change in found],
            "counts": dict(counts),
        }
    )
    numbers = ("B/A", "from", "to", "more", "A ms", "B ms")
    made = Sheet("strategy", "verdict", *numbers, "problem", "device", numbers=numbers)
    for change in found:
        made.add_row(*_cells(change))
    output.show(made, "", ", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    output.show(
        f"(B's time over A's; a difference below {100 * arguments.effect:g} % is none; a verdict "
        f"errs with a probability of at most {100 * arguments.level:g} %; more: about how "
        "many more samples of each would tell)"
    )
    return 1 if any(change.regression for change in found) else 0


def _cells(change: Change) -> tuple[str, ...]:
    name = change.before.strategy
    if change.before.command == "tune":
        name = f"{name} {words(change.before.config)}"
    times = [change.before.median_ms, change.after.median_ms]
    cells = ["" if time is None else milliseconds(time) for time in times]
    found = change.comparison
    if found is not None:
        ends = (f"{found.low:.3f}", f"{found.high:.3f}") if math.isfinite(found.high) else ("", "")
        more = "" if found.more is None else str(found.more)
        cells = [f"{found.ratio:.3f}", *ends, more, *cells]
    else:
        cells = ["", "", "", "", *cells]
    return (name, change.outcome, *cells, problem_name(change.before), change.before.device)


def _json(change: Change) -> dict[str, Any]:
    before, after = change.before, change.after
    return {
        "problem": {**before.problem, "batch": before.batch},
        "hardware": before.hardware,
        "device": before.device,
        "kind": before.kind,
        "strategy": before.strategy,
        "precision": before.precision,
        "runs": list(change.runs),
        "config": {"before": before.config, "after": after.config},
        "status": {"before": before.status, "after": after.status},
        "reason": {"before": before.to_row().reason, "after": after.to_row().reason},
        "median_ms": {"before": before.median_ms, "after": after.median_ms},
        "outcome": change.outcome,
        "comparison": comparison_json(change.comparison),
    }
