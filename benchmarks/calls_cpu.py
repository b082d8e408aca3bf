"""What a call costs on this machine's CPU: ours, prepared or not, beside PyTorch's.

Everything of one row runs in one process on the same arrays, is verified first, and then timed in
turns (`rooftile.runtime.timing.host`).  `kernel` is the chosen strategy alone, bound to its
parameters and given its result: what a call takes beyond it is the call's own.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from calls_first import first_calls
from pages import own_name

import rooftile
from rooftile.devices import cpu
from rooftile.devices.ceilings import cpu_name
from rooftile.lab.judge.exam import Exam
from rooftile.lab.measure.environment import environment, versions
from rooftile.lab.measure.peers.cpu import PEERS, keeping_memory
from rooftile.nn import architecture
from rooftile.ops import Chain, Conv2d, Layer, Linear, Pool, named
from rooftile.runtime.selection.choice import decide
from rooftile.runtime.timing.host import interleaved

RESULTS = Path(__file__).parent / "results" / own_name("calls-cpu", cpu_name())
"""The record of this processor."""
PACKAGES = ("numpy", "llvmlite", "torch")
TORCH = ("torch eager", "torch compile, frozen")
SECONDS = 1.5

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


def run(only: Sequence[str], write: bool) -> Record:
    """Measure all rows, or those of some labels, and write the record where it is wanted."""
    rows, first = [], _first_calls()
    with keeping_memory():
        for label, problem in CASES.items():
            if only and label not in only:
                continue
            print(label, file=sys.stderr)
            rows.append(judge(label, problem))
    results = {
        "environment": dataclasses.asdict(environment()),
        "versions": ", ".join(f"{k} {v}" for k, v in versions(PACKAGES).items()),
        "rows": rows,
        **first,
    }
    if write:
        _keep(results)
    return results


def run_first(write: bool) -> Record:
    """Measure first calls alone, beside the record's rows, and write it where that is wanted."""
    record: Record = json.loads(RESULTS.read_text(encoding="utf-8")) | _first_calls()
    if write:
        _keep(record)
    return record


def _first_calls() -> Record:
    here = environment()
    return {"first_calls": first_calls("cpu"), "first_calls_of": f"{here.time}, {here.cpu}"}


def _keep(record: Record) -> None:
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
