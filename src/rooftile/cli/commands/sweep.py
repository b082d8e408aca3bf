"""Draw problems of operations at random, and tell how near the default choice is to the best.

Each drawn problem is computed by the strategy that is picked without being named, which is verified
and timed; with --regret every other strategy that takes the problem is timed in turns with it.
Stopped at any moment, it tells of what is done.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rooftile.cli._options import add_precision, operation_names, seconds
from rooftile.cli.render.output import Output, milliseconds, percent
from rooftile.cli.render.records import recording, warn_if_busy
from rooftile.cli.render.sheet import Sheet

if TYPE_CHECKING:
    from rooftile.lab.measure.history.store import History
    from rooftile.lab.measure.records import Ladder, Row
    from rooftile.lab.measure.sweep import Distribution, Drawn

DEVICE = "whose strategies (default cpu)"
_SHOWN = 5
"""Problems that are listed, those with the most regret."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    known = ", ".join(operation_names())
    parser.add_argument("operations", nargs="*", metavar="OP", help=f"default: all; {known}")
    add_precision(parser, "of all problems (default: drawn among the strategies' precisions)")
    parser.add_argument(
        "--seconds",
        type=seconds,
        default=60.0,
        metavar="S",
        help="go on drawing for about so long (default 60)",
    )
    parser.add_argument(
        "--regret",
        action="store_true",
        help="time every strategy that takes a problem with the picked one",
    )
    parser.add_argument("--no-history", action="store_true", help="do not record the rows")


def command(arguments: argparse.Namespace) -> int:
    """Sweep, print the distribution.

    Exit code 1 if a picked strategy was wrong or broke, 130 after an interrupt.
    """
    from rooftile.lab.measure.sweep import by_operation, sweep

    output, found, interrupted = Output(arguments), list["Drawn"](), False
    with (
        recording(output, not arguments.no_history) as history,
        output.working("sweeping") as say,
    ):
        kept = _Kept(history, arguments.seed)
        try:
            for one in sweep(
                arguments.operations,
                arguments.device,
                seed=arguments.seed,
                seconds=arguments.seconds,
                regret=arguments.regret,
                precision=arguments.precision,
                progress=say,
                began=kept.begin,
                found=kept.add,
            ):
                found.append(one)
        except KeyboardInterrupt:
            interrupted = True
    distributions = by_operation(found)
    output.result(
        {
            "device": arguments.device,
            "seed": arguments.seed,
            "regret": arguments.regret,
            "interrupted": interrupted,
            "operations": {name: one.to_json() for name, one in distributions.items()},
            "problems": [one.to_json() for one in found],
        }
    )
    _show(output, found, arguments)
    warn_if_busy(output, {one.chosen: one.row.time_ms for one in found})
    if interrupted:
        raise KeyboardInterrupt
    return 1 if any(one.row.status in ("failed", "error") for one in found) else 0


class _Kept:
    """Records the rows as they come."""

    def __init__(self, history: History | None, seed: int) -> None:
        self._history, self._seed = history, seed

    def begin(self, ladder: Ladder) -> None:
        """The ladder of the next problem, without rows."""
        self._ladder = ladder
        if self._history is not None:
            self._run = self._history.add_ladder(ladder, "sweep", seed=self._seed)

    def add(self, row: Row) -> None:
        """The next row; a strategy that was not reached has none."""
        if self._history is not None and row.cause != "interrupted":
            self._history.add(self._run, self._ladder.problem, row)


def _show(output: Output, found: Sequence[Drawn], arguments: argparse.Namespace) -> None:
    from rooftile.lab.measure.sweep import Distribution, by_operation

    verified = sum(one.row.status == "passed" for one in found)
    output.show(f"{len(found)} problems drawn by seed {arguments.seed}: {verified} right and timed")
    output.show(*(f"{_command(one, arguments)}: {one.row.reason}" for one in _wrong(found)))
    if arguments.regret:
        rows = {**by_operation(found), "all": Distribution.of(found)}
        output.show("", _table(rows), "", "time of the picked strategy over that of the fastest;")
        output.show("near: at most 10 % slower than it.  The worst:", _worst(found, arguments))


def _wrong(found: Sequence[Drawn]) -> list[Drawn]:
    return [one for one in found if one.row.status != "passed"]


def _table(rows: Mapping[str, Distribution | None]) -> Sheet:
    """The distribution of each operation, a line each."""
    numbers = ("problems", "mean", "50 %", "90 %", "99 %", "near")
    sheet = Sheet("operation", *numbers, numbers=numbers)
    for name, one in rows.items():
        if one is not None:
            shares = (f"{value:.2f}" for value in (one.mean, *one.quantiles))
            sheet.add_row(name, str(one.problems), *shares, percent(one.near))
    return sheet


def _worst(found: Sequence[Drawn], arguments: argparse.Namespace) -> Sheet:
    """The problems with the most regret, each with the command that times it again."""
    sheet = Sheet("regret", "picked", "ms", "fastest", "ms ", "command", numbers=("regret", "ms"))
    rated = [(one.regret, one) for one in found if one.regret]
    for regret, one in sorted(rated, key=lambda pair: -pair[0])[:_SHOWN]:
        times = [milliseconds(row.time_ms.median) for row in (one.row, one.best) if row.time_ms]
        sheet.add_row(
            f"{regret:.2f}", one.chosen, times[0], one.best.strategy, times[-1],
            _command(one, arguments),
        )  # fmt: skip
    return sheet


def _command(one: Drawn, arguments: argparse.Namespace) -> str:
    """The climb of a drawn problem."""
    from rooftile.ops.drawing import shape_text

    device = "" if arguments.device == "cpu" else f" --device {arguments.device}"
    precision = "" if one.precision == "ieee" else f" --precision {one.precision}"
    shape = shape_text(one.problem)
    return f"rooftile climb {one.problem.operation} --shape {shape}{device}{precision}"
