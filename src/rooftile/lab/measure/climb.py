"""Every strategy of an operation on one problem: verified, timed, placed under the roof."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

from rooftile.devices.device import Device
from rooftile.devices.select import open_device, parse_device
from rooftile.errors import InputError
from rooftile.lab.judge.arithmetic import PEER_PRECISIONS
from rooftile.lab.measure.apart import Apart, Rules, runs_apart
from rooftile.lab.measure.ceilings.known import Known, known_roof
from rooftile.lab.measure.contest import Candidate, Contest
from rooftile.lab.measure.entry import VerifiedCandidate
from rooftile.lab.measure.environment import environment
from rooftile.lab.measure.peers import cpu as host_peers
from rooftile.lab.measure.peers.gpu import gpu_peers
from rooftile.lab.measure.progress import PartLines, Progress
from rooftile.lab.measure.records import Ladder, Row, peer_precision
from rooftile.ops import Problem, check_precision, parse
from rooftile.ops.checks import check_limit, check_seed
from rooftile.strategies import Strategy, ladder, strategy


def climb(
    operation: str,
    shape: str,
    batch: int | None = None,
    device: str = "cpu",
    *,
    precision: str | None = None,
    only: str | Collection[str] | None = None,
    limit_s: float = 20.0,
    everything: bool = False,
    peers: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
    began: Callable[[Ladder], None] = lambda ladder: None,
    found: Callable[[Row], None] = lambda row: None,
) -> Ladder:
    """Verify and time every strategy of an operation, in rising order.

    ``device`` is ``cpu``, ``cuda[:N]`` or ``opencl[:N]``; data is in its memory, see
    `rooftile.lab.measure.contest`. ``shape`` is a named problem or ``key=value`` pairs, see
    `rooftile.ops.parse`. ``precision`` leaves out the strategies that it does not admit, see
    `rooftile.ops.admits`; None leaves out none: each strategy is judged by its own precision.
    ``only`` is the strategy to run, or the names of some. A strategy whose estimated time is beyond
    ``limit_s`` seconds is skipped unless ``everything``. ``peers`` adds the other libraries that
    are installed. ``progress`` is told each step, ``began`` is given the ladder without rows, and
    ``found`` each row: one by one from a processor that OpenCL drives, whose rungs run in a child
    process, see `rooftile.lab.measure.apart`; else all at the end, when they have been timed in
    turns.

    Raises `InputError` for an unknown name, or for peers on OpenCL, where there are none;
    `DeviceMissing`. A failure inside a strategy is a row, not an exception.
    """
    if precision is not None:
        check_precision(precision)
    check_limit(limit_s)
    check_seed(seed)
    kind, _ = parse_device(device)
    problem, rungs = parse(operation, shape, batch), _rungs(operation, kind, only)
    if peers and kind == "opencl":
        raise InputError("peers", peers, "False: the other libraries run on the CPU and CUDA")
    return climb_problem(
        problem,
        open_device(device),
        [(rung, None) for rung in rungs],
        precision=precision,
        limit_s=math.inf if everything else limit_s,
        peers=peers,
        seed=seed,
        progress=progress or (lambda line: None),
        began=began,
        found=found,
    )


def _rungs(operation: str, kind: str, only: str | Collection[str] | None) -> Sequence[Strategy]:
    if only is None:
        return ladder(operation, kind)
    names = (only,) if isinstance(only, str) else only
    return [strategy(operation, name, kind) for name in names]


def climb_problem(
    problem: Problem,
    device: Device,
    candidates: Sequence[Candidate],
    *,
    precision: str | None = None,
    limit_s: float = math.inf,
    peers: bool = False,
    brief_s: float | None = None,
    seed: int = 0,
    progress: Progress = lambda line: None,
    began: Callable[[Ladder], None] = lambda ladder: None,
    found: Callable[[Row], None] = lambda row: None,
) -> Ladder:
    """Verify and time strategies on an open device, in the given order; see `climb`.

    ``brief_s``: each is timed warm for this number of seconds, and verified without its neighbours.

    On an interrupt during verification, strategies that are verified are timed, and the rows of the
    others say so; on one during timing, the times so far are kept.
    """
    with device.on():
        known = known_roof(device, progress)
        began(empty := ladder_of(problem, device, known, ()))
        steps = PartLines(progress, "rung", len(candidates))
        if runs_apart(device):
            rules = Rules(problem, device.name, known.roof, known.trusted, precision, limit_s, seed)
            return _apart(empty, rules, candidates, steps, found)
        contest = Contest(
            problem,
            device,
            known.roof,
            known.trusted,
            precision,
            limit_s,
            seed,
            steps,
            neighbours=brief_s is None,
            brief_s=brief_s,
            keep=True,
        )
        examined = _examined(contest, candidates, steps)
        with host_peers.keeping_memory():
            if peers and not contest.interrupted:
                examined += _peers(contest, examined, precision)
            rows = contest.rows(examined)
    for row in rows:
        found(row)
    return dataclasses.replace(empty, rows=rows, interrupted=contest.interrupted)


def _apart(
    empty: Ladder,
    rules: Rules,
    candidates: Sequence[Candidate],
    steps: PartLines,
    found: Callable[[Row], None],
) -> Ladder:
    """Every strategy in a child process, one after another, or all until an interrupt."""
    rows: list[Row] = []
    interrupted = False
    with Apart(rules, steps) as apart:
        try:
            for done, candidate in enumerate(candidates):
                steps.begin(done)
                rows.append(apart.row(*candidate))
                found(rows[-1])
        except KeyboardInterrupt:
            interrupted = True
            rows += [_not_reached(rung, rules.device) for rung, _ in candidates[len(rows) :]]
    steps.begin(len(candidates))
    return dataclasses.replace(empty, rows=tuple(rows), interrupted=interrupted)


def _examined(
    contest: Contest, candidates: Sequence[Candidate], steps: PartLines
) -> list[Row | VerifiedCandidate]:
    """Every strategy verified, or all until an interrupt."""
    found: list[Row | VerifiedCandidate] = []
    try:
        for done, (rung, config) in enumerate(candidates):
            timed = (
                sum(isinstance(one, VerifiedCandidate) for one in found) + len(candidates) - done
            )
            steps.begin(done, contest.clock.budget_s(timed))
            found.append(contest.strategy(rung, config))
    except KeyboardInterrupt:
        contest.interrupted = True
        found += [_not_reached(rung, contest.device.name) for rung, _ in candidates[len(found) :]]
    steps.begin(len(candidates))
    return found


def _not_reached(rung: Strategy, device: str) -> Row:
    reason = "the climb was interrupted before"
    return Row(
        "strategy", rung.name, device, rung.precision, "skipped", reason, cause="interrupted"
    )


def judge_peers(contest: Contest) -> tuple[Row, ...]:
    """Verify and time each of the CPU's other libraries by the rules of a contest."""
    with host_peers.keeping_memory():
        return contest.rows([contest.peer(peer) for peer in host_peers.PEERS])


