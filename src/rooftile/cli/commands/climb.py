"""Verify and time every strategy of an operation on a problem.

Each strategy is compared with the float64 reference first, then timed, then placed under the roof:
the least time that the measured ceilings of this machine allow. A GPU's strategies are timed on
data in its memory.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rooftile.cli._options import (
    add_large,
    add_operation,
    add_precision,
    add_problem,
    option_words,
    seconds,
    shapes_of,
)
from rooftile.cli.render.ladder import gpu_table, rows_table
from rooftile.cli.render.output import Output, milliseconds, quantity
from rooftile.cli.render.records import recording, shapes, titled, warn_if_busy

if TYPE_CHECKING:
    from rooftile.devices.gpu import Description
    from rooftile.lab.measure.ceilings.cpu import Ceilings
    from rooftile.lab.measure.ceilings.gpu import GpuCeilings
    from rooftile.lab.measure.history.store import History
    from rooftile.lab.measure.records import Ladder, Row

_BEYOND = {
    "compute": "effective: counted in the direct method's FLOPs, of which it saves some",
    "memory": "the roof is that of memory, and this problem fits the caches",
}
"""Why a rung can pass the roof, by what sets it."""
_GPU_NOTES = (
    "times: launches on resident data, by the device's clock; copies are not in them",
    "cold: with nothing of the data in the last-level cache",
)

_NARROW_NOTE = "peers at fp16 and bf16 are given x and give their result in 16 bits, rungs float32"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    add_operation(parser)
    add_problem(parser)
    add_large(parser)
    add_precision(parser, "only strategies as accurate as that (default: all, each by its own)")
    parser.add_argument("--strategy", metavar="NAME", help="only this one")
    parser.add_argument(
        "--limit",
        type=seconds,
        default=20.0,
        metavar="S",
        help="skip a strategy that would take more seconds (default 20)",
    )
    parser.add_argument("--all", action="store_true", help="skip none for its time")
    parser.add_argument("--peers", action="store_true", help="time other installed libraries too")
    parser.add_argument("--no-history", action="store_true", help="do not record the rows")


def command(arguments: argparse.Namespace) -> int:
    """Climb, print the ladder.

    Exit code 1 if a strategy was wrong or broke, 130 after an interrupt, which keeps what is done.
    """
    from rooftile.devices.names import parse_device
    from rooftile.lab.measure.climb import climb
    from rooftile.lab.measure.forms import joined, rungs_of

    output, forms = Output(arguments), shapes_of(arguments, arguments.operation)
    rungs = {forms[0]: arguments.strategy}
    if len(forms) > 1:
        kind = parse_device(arguments.device)[0]
        asked = arguments.batch, kind, arguments.strategy
        rungs = rungs_of(arguments.operation, forms, *asked)
    ladders: list[Ladder] = []
    with (
        recording(output, not arguments.no_history) as history,
        output.working(f"climbing {arguments.operation}") as say,
    ):
        found = _Found(output, history, arguments.seed)
        for shape, names in rungs.items():
            ladder = climb(
                arguments.operation,
                shape,
                arguments.batch,
                arguments.device,
                precision=arguments.precision,
                only=names,
                limit_s=arguments.limit,
                everything=arguments.all,
                peers=arguments.peers,
                seed=arguments.seed,
                progress=say,
                began=found.begin,
                found=found.add,
            )
            ladders.append(ladder)
            if ladder.interrupted:
                break
    ladder = joined(ladders)
    several = {"shapes": rungs} if len(forms) > 1 else {}
    output.result({**ladder.to_json(), **several})
    _show(output, ladder, next(iter(rungs)))
    if several:
        output.show(*(f"{shape}: {', '.join(names)}" for shape, names in rungs.items()))
    output.show("", *_next(ladder, arguments, rungs))
    warn_if_busy(output, {row.strategy: row.time_ms for row in ladder.rows})
    if ladder.interrupted:
        raise KeyboardInterrupt
    wrong = [r for r in ladder.rows if r.kind == "strategy" and r.status in ("failed", "error")]
    return 1 if wrong else 0


class _Found:
    """Records rows as they come, and tells of those that do not come all at once."""

    def __init__(self, output: Output, history: History | None, seed: int) -> None:
        self._output, self._history, self._seed = output, history, seed

    def begin(self, ladder: Ladder) -> None:
        """The ladder without rows."""
        self._ladder = ladder
        if self._history is not None:
            self._run = self._history.add_ladder(ladder, "climb", seed=self._seed)

    def add(self, row: Row) -> None:
        """The next row."""
        if self._ladder.gpu is not None and not self._ladder.gpu.gpu:
            time = f"{milliseconds(row.time_ms.median)} ms" if row.time_ms else row.reason
            self._output.line(f"{row.strategy}: {row.cause or row.status}, {time}")
        # What was not reached must not stand for an older time.
        if self._history is not None and row.cause != "interrupted":
            self._history.add(self._run, self._ladder.problem, row)


def _show(output: Output, ladder: Ladder, shape: str) -> None:
    problem, roof = ladder.problem, ladder.roof
    title = titled(problem, shape)
    batch = "" if problem.batch_size is None else f", batch {problem.batch_size}"
    work = f"{quantity(problem.flops, 'FLOP')}, at least {quantity(problem.bytes, 'B')}"
    notes = ["speed-up: over the first rung; error: the worst, over its budget at that precision"]
    limit = roof.limit(problem) if roof is not None else ""
    if roof is not None:
        work += f"; floor {milliseconds(ladder.floor_ms)} ms, set by {limit}"
        notes.append("roof: floor over median time")
        if any(row.roof_fraction and row.roof_fraction > 1 for row in ladder.rows):
            notes.append(f"* {_BEYOND[limit]}")
    where = [gpu_line(ladder.gpu)] if ladder.gpu else []
    if ladder.ceilings is not None:
        where.append(ceiling_line(ladder.ceilings))
    by_memory = limit == "memory"
    if ladder.gpu:
        notes += _GPU_NOTES
        if any(row.kind == "peer" and row.precision in ("fp16", "bf16") for row in ladder.rows):
            notes.append(_NARROW_NOTE)
        rows = gpu_table(ladder.rows, by_memory=by_memory)
    else:
        rows = rows_table(ladder.rows, unicode=output.unicode, by_memory=by_memory)
    output.show(title + batch, shapes(problem), work, *where, "", rows)
    notes += reasons(ladder.rows)
    if any(row.time_ms and not row.time_ms.steady for row in ladder.rows):
        notes.append("~ the median had not settled when the time for measuring was over")
    output.show("", *notes, *comparison(ladder))


def _next(
    ladder: Ladder, arguments: argparse.Namespace, rungs: Mapping[str, str | Sequence[str] | None]
) -> list[str]:
    """Commands that go on from here, a line each; ``rungs`` are each shape's."""
    from rooftile.ops.registry import operation

    problem, name, best = ladder.problem, ladder.problem.operation, ladder.best("strategy")
    shape = next(
        (one for one, names in rungs.items() if best and names and best.strategy in names),
        next(iter(rungs)),
    )
    batch = "" if problem.batch_size is None else f" --batch {problem.batch_size}"
    device = "" if arguments.device == "cpu" else f" --device {arguments.device}"
    asked = f"{name} {option_words(shape)}{batch}{device}"
    found = []
    if best is not None:
        why = f"rooftile explain {asked} --strategy {best.strategy}"
        found.append(f"{why}   (why it takes that long)")
    if any(row.cause == "time limit" for row in ladder.rows):
        found.append(f"rooftile climb {asked} --all   (skips none for its time)")
    known = operation(name)
    if not (arguments.shape or arguments.large) and known.large != known.textbook:
        found.append(f"rooftile climb {name} --large{device}   (for the upper rungs)")
    if ladder.gpu is not None and best is not None:
        found.append(f"rooftile tune {asked} --strategy {best.strategy}   (its tunables)")
    found.append("rooftile report   (all that was measured, as a page)")
    return [f"next: {line}" for line in found]


