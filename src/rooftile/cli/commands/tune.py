"""Search the tunables of a strategy for a problem on a device.

Every config is verified, timed, and recorded at once: stopped at any moment, the same command goes
on where it was.  The best are verified and timed again on fresh inputs; what wins is what calls on
that device use from then on.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rooftile.cli._options import (
    add_operation,
    add_precision,
    add_problem,
    positive,
    seconds,
    shape_of,
)
from rooftile.cli.render.output import Output, milliseconds
from rooftile.cli.render.records import comparison_json, searching, warn_if_busy, words
from rooftile.cli.render.sheet import Sheet

if TYPE_CHECKING:
    from rooftile.lab.measure.tune.search import Pick, Search, Trial
    from rooftile.lab.measure.tune.winner import Crowned
    from rooftile.runtime.timing.host import Timing

DEFAULTS = {"device": None}
DEVICE = "whose kernels (default: the first GPU that there is, by CUDA, else by OpenCL)"
_SHOWN = 10
"""Configs that are listed, the fastest first."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    add_operation(parser)
    add_problem(parser)
    parser.add_argument(
        "--strategy", metavar="NAME", help="whose tunables (default: the one that is picked)"
    )
    add_precision(parser, "of the calls that are to use the winner (default ieee)", "ieee")
    parser.add_argument(
        "--sampler",
        default="auto",
        metavar="auto|exhaustive|random|tpe|gp",
        help="auto: everything where that is no more than --trials, else tpe (default auto)",
    )
    parser.add_argument(
        "--trials",
        type=positive,
        default=200,
        metavar="N",
        help="configs to try, earlier calls' included (default 200)",
    )
    parser.add_argument(
        "--grid", metavar='"A=1,2 B=3,4"', help="only these values, as a two-way table; no winner"
    )
    parser.add_argument(
        "--limit",
        type=seconds,
        default=20.0,
        metavar="S",
        help="skip a config that would take more seconds (default 20)",
    )


def command(arguments: argparse.Namespace) -> int:
    """Search, print what was found.  Exit code 1 if nothing passed."""
    from rooftile.cli.render.grid import parse_grid, show_grid
    from rooftile.devices.select import open_gpu, parse_device
    from rooftile.errors import InputError
    from rooftile.lab.measure.tune.search import Search
    from rooftile.ops import parse
    from rooftile.runtime.selection.choice import choose, decide

    arguments.device = arguments.device or first_device()
    if parse_device(arguments.device)[0] == "cpu":
        expected = "cuda or opencl: strategies of the CPU have no tunables"
        raise InputError("device", repr(arguments.device), expected)
    shape = shape_of(arguments, arguments.operation)
    problem = parse(arguments.operation, shape, arguments.batch)
    asked = problem, arguments.precision, arguments.device
    strategy, pick = choose(*asked, arguments.strategy), decide(*asked)
    output, device = Output(arguments), open_gpu(arguments.device)
    rival: Pick = pick.strategy, pick.config
    with searching(output) as history:
        search = Search(
            problem,
            strategy,
            device,
            history,
            precision=arguments.precision,
            seed=arguments.seed,
            limit_s=arguments.limit,
        )
        if arguments.grid:
            grid = parse_grid(arguments.grid, search)
            trials = _tried(output, search, len(grid.configs), search.each(grid.configs))
            output.result({**_json(search, trials), "grid": grid.to_json(trials)})
            show_grid(output, grid, trials)
            warn_if_busy(output, _times(trials))
            return 0 if _best(trials) else 1
        trials = _tried(output, search, *search.run(arguments.sampler, arguments.trials))
        with output.working("the best again, on fresh inputs"):
            crowned = search.crown(rival)
    output.result({**_json(search, trials), **_crowned_json(crowned)})
    _show(output, search, trials, crowned, pick.strategy.name)
    warn_if_busy(output, {**_times(trials), "the winner": crowned.winner.time_ms})
    return 0


def first_device() -> str:
    """The kind of the first device whose strategies have tunables.  Raises `DeviceMissing`."""
    from rooftile.devices.select import count_gpus
    from rooftile.errors import DeviceMissing

    for kind in ("cuda", "opencl"):
        with contextlib.suppress(DeviceMissing):
            if count_gpus(kind):
                return kind
    raise DeviceMissing(
        "a device of CUDA or OpenCL to tune on (strategies of the CPU have no tunables; rooftile "
        "climb measures them)",
        "what rooftile devices names",
    )


def _times(trials: Sequence[Trial]) -> dict[str, Timing | None]:
    """Times measured now, by config."""
    return {words(one.config): one.row.time_ms for one in trials if not one.resumed}