def ladder_of(problem: Problem, device: Device, known: Known, rows: Sequence[Row]) -> Ladder:
    """Rows with what they were measured on."""
    return Ladder(
        problem, device.name, known.ceilings, environment(), tuple(rows), known.description
    )


def _peers(
    contest: Contest, found: Sequence[Row | VerifiedCandidate], asked: str | None
) -> list[Row | VerifiedCandidate]:
    """The other libraries; after an interrupt, those that were examined before."""
    if contest.device.kind == "cpu":
        peers: Sequence[Any] = host_peers.PEERS
    else:
        precisions = _peer_precisions(found, asked)
        peers = [peer for one in precisions for peer in gpu_peers(one)]
    examined: list[Row | VerifiedCandidate] = []
    try:
        for peer in peers:
            examined += [contest.peer(peer)]
    except KeyboardInterrupt:
        contest.interrupted = True
    return examined


def _peer_precisions(found: Sequence[Row | VerifiedCandidate], asked: str | None) -> list[str]:
    """The precisions of peers that stand next to the rungs that were not skipped. A precision that
    was asked for is among them; without any it is ``ieee``."""
    ran = [one for one in found if isinstance(one, VerifiedCandidate) or one.status != "skipped"]
    wanted = {peer_precision(one.precision) for one in ran}
    wanted |= {peer_precision(asked)} if asked else set()
    return [one for one in PEER_PRECISIONS if one in (wanted or {"ieee"})]