def reasons(rows: tuple[Row, ...]) -> list[str]:
    """The rows' reasons, each once: ``naive, tile_core: skipped, ...``."""
    said: dict[str, list[str]] = {}
    names = [row.strategy for row in rows]
    for row in rows:
        if row.reason:
            several = names.count(row.strategy) > 1
            name = f"{row.strategy} ({row.precision})" if several else row.strategy
            said.setdefault(f"{row.status}, {row.reason}", []).append(name)
    return [f"{', '.join(which)}: {what}" for what, which in said.items()]


def comparison(ladder: Ladder) -> list[str]:
    """The best strategy of each precision compared with the best peer of that precision."""
    from rooftile.lab.measure.records import median

    return [
        f"{best.strategy} ({best.precision}): {median(peer) / median(best):.2f} x the speed of "
        f"{peer.strategy} ({peer.precision})"
        for best, peer in ladder.contests()
    ]


def ceiling_line(ceilings: Ceilings | GpuCeilings) -> str:
    """The measured ceilings of all cores, or of a GPU."""
    from rooftile.lab.measure.ceilings.cpu import Ceilings

    if not isinstance(ceilings, Ceilings):
        line = (
            f"ceilings: {ceilings.fma_gflops:.0f} GFLOP/s, "
            f"read {ceilings.read_gbps:.0f}, copy {ceilings.copy_gbps:.0f} GB/s"
        )
        matrix = ceilings.matrix_gflops.items()
        rates = ", ".join(f"{name} {rate / 1000:.0f}" for name, rate in matrix)
        return f"{line}; TFLOP/s: {rates}" if rates else line
    cores = ceilings.all_cores
    line = (
        f"ceilings of {cores.threads} core{'s' * (cores.threads > 1)}: "
        f"{cores.fma_gflops:.0f} GFLOP/s, read {cores.read_gbps:.0f}, copy {cores.copy_gbps:.0f}, "
        f"streaming {cores.stream_copy_gbps:.0f} GB/s"
    )
    return line if ceilings.undisturbed else f"{line}\n(measured while other programs ran)"


def gpu_line(gpu: Description) -> str:
    """The GPU of the rungs."""
    what = "" if gpu.gpu else "; not a GPU: times and limits are this processor's"
    return f"{gpu.kind}:{gpu.index}: {gpu.name}, {gpu.units} units, {gpu.driver}{what}"
