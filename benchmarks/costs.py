"""Fit what rungs cost to the times of sweeps: COSTS of an operation's ladder.

    rooftile sweep reduce scan --regret --precision ieee --seconds 600 --json > times.json
    python benchmarks/costs.py times.json [reduce ...] [--write]

For each rung and case of a problem (`rooftile.ops.Problem.case`) it searches the `Costs` whose
estimates are nearest to the times, by ratio: an estimate that is off by more than 4.5 counts as
that, since other programs disturb times.  It prints how near the choice by preference and that by
the fitted estimates are to the fastest rung, on the problems fitted to and, where ``--seed`` splits
them, on the others.  ``--write`` puts COSTS into the ladders.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rooftile.ops import Problem, parse
from rooftile.runtime.selection.costs import speeds_from, speeds_of
from rooftile.strategies import Strategy, preference, strategy
from rooftile.strategies.contract.costs import Costs, Speeds

LEAST = 3
"""Times of a rung in a case from which its costs are fitted."""
STRATEGIES = Path(__file__).parents[1] / "src" / "rooftile" / "strategies"
Times = dict[str, float]
Drawn = tuple[Problem, Times, str, Speeds]
"""A problem, the seconds of each rung, the one that was picked, and the machine."""
Table = dict[str, dict[str, Costs]]


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
                name = one["problem"]["operation"]
                found[name].append((parse(name, one["shape"]), times, one["chosen"], machine))
    return found


def fitted(rung: Strategy, rows: Sequence[tuple[Problem, float, Speeds]]) -> Costs:
    """The costs whose estimates are nearest to the times."""
    works = [rung.work(problem) for problem, _, _ in rows]
    pairs = [(work, machine) for work, (_, _, machine) in zip(works, rows, strict=True)]
    threads = np.array([rung.workers(problem, machine) for problem, _, machine in rows], float)
    flops, parts = (np.array([getattr(w, n) for w in works], float) for n in ("flops", "parts"))
    moved = np.array([machine.bytes_s(work.bytes) for work, machine in pairs])
    most = np.array([math.inf if machine.holds(work.bytes) else 1.0 for work, machine in pairs])
    times = np.array([seconds for _, seconds, _ in rows])
    started = np.array([started_s(rung, *row) for row in rows])
    rate = np.array([machine.rate(rung.precision) for _, machine in pairs])
    share = threads / np.array([machine.cores for _, machine in pairs])

    def loss(logs: Any) -> float:
        call, arithmetic, memory, part = np.exp(logs)
        slower = np.maximum(
            flops / (rate * arithmetic * share), moved / (np.minimum(memory, most) * share)
        )
        made = 1e-6 * call + started + slower + 1e-9 * part * parts / threads
        off = np.minimum(np.abs(np.log(made / times)), 1.5)
        return float((off**1.5).mean()) + 1e-4 * float(np.abs(logs).sum())

    starts = [(1, a, m, p) for a in (-6, -3, -1, 0, 4) for m in (-3, -1, 0) for p in (-2, 2, 5)]
    best = min((_searched(loss, np.array(start, float)) for start in starts), key=loss)
    largest = max(problem.bytes for problem, _, _ in rows)
    call, arithmetic, memory, part = (float(f"{math.exp(log):.3g}") for log in best)
    return Costs(call, arithmetic, memory, part, float(f"{largest:.3g}"))


def _searched(loss: Any, logs: Any) -> Any:
    """The logarithms near some at which no step along an axis is better."""
    least, step = loss(logs), 1.0
    while step > 0.02:
        moved = False
        for axis in range(len(logs)):
            for by in (step, -step):
                other = logs.copy()
                other[axis] = min(max(other[axis] + by, -12), 14)
                if (value := loss(other)) < least - 1e-6:
                    logs, least, moved = other, value, True
        step = step if moved else step / 2
    return logs


def started_s(rung: Strategy, problem: Problem, seconds: float, machine: Speeds) -> float:
    """What the machine's own start takes of a call."""
    return machine.start_s * (rung.starts(problem) if rung.workers(problem, machine) > 1 else 0)


