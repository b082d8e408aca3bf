"""What a call costs on this machine's CPU: ours, prepared or not, beside PyTorch's.

    python benchmarks/calls.py [--only LABEL ...] [--write]

Everything of one row runs in one process on the same arrays, is verified first, and then timed in
turns (`rooftile.runtime.timing.host`).  `kernel` is the chosen strategy alone, bound to its
parameters and given its result: what a call takes beyond it is the call's own.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pages import markdown_table, section

import rooftile
from rooftile.devices import cpu
from rooftile.lab.environment import environment, versions
from rooftile.lab.judge.exam import Exam
from rooftile.lab.peers.cpu import PEERS, keeping_memory
from rooftile.nn import architecture
from rooftile.ops import Chain, Conv2d, Layer, Linear, Pool, named
from rooftile.runtime.choice import decide
from rooftile.runtime.timing.host import interleaved

RESULTS = Path(__file__).parent / "results" / "calls-cpu.json"
PAGE = Path(__file__).parent.parent / "docs" / "calls.md"
PACKAGES = ("numpy", "llvmlite", "torch")
TORCH = ("torch eager", "torch compile, frozen")
SECONDS = 3.0

Record = dict[str, Any]
Compute = Callable[..., None]

_POOL = Pool.of("max", 2)


def _named(name: str, batch: int) -> Layer:
    problem = named("conv2d", name, batch)
    assert isinstance(problem, Layer)
    return problem


def _network(name: str, batch: int) -> Layer:
    return Chain(architecture(name).problems(batch))


CASES: dict[str, Layer] = {
    "conv2d 1x1x28x28, 8 maps 5x5": Conv2d(1, 1, 28, 28, 8, (5, 5), activation="relu", pool=_POOL),
    "lenet-conv1 B=1": _named("lenet-conv1", 1),
    "lenet-conv1 B=100": _named("lenet-conv1", 100),
    "lenet-conv2 B=1": _named("lenet-conv2", 1),
    "lenet-conv2 B=100": _named("lenet-conv2", 100),
    "64 channels 3x3, 56x56": Conv2d(1, 64, 56, 56, 64, (3, 3), (1, 1), (1, 1), "relu"),
    "lab-conv5 B=1": _named("lab-conv5", 1),
    "linear 1x6272x512": Linear(1, 6272, 512, "relu"),
    "linear 64x4096x4096": Linear(64, 4096, 4096),
    "matmul 256^3": Linear(256, 256, 256),
    "matmul 1000^3": Linear(1000, 1000, 1000),
    "lenet5 B=1": _network("lenet5", 1),
    "lenet5 B=100": _network("lenet5", 100),
    "mnist8 B=1": _network("mnist8", 1),
    "mnist8 B=100": _network("mnist8", 100),
}


def ours(label: str, problem: Layer, parameters: Any) -> dict[str, Compute]:
    """Each way to call it, as ``compute(x, out)``."""
    if isinstance(problem, Chain):
        shape = architecture(label.split()[0])
        network = shape.with_parameters(dict(zip(shape.parameter_shapes, parameters, strict=True)))
        plan = network.plan(batch=problem.batch)
        return {"plan": lambda x, out: _ignored(plan(x, out=out))}
    choice = decide(problem)
    bound = choice.strategy.bind(problem, parameters, cpu.open_device())
    calls: dict[str, Compute] = {"kernel": bound}
    weights, bias = parameters
    if label.startswith("matmul"):
        # b as its user has it, [inner, columns].
        b = np.ascontiguousarray(weights.T)
        calls["call"] = lambda x, out: _ignored(rooftile.matmul(x, b, out=out))
        return calls
    assert isinstance(problem, Conv2d | Linear)
    options: dict[str, Any] = {"activation": problem.activation}
    function: Callable[..., object] = rooftile.linear
    made: Callable[..., Any] = rooftile.Linear
    if isinstance(problem, Conv2d):
        options |= {"stride": problem.stride, "padding": problem.padding, "pool": problem.pool}
        function, made = rooftile.conv2d, rooftile.Conv2d
    prepared = made(weights, bias, **options)
    calls["prepared"] = lambda x, out: _ignored(prepared(x, out=out))
    calls["call"] = lambda x, out: _ignored(function(x, weights, bias, out=out, **options))
    return calls


def _with_bias(compute: Compute, bias: Any, x: Any, out: Any) -> None:
    compute(x, out)
    if bias is not None:
        out += bias


def _ignored(_: object) -> None:
    """A result that is in ``out`` already."""


def judge(label: str, problem: Layer) -> Record:
    """Verify everybody, then time all that passed in turns."""
    exam = Exam(problem, seed=0)
    computes: dict[str, Compute] = ours(label, problem, exam.parameters)
    calls: dict[str, Callable[[], object]] = {}
    refused: dict[str, str] = {}
    out = np.empty(problem.output_shape, np.float32)
    for name, compute in computes.items():
        # A matrix product has no bias, which the problem has.
        added = exam.parameters[1] if name == "call" and label.startswith("matmul") else None
        verdict = exam.examine(partial(_with_bias, compute, added), "ieee")
        if verdict.passed:
            calls[name] = partial(compute, exam.x, out)
        else:
            refused[name] = str(verdict.reason)
    for peer in PEERS:
        if peer.name not in TORCH:
            continue
        reason = peer.why_not(problem)
        if reason is None:
            bound = peer.bind(problem, exam.parameters)
            verdict = exam.examine(bound, "ieee")
            reason = None if verdict.passed else str(verdict.reason)
            calls[peer.name] = bound.compute
        if reason is not None:
            refused[peer.name] = reason
            calls.pop(peer.name, None)
    timings = interleaved(calls, seconds=SECONDS)
    times = {name: dataclasses.asdict(timing) for name, timing in timings.items()}
    return {"label": label, "problem": repr(problem), "times_ms": times, "refused": refused}


FIRST = """
import sys, time
start = time.perf_counter()
import rooftile
import numpy as np
a = lambda *shape: np.ones(shape, np.float32)
block = {"activation": "relu", "pool": ("max", 2)}
conv = rooftile.conv2d
calls = {
    "conv2d 1x1x28x28, 8 maps 5x5": lambda: conv(a(1, 1, 28, 28), a(8, 1, 5, 5), **block),
    "the same of 32x40": lambda: conv(a(1, 1, 32, 40), a(8, 1, 5, 5), **block),
    "64 channels 3x3, 56x56": lambda: conv(a(1, 64, 56, 56), a(64, 64, 3, 3), padding=1),
    "the same of 28x28": lambda: conv(a(1, 64, 28, 28), a(64, 64, 3, 3), padding=1),
    "the same, fast": lambda: conv(
        a(1, 64, 28, 28), a(64, 64, 3, 3), padding=1, precision="fast"),
    "11x11, stride 4, 224x224": lambda: conv(
        a(1, 3, 224, 224), a(64, 3, 11, 11), stride=4, padding=2),
    "linear 4x300x100": lambda: rooftile.linear(a(4, 300), a(100, 300)),
    "matmul 64^3": lambda: rooftile.matmul(a(64, 64), a(64, 64)),
}
for label, call in calls.items():
    begin = time.perf_counter()
    call()
    now = time.perf_counter()
    print(label, now - begin, now - start, sep="\\t")