def _tried(output: Output, search: Search, total: int, trials: Iterator[Trial]) -> list[Trial]:
    """All trials, with a progress bar; on an interrupt, what is kept is said."""
    found: list[Trial] = []
    try:
        with bar(output, search, total) as advance:
            for trial in trials:
                found.append(trial)
                advance(trial, _best(found))
    except KeyboardInterrupt:
        output.progress.print(
            f"{len(found)} results are kept; the same command goes on from there", markup=False
        )
        raise
    return found


@contextlib.contextmanager
def bar(
    output: Output, search: Search, total: int
) -> Iterator[Callable[[Trial, Trial | None], None]]:
    """A bar with the best so far on standard error; lines, where it is no terminal."""
    if not output.progress.is_terminal:
        from rooftile.lab.measure.progress import PartLines

        steps = PartLines(output.line, "config", total)

        def line(trial: Trial, best: Trial | None) -> None:
            if not trial.resumed:
                time = (
                    milliseconds(trial.median_ms) + " ms" if trial.median_ms else trial.row.status
                )
                steps(f"{words(trial.config)}: {time}{_so_far(best)}")
            steps.begin(steps.done + 1)

        steps.begin(0)
        yield line
        return
    from rich import progress as bars

    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
        bars.TextColumn("{task.fields[best]}", markup=False),
    )
    with bars.Progress(*columns, console=output.progress, transient=True) as shown:
        task = shown.add_task(search.strategy.name, total=total, best="")

        def advance(trial: Trial, best: Trial | None) -> None:
            shown.update(task, advance=1, best=_so_far(best))

        yield advance


def _so_far(best: Trial | None) -> str:
    if best is None or best.median_ms is None:
        return ""
    return f"  best {milliseconds(best.median_ms)} ms: {words(best.config)}"


def _best(trials: Sequence[Trial]) -> Trial | None:
    passed = [one for one in trials if one.median_ms is not None]
    return min(passed, key=lambda one: one.median_ms or 0.0, default=None)


def _show(
    output: Output, search: Search, trials: Sequence[Trial], crowned: Crowned, pick: str
) -> None:
    names = [one.name for one in search.strategy.tunables]
    made = Sheet(*names, "ms", numbers=(*names, "ms"))
    passed = sorted((t for t in trials if t.median_ms), key=lambda one: one.median_ms or 0.0)
    for trial in passed[:_SHOWN]:
        cells = [str(trial.config[name]) for name in names]
        made.add_row(*cells, milliseconds(trial.median_ms or 0.0))
    counts = collections.Counter(trial.row.status for trial in trials)
    said = ", ".join(f"{count} {status}" for status, count in counts.items())
    output.show(f"{search.strategy.name} on {search.device.description.name}: {said}", "", made, "")
    output.show(*_reasons(trials))
    time = crowned.winner.time_ms
    config = words(crowned.winner.config)
    told = f"{config}: {milliseconds(time.median if time else 0)} ms"
    if crowned.winner is crowned.default:
        output.show(f"the default stays, on fresh inputs: {told}")
        output.show("  no other config is faster beyond doubt")
    else:
        output.show(f"winner, on fresh inputs: {told}")
    if crowned.against_default is not None:
        output.show(f"  against the default: {crowned.against_default}")
    if crowned.against_pick is not None:
        output.show(f"  against {pick}, which is picked so far: {crowned.against_pick}")
    if crowned.preferred:
        output.show(f"  from now on {search.strategy.name} is picked for this problem here")


def _reasons(trials: Sequence[Trial]) -> list[str]:
    """Why configs have no time, each reason once with the number of configs."""
    said = collections.Counter(
        f"{trial.row.status}: {trial.row.reason.partition(chr(10))[0]}"
        for trial in trials
        if trial.median_ms is None
    )
    return [f"{count} {reason}" for reason, count in said.items()]


def _json(search: Search, trials: Sequence[Trial]) -> dict[str, Any]:
    from rooftile.lab.measure.records import problem_json

    gpu = search.device.description
    return {
        "problem": problem_json(search.problem),
        "device": f"{gpu.kind}:{gpu.index}",
        "hardware": gpu.name,
        "strategy": search.strategy.name,
        "precision": search.precision,
        "tunables": {one.name: list(one.values) for one in search.strategy.tunables},
        "default": dict(search.default),
        "trials": [trial_json(trial) for trial in trials],
    }


def trial_json(trial: Trial) -> dict[str, Any]:
    """A trial's config, status and time."""
    return {
        "config": dict(trial.config),
        "status": trial.row.status,
        "reason": trial.row.reason,
        "median_ms": trial.median_ms,
        "resumed": trial.resumed,
    }


def _crowned_json(crowned: Crowned) -> dict[str, Any]:
    from rooftile.lab.measure.records import row_json

    return {
        "winner": row_json(crowned.winner),
        "against_default": comparison_json(crowned.against_default),
        "against_pick": comparison_json(crowned.against_pick),
        "preferred": crowned.preferred,
    }