def table_of(operation: str, drawn: Sequence[Drawn], kind: str) -> Table:
    """The costs of each preferred rung in each case with enough times."""
    made: Table = {}
    for rung in preference(operation, kind):
        cases: dict[str, list[tuple[Problem, float, Speeds]]] = defaultdict(list)
        for problem, times, _, machine in drawn:
            if rung.name in times:
                cases[problem.case].append((problem, times[rung.name], machine))
        costs = {c: fitted(rung, rows) for c, rows in cases.items() if len(rows) >= LEAST}
        if costs:
            made[rung.name] = dict(sorted(costs.items()))
    return made


def regrets(
    operation: str, drawn: Sequence[Drawn], table: Mapping[str, Mapping[str, Costs]], kind: str
) -> tuple[list[float], list[float]]:
    """The time over the fastest rung's: of the pick when it was timed, and by the costs."""
    before, after = [], []
    for problem, times, picked, machine in drawn:
        if picked not in times:
            continue
        estimates = {}
        for name in times:
            costs, rung = table.get(name, {}).get(problem.case), strategy(operation, name, kind)
            if costs is not None and problem.bytes <= costs.most_bytes:
                estimates[name] = rung.seconds(problem, machine, costs)
        least = min(estimates, key=estimates.__getitem__) if picked in estimates else picked
        before.append(times[picked] / min(times.values()))
        after.append(times[least] / min(times.values()))
    return before, after


def told(regret: Sequence[float]) -> str:
    """The geometric mean, the share within 10 %, and the regret that 90 % are within."""
    many = np.array(regret)
    mean, near = np.exp(np.log(many).mean()), (many <= 1.1).mean()
    return f"mean {mean:.3f}, near {near:.0%}, 90 % within {np.percentile(many, 90):.2f}"


def text_of(table: Mapping[str, Mapping[str, Costs]], kind: str) -> str:
    """The table as Python's text."""
    rungs = []
    for name, cases in table.items():
        lines = (
            f'            "{case}": Costs({", ".join(f"{v:g}" for v in vars(costs).values())}),'
            for case, costs in cases.items()
        )
        rungs.append("\n".join((f'        "{name}": {{', *lines, "        },")))
    return f'    "{kind}": {{\n' + "\n".join(rungs) + "\n    },"


def write(operation: str, table: Mapping[str, Mapping[str, Costs]], kind: str) -> None:
    """Put the table into the operation's ladder, in place of the one of that kind of device."""
    path = STRATEGIES / operation / "ladder.py"
    text = path.read_text(encoding="utf-8")
    module = Costs.__module__
    others = re.search(r"\nCOSTS = \{\n(.*?)\n\}  # fmt: skip\n", text, re.S)
    kept = re.findall(r'    "(\w+)": \{\n.*?\n    \},', others[1], re.S) if others else []
    blocks = re.findall(r'    "\w+": \{\n.*?\n    \},', others[1], re.S) if others else []
    by_kind = {**dict(zip(kept, blocks, strict=True)), kind: text_of(table, kind)}
    body = "\nCOSTS = {\n" + "\n".join(by_kind.values()) + "\n}  # fmt: skip\n"
    if others:
        text = text.replace(others[0], body)
    else:
        head, _, rest = text.partition("\n\n")
        text = f"{head}\n\nfrom {module} import Costs\n\n{rest.rstrip()}\n{body}"
        text += (
            '"""What each costs, by the case of a problem: fitted by ``benchmarks/costs.py``."""\n'
        )
    path.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit and tell."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("given", nargs="+", help="files of times, then operations (default: all)")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--write", action="store_true", help="put COSTS into the ladders")
    parser.add_argument("--seed", type=int, help="fit to a drawn half, rate the other")
    options = parser.parse_args(arguments)
    paths = [Path(one) for one in options.given if Path(one).is_file()]
    names = [one for one in options.given if not Path(one).is_file()]
    kind = options.device.partition(":")[0]
    for operation, drawn in read(paths, options.device).items():
        if names and operation not in names:
            continue
        fit, rate = drawn, drawn
        if options.seed is not None:
            order = np.random.default_rng(options.seed).permutation(len(drawn))
            fit, rate = ([drawn[i] for i in part] for part in np.array_split(order, 2))
        table = table_of(operation, fit, kind)
        before, after = regrets(operation, rate, table, kind)
        if before:
            print(f"{operation}: {len(before)} problems: {told(before)}; by costs: {told(after)}")
        if options.write:
            write(operation, table, "cpu" if kind == "cpu" else "gpu")


if __name__ == "__main__":
    main()