"""


def first_calls() -> list[Record]:
    """Seconds of first calls: in a process with an empty cache, and in the next one."""
    rows: dict[str, Record] = {}
    with tempfile.TemporaryDirectory() as cache:
        for kind in ("cold", "warm"):
            environ = os.environ | {"ROOFTILE_CACHE": cache}
            command = [sys.executable, "-c", FIRST]
            run = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
            for line in run.stdout.splitlines():
                label, call, since = line.split("\t")
                row = rows.setdefault(label, {"label": label})
                row[kind], row[f"{kind}_since_import"] = float(call), float(since)
    return list(rows.values())


def page(results: Record) -> str:
    """The documentation page, all of its numbers from the records."""
    env, first = results["environment"], results["first_calls"]
    lines = [
        "# What a call costs",
        "",
        "Generated by `make bench-calls` (`python benchmarks/calls.py --write`); the records are",
        "in `benchmarks/results/calls-cpu.json`. Nothing here is typed by hand.",
        "",
        f"{env['time']}, {env['cpu']}, {env['cores']} cores, Python {env['python']}. "
        f"{results['versions']}.",
        "",
        *section(
            "Calls",
            "Medians in microseconds, in one process, in turns, each verified first, on the\n"
            "same NumPy arrays and with `out=`. `kernel` is the chosen strategy alone with its\n"
            "parameters packed; `prepared` is `rooftile.Conv2d` or `rooftile.Linear`, `call` the\n"
            "function, which packs the weights each time. `matmul` has b as its user has it,\n"
            "[inner, columns], where PyTorch's layer has its transpose.",
            _table(results["rows"]),
        ),
        *section(
            "First calls",
            "Seconds of a first call in a process: with an empty cache of kernels, and in the\n"
            f"next process. From `import rooftile` to the first result there: "
            f"{first[0]['warm_since_import']:.2f} s, NumPy's import included.",
            markdown_table(
                ("call", "cold", "warm"),
                [[row["label"], f"{row['cold']:.3f}", f"{row['warm']:.3f}"] for row in first],
            ),
        ),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _table(rows: list[Record]) -> list[str]:
    names = ("kernel", "prepared", "call", "plan", *TORCH)
    cells = []
    for row in rows:
        times = {name: one["median"] * 1e3 for name, one in row["times_ms"].items()}
        shown = [f"{times[name]:.4g}" if name in times else "-" for name in names]
        mine = times.get("plan") or times.get("prepared") or times["call"]
        peers = [times[name] for name in TORCH if name in times]
        shown.append(f"{min(peers) / mine:.2f}x" if peers else "-")
        cells.append([f"`{row['label']}`", *shown])
    head = ("work", *names, "best of PyTorch / plan, else prepared, else call")
    return markdown_table(head, cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", nargs="*", help="labels to measure, such as 'mnist8 B=1'")
    parser.add_argument("--write", action="store_true", help="write the records and the page")
    options = parser.parse_args()
    rows = []
    first = first_calls()
    with keeping_memory():
        for label, problem in CASES.items():
            if options.only and label not in options.only:
                continue
            print(label, file=sys.stderr)
            rows.append(judge(label, problem))
    results = {
        "environment": dataclasses.asdict(environment()),
        "versions": ", ".join(f"{k} {v}" for k, v in versions(PACKAGES).items()),
        "rows": rows,
        "first_calls": first,
    }
    print(page(results))
    if options.write:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
