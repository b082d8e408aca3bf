"""An audited kernel compared with our rungs of the same problem and with other libraries."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rooftile.cli.render.output import Output, milliseconds
from rooftile.errors import InputError, RooftileError

if TYPE_CHECKING:
    from rooftile.lab.audit import Audit
    from rooftile.lab.measure.history.store import History
    from rooftile.lab.measure.records import Kind


@dataclass(frozen=True)
class Timed:
    """A rung, or a peer, with its median time."""

    kind: Kind
    name: str
    median_ms: float


def standing(
    found: Audit, arguments: argparse.Namespace, output: Output, history: History | None
) -> list[str]:
    """``140 x slower than register_tile, our fastest rung (0.123 ms)``, and more such lines.

    They tell of our fastest and slowest rung and the fastest peer that are as accurate as the
    kernel claims to be, from the history; where it has no rung, the one that is picked is timed.
    """
    if found.time_ms is None:
        return []
    timed = _recorded(found)
    if not any(one.kind == "strategy" for one in timed):
        timed += measured(found, arguments, output, history)
    own = found.time_ms.median
    return [_line(own / one.median_ms, one, what) for one, what in _chosen(timed)]


def _line(ratio: float, other: Timed, what: str) -> str:
    said = f"{ratio:.3g} x slower" if ratio >= 1 else f"{1 / ratio:.3g} x faster"
    return f"{said} than {other.name}, {what} ({milliseconds(other.median_ms)} ms)"


def _chosen(timed: Sequence[Timed]) -> list[tuple[Timed, str]]:
    rungs, peers = (
        sorted((one for one in timed if one.kind == kind), key=lambda one: one.median_ms)
        for kind in ("strategy", "peer")
    )
    made = [(rungs[0], "our fastest rung" if rungs[1:] else "our rung")] if rungs else []
    made += [(rungs[-1], "our slowest rung")] if rungs[1:] else []
    return made + ([(peers[0], "the fastest peer")] if peers else [])


def _recorded(found: Audit) -> list[Timed]:
    """The newest time of each rung and peer on the same device and hardware."""
    from rooftile.lab.measure.history.store import records
    from rooftile.lab.measure.records import peer_precision
    from rooftile.ops import admits

    ladder = found.ladder()
    hardware = ladder.gpu.name if ladder.gpu else ladder.environment.cpu
    asked = {"problem": found.problem, "hardware": hardware, "device": ladder.device}
    try:
        climbed = records(**asked, command="climb", status="passed")
    except InputError:
        return []  # A history that cannot be read was told of when it was opened.
    newest = {(one.kind, one.strategy, one.precision): one for one in climbed}
    return [
        Timed(one.to_row().kind, one.strategy, one.median_ms)
        for one in newest.values()
        if one.median_ms is not None
        and (
            admits(found.claim, one.precision)
            if one.kind == "strategy"
            else one.precision == peer_precision(found.claim)
        )
    ]


def measured(
    found: Audit, arguments: argparse.Namespace, output: Output, history: History | None
) -> list[Timed]:
    """The rung that a call of ours would pick, verified and timed now; none where none can be."""
    from rooftile.devices.select import open_device
    from rooftile.lab.measure.climb import climb_problem
    from rooftile.runtime.selection.choice import decide

    device = found.kernel.device
    try:
        choice = decide(found.problem, found.claim, device)
        with output.working(f"timing {choice.strategy.name}, our own rung") as say:
            ladder = climb_problem(
                found.problem,
                open_device(device),
                [(choice.strategy, choice.config)],
                limit_s=arguments.limit,
                seed=arguments.seed,
                progress=say,
            )
    except RooftileError as error:
        output.warn(f"there is no rung of ours to compare with: {error}")
        return []
    if history is not None:
        history.add_ladder(ladder, "climb", seed=arguments.seed)
    return [
        Timed("strategy", row.strategy, row.time_ms.median) for row in ladder.rows if row.time_ms
    ]
