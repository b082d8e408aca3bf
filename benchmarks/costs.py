"""Fit what rungs cost to the times of sweeps: the file ``costs.json`` of an operation's folder.

    rooftile sweep reduce scan --regret --precision ieee --seconds 600 --json > times.json
    python benchmarks/costs.py times.json [reduce ...] [--write]

For each rung, and each case of a problem (`rooftile.ops.Problem.case`), it searches the `Costs`
whose estimates are nearest to the times, by ratio and robustly, since other programs disturb times.
A case's costs are held near those of all cases, so that few times move them little.  It prints how
near the choice when the times were measured, and that by the fitted estimates, are to the fastest
rung: of the problems fitted to, and of each drawn fifth by a fit to the others.  ``--write`` puts
the costs into the folders.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.cpu.native import vector
from rooftile.errors import InputError
from rooftile.ops import Problem, admits, parse
from rooftile.runtime.selection.costs import speeds_from, speeds_of
from rooftile.strategies import preference, strategy
from rooftile.strategies.contract.costs import Costs, Speeds

LEAST = 2
"""Times of a rung in a case from which the case has costs of its own."""
_ROBUST, _NEAR_ALL, _FAINT = 0.2, 0.1, 1e-3
"""Logarithms of a ratio beyond which a time counts less; weights that hold a case's costs near
those of all, and costs that nothing tells of near zero."""
_HIDDEN = -12.0
"""The logarithm of the share of a time that nothing tells of."""
_FOLDS = 5
HIDDEN = (
    (),
    ("chain_ns",),
    ("step_ns",),
    ("chain_ns", "step_ns"),
    ("chain_ns", "step_ns", "part_ns"),
    ("chain_ns", "step_ns", "part_ns", "arithmetic", "starts"),
)
"""Terms that are left out where others choose better without them."""
STRATEGIES = Path(__file__).parents[1] / "src" / "rooftile" / "strategies"
Numbers = NDArray[np.float64]
Table = dict[str, dict[str, Costs]]


@dataclass(frozen=True)
class Drawn:
    """A problem, the seconds of each rung, the choices when it was timed, and the terms of each."""

    problem: Problem
    times: Mapping[str, float]
    picked: Mapping[str, str]
    """The rung that was picked, by precision."""
    terms: Mapping[str, Numbers]


def read(paths: Iterable[Path], device: str) -> dict[str, list[Drawn]]:
    """The drawn problems of each operation, from objects of sweeps or a line for each problem.

    The machine is that of the file's ``ceilings``, else this one.
    """
    found: dict[str, list[Drawn]] = defaultdict(list)
    for path in paths:
        text = path.read_text(encoding="utf-8")
        whole = json.loads(text) if text.startswith("{\n") else {}
        lines = whole.get("problems") or [json.loads(line) for line in text.splitlines()]
        measured = whole.get("ceilings") or lines[0].get("ceilings")
        machine = speeds_from(device, measured) if measured else speeds_of(device)
        for one in lines:
            times = {k: 1e-3 * t for k, t in (one.get("min_ms") or one["fast_ms"]).items()}
            if times:
                name, picked = one["problem"]["operation"], {one["precision"]: one["chosen"]}
                found[name].append(drawn(parse(name, one["shape"]), times, picked, device, machine))
    return found


def drawn(
    problem: Problem,
    times: Mapping[str, float],
    picked: Mapping[str, str],
    device: str,
    machine: Speeds,
) -> Drawn:
    """A drawn problem with the terms of those rungs that still are."""
    kind, terms = device.partition(":")[0], {}
    for name in times:
        try:
            rung = strategy(problem.operation, name, kind)
        except InputError:
            continue
        if not rung.why_not(problem):
            terms[name] = np.array(rung.terms(problem, machine), float)
    return Drawn(problem, times, picked, terms)


def fitted(terms: Numbers, times: Numbers, near: Numbers | None = None) -> Numbers:
    """The positive factors of the terms whose sums are nearest to the times, in logarithms.

    Levenberg and Marquardt's steps on the logarithms of the factors, reweighted so that a time far
    off counts by its distance.  ``near``: factors that they are held near.
    """
    scale = (terms / times[:, None]).max(0)
    scale[scale <= 0] = 1.0
    scaled, logs, count = terms / scale, np.log(times), terms.shape[1]
    held, weight = np.full(count, _HIDDEN), _FAINT
    if near is not None:
        held, weight = np.log(np.maximum(near * scale, math.exp(_HIDDEN))), _NEAR_ALL

    def loss(point: Numbers) -> float:
        off = (np.log(scaled @ np.exp(point)) - logs) / _ROBUST
        robust = 2 * _ROBUST**2 * (np.sqrt(1 + off**2) - 1)
        return float(robust.sum() + weight * ((point - held) ** 2).sum())

    starts = [np.full(count, -1.0), np.full(count, -3.0), *([] if near is None else [held])]
    best = min((_descended(scaled, logs, one, held, weight, loss) for one in starts), key=loss)
    found: Numbers = np.exp(best) / scale
    return found


def _descended(
    scaled: Numbers, logs: Numbers, point: Numbers, held: Numbers, weight: float, loss: Any
) -> Numbers:
    damping, least = 1e-2, loss(point)
    for _ in range(60):
        parts = scaled * np.exp(point)
        sums = parts.sum(1)
        slopes, off = parts / sums[:, None], np.log(sums) - logs
        trust = 1 / np.sqrt(1 + (off / _ROBUST) ** 2)
        square = slopes.T @ (slopes * trust[:, None]) + weight * np.eye(len(point))
        gradient = slopes.T @ (trust * off) + weight * (point - held)
        for _ in range(8):
            damped = square + damping * np.diag(np.diag(square) + 1e-6)
            step = np.clip(np.linalg.solve(damped, -gradient), -2, 2)
            other = np.clip(point + step, -14, 6)
            if (value := loss(other)) < least:
                break
            damping *= 4
        else:
            break
        better = least - value
        point, least, damping = other, value, damping / 3
        if better < 1e-7 * (1 + least):
            break
    return point


def best_table(rows: Sequence[Drawn], kind: str) -> tuple[Table, list[float]]:
    """The costs of each timed rung, without terms of which problems held out are chosen worse, and
    the regrets of those."""
    found = [(held_out(rows, kind, hidden)[1], hidden) for hidden in HIDDEN]
    regret, hidden = min(found, key=lambda pair: float(np.log(pair[0] or [1.0]).mean()))
    return table_of(rows, hidden), regret


def table_of(rows: Sequence[Drawn], hidden: Collection[str] = ()) -> Table:
    """The costs of each timed rung: of all cases, and of each with enough times."""
    shown = np.array([name not in hidden for name in Costs._fields], float)
    per: dict[str, dict[str, list[tuple[Numbers, float]]]] = defaultdict(lambda: defaultdict(list))
    for one in rows:
        for name, terms in one.terms.items():
            for case in ("", one.problem.case):
                per[name][case].append((shown * terms, one.times[name]))
    made: Table = {}
    for name, cases in per.items():
        whole = _costs(cases[""], None)
        made[name] = {"": whole}
        others = {c: pairs for c, pairs in cases.items() if c and len(pairs) >= LEAST}
        if len(cases) > 2:
            made[name] |= {case: _costs(pairs, whole) for case, pairs in sorted(others.items())}
    return made


def _costs(pairs: Sequence[tuple[Numbers, float]], near: Costs | None) -> Costs:
    terms, times = (np.array(part) for part in zip(*pairs, strict=True))
    found = fitted(terms, times, None if near is None else np.array(near))
    return Costs(*(float(f"{one:.3g}") for one in np.where(terms.max(0) > 0, found, 0.0)))


def regrets(rows: Sequence[Drawn], table: Table, kind: str) -> tuple[list[float], list[float]]:
    """The time over the fastest rung's: of the pick when it was timed, and by the costs."""
    before, after = [], []
    for one in rows:
        rungs = {r.name: r for r in preference(one.problem.operation, kind)}
        for precision, picked in one.picked.items():
            there = [n for n in one.terms if n in rungs and admits(precision, rungs[n].precision)]
            if picked not in one.times or not there:
                continue
            estimates = {n: _estimate(one, n, table) for n in there if n in table}
            least = min(estimates, key=estimates.__getitem__, default=picked)
            best = min(one.times[name] for name in {*there, picked})
            before.append(one.times[picked] / best)
            after.append(one.times[least] / best)
    return before, after


