"""Verify and time GPU strategies of conv2d on one problem, with any configs, beside PyTorch.

    python benchmarks/gpu.py lenet-conv1 10000 direct_tile:THREAD_COLUMNS=2,BAND_ROWS=8 naive
    python benchmarks/gpu.py lenet-conv1 10000 --peers --device cuda --json results.json

A rung is verified on up to 64 images against the float64 reference and on the whole
batch against a verified rung's result; only then is it timed: in turns, by the
device's own events around each launch, the median of many.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import itertools
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rooftile.devices import cuda, opencl
from rooftile.devices.gpu import Elapsed
from rooftile.lab.peers import torch_module
from rooftile.lab.verify import Exam
from rooftile.ops import Conv2d, named
from rooftile.strategies import ladder, strategy
from rooftile.strategies.gpu import GpuBound

Call = Callable[[], object]
Timer = Callable[[], contextlib.AbstractContextManager[Elapsed]]

VERIFIED_IMAGES = 64
LAUNCHES = 30


def rungs_of(texts: list[str], kind: str) -> list[tuple[str, Any, dict[str, int]]]:
    """``name`` or ``name:TUNABLE=value|value,...``, every combination; all rungs without any."""
    found = []
    for text in texts or [rung.name for rung in ladder("conv2d", kind)]:
        name, _, settings = text.partition(":")
        names, choices = [], []
        for item in filter(None, settings.split(",")):
            key, _, values = item.partition("=")
            names.append(key)
            choices.append([int(value) for value in values.split("|")])
        for values in itertools.product(*choices):
            config = dict(zip(names, values, strict=True))
            label = ",".join(f"{key}={value}" for key, value in config.items())
            found.append(
                (f"{name}:{label}" if label else name, strategy("conv2d", name, kind), config)
            )
    return found


def event_times(calls: dict[str, tuple[Call, Timer]]) -> dict[str, list[float]]:
    """Milliseconds of each call by events of its own stream, in turns, after a warm-up."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call, _ in calls.values():
        for _ in range(3):
            call()
    for _ in range(LAUNCHES):
        for name, (call, timer) in calls.items():
            with timer() as elapsed:
                call()
            times[name].append(elapsed.milliseconds)
    return times


@contextlib.contextmanager
def torch_timer() -> Iterator[Elapsed]:
    """As the device's own timer, on PyTorch's stream."""
    import torch

    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    elapsed = Elapsed()
    before.record()
    yield elapsed
    after.record()
    torch.cuda.synchronize()
    elapsed.milliseconds = before.elapsed_time(after)


def torch_calls(problem: Conv2d, parameters: tuple[Any, ...], x: Any) -> dict[str, Call]:
    """PyTorch with cuDNN's own search, float32 throughout: NCHW, channels last, compiled."""
    import torch

    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_grad_enabled(False)
    module, last = (torch_module(problem, parameters).cuda() for _ in range(2))
    data, layout = torch.from_numpy(x).cuda(), torch.channels_last
    last, data_last = last.to(memory_format=layout), data.to(memory_format=layout)
    compiled = torch.compile(module, mode="max-autotune-no-cudagraphs")
    compiled_last = torch.compile(last, mode="max-autotune-no-cudagraphs")
    return {
        "torch eager": lambda: module(data),
        "torch channels_last": lambda: last(data_last),
        "torch compile": lambda: compiled(data),
        "torch compile channels_last": lambda: compiled_last(data_last),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("shape")
    parser.add_argument("batch", type=int)
    parser.add_argument("rungs", nargs="*")
    parser.add_argument("--device", default="cuda", choices=("cuda", "opencl"))
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    problem = named("conv2d", options.shape, options.batch)
    assert isinstance(problem, Conv2d)
    device = (cuda if options.device == "cuda" else opencl).open_device()
    small = problem.with_batch(min(VERIFIED_IMAGES, problem.batch))
    exam = Exam(small, seed=0)
    x = np.random.default_rng(1).standard_normal(problem.input_shape, np.float32)
    given, result = device.upload(x), device.allocate(4 * int(np.prod(problem.output_shape)))
    first: Any = None
    rows, calls = [], {}
    for text, rung, config in rungs_of(options.rungs, options.device):
        row: dict[str, Any] = {"rung": text, "precision": rung.precision}
        rows.append(row)
        try:
            verdict = exam.examine(
                rung.bind(small, *exam.parameters, device=device, config=config), rung.precision
            )
            bound = rung.bind(problem, *exam.parameters, device=device, config=config)
            out = np.full(problem.output_shape, np.nan, np.float32)
            device.copy_in(out, result)
            bound.launch(given, result, problem.batch)
            device.copy_out(result, out)
            first = out if first is None else first
            scale = np.abs(first).max()
            agrees = np.abs(out - first).max() <= scale * (
                1e-3 if rung.precision == "fast" else 1e-5
            )
            row["status"] = "passed" if verdict.passed and agrees else f"failed {verdict.reason}"
            row["max_abs"], row["budget_fraction"] = verdict.max_abs, verdict.budget_fraction
            row["resources"] = [dataclasses.asdict(r) for r in bound.resources()]
            if row["status"] == "passed":
                calls[text] = launcher(bound, given, result), device.timer
        except Exception as error:
            row["status"] = f"{type(error).__name__}: {error}"[:300]
    if options.peers:
        for name, call in torch_calls(problem, exam.parameters, x).items():
            calls[name] = call, torch_timer
        rows += [{"rung": name, "precision": "ieee", "status": "peer"} for name in calls
                 if name.startswith("torch")]  # fmt: skip
    for name, times in event_times(calls).items():
        row = next(row for row in rows if row["rung"] == name)
        ordered = sorted(times)
        row["median_ms"], row["min_ms"] = statistics.median(times), ordered[0]
        row["p20_ms"], row["p80_ms"] = ordered[len(times) // 5], ordered[len(times) * 4 // 5]
        row["tflops"] = problem.flops / row["median_ms"] * 1e-9
    show(rows, problem, device)
    if options.json:
        record = {"problem": str(problem), "device": dataclasses.asdict(device.description)}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({**record, "rows": rows}, file, indent=1)


def launcher(bound: GpuBound, given: Any, result: Any) -> Call:
    return lambda: bound.launch(given, result, bound.problem.batch)


def show(rows: list[dict[str, Any]], problem: Conv2d, device: Any) -> None:
    print(f"{problem}\n{device.description.name}", file=sys.stderr)
    for row in sorted(rows, key=lambda row: row.get("median_ms", 1e9)):
        time = f"{row['median_ms']:9.4f} ms {row['tflops']:7.2f} TF" if "median_ms" in row else ""
        used = [
            (r["registers"], r["spill_bytes"], r["occupancy"]) for r in row.get("resources", [])
        ]
        print(f"{time:24} {row['rung']:60} {row['status']} {used}")


if __name__ == "__main__":
    main()