def _estimate(one: Drawn, name: str, table: Table) -> float:
    cases = table[name]
    return float(np.dot(cases.get(one.problem.case) or cases[""], one.terms[name]))


def told(regret: Sequence[float]) -> str:
    """The geometric mean, the share within 10 %, and the regret that 90 % are within."""
    many = np.array(regret)
    mean, near = np.exp(np.log(many).mean()), (many <= 1.1).mean()
    return f"mean {mean:.3f}, near {near:.0%}, 90 % within {np.percentile(many, 90):.2f}"


def held_out(
    rows: Sequence[Drawn], kind: str, hidden: Collection[str] = ()
) -> tuple[list[float], list[float]]:
    """`regrets` of each drawn part by costs that are fitted to the others."""
    order = np.random.default_rng(0).permutation(len(rows))
    before, after = [], []
    for part in np.array_split(order, _FOLDS):
        chosen = {*part.tolist()}
        rest = [one for i, one in enumerate(rows) if i not in chosen]
        found = regrets([rows[i] for i in part], table_of(rest, hidden), kind)
        before += found[0]
        after += found[1]
    return before, after


def write(operation: str, table: Table, kind: str) -> None:
    """Put the table into the operation's folder, in place of the one of that kind of device."""
    path = STRATEGIES / operation / "costs.json"
    whole = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    whole[kind] = table
    kinds = []
    for name, rungs in sorted(whole.items()):
        lines = ",\n".join(f"  {json.dumps(rung)}: {json.dumps(rungs[rung])}" for rung in rungs)
        kinds.append(f" {json.dumps(name)}: {{\n{lines}\n }}")
    path.write_text("{\n" + ",\n".join(kinds) + "\n}\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit and tell."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("given", nargs="+", help="files of times, then operations (default: all)")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--write", action="store_true", help="put the costs into the folders")
    parser.add_argument("--lanes", type=int, help="of the vectors of the processor that was timed")
    options = parser.parse_args(arguments)
    if options.lanes:
        for ask, value in ((vector.lanes, options.lanes), (vector.registers, 2 * options.lanes)):
            setattr(vector, ask.__name__, lambda value=value: value)
    paths = [Path(one) for one in options.given if Path(one).is_file()]
    names = [one for one in options.given if not Path(one).is_file()]
    kind = options.device.partition(":")[0]
    for operation, rows in read(paths, options.device).items():
        if names and operation not in names:
            continue
        table, regret = best_table(rows, kind)
        before, after = regrets(rows, table, kind)
        if before:
            print(f"{operation}: {len(before)} problems: {told(before)}; by costs: {told(after)}")
            print(f"  held out: {told(regret)}")
        if options.write:
            write(operation, table, "cpu" if kind == "cpu" else "gpu")


if __name__ == "__main__":
    main()
