"""The dense patterns on an NVIDIA GPU: the public call, its ladder, PyTorch, and a copy.

Everything of one row runs in one process on the same tensors, is captured into graphs as
`rooftile.lab.peers.gpu` captures peers, verified on what a replay writes, and then timed in turns
by the GPU's clock.  The record is written after each row.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import patterns_rows as rows
from patterns_cases import BOUNDS, CALLS, GPU, Case
from patterns_check import Check
from patterns_rows import COPY, OURS, Record, Watch

from rooftile.devices.gpu import GpuDevice
from rooftile.devices.select import open_gpu
from rooftile.lab.ceilings.gpu import GpuCeilings, gpu_ceilings
from rooftile.lab.environment import environment, gpu_libraries, versions
from rooftile.lab.explain import Explanation, Measured, explain
from rooftile.lab.explain.target import Target, find_target
from rooftile.lab.peers.gpu import TorchCall
from rooftile.lab.peers.torch_module import torch_module
from rooftile.lab.records import plain
from rooftile.runtime.choice import choose
from rooftile.runtime.timing.device import Work, in_turns
from rooftile.runtime.timing.telemetry import sensors
from rooftile.strategies import strategy

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("numpy", "torch", "triton", "nvidia-cudnn-cu13", "nvidia-cublas")
LIMIT_S = 225.0
"""No row begins later than this after the start; ladders come after all picked rungs."""
_SECONDS = 0.25
"""Seconds of samples of each contestant."""
_SLOWEST_MS = 60.0
"""A rung that takes longer is left out."""

Make = Callable[[], Any]
Tensor = Any


def run(only: list[str], write: bool) -> Path | None:
    """Measure all rows, or those of some operations or keys; returns the record's file."""
    device = open_gpu("cuda")
    with device.on():
        roof = gpu_ceilings(device, progress=_say)
    watch, path = Watch(LIMIT_S), path_for(device)
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    where = {**asdict(device.description), "libraries": gpu_libraries("cuda")}
    record: Record = {
        "environment": plain({**asdict(environment()), "device": where}),
        "versions": versions(PACKAGES),
        "ceilings": plain(asdict(roof)),
        "rows": kept.get("rows", []),
    }
    bench = Bench(device, roof, find_target("cuda"))
    wanted = [case for case in GPU if not only or case.key in only or case.operation in only]
    for case in wanted:
        if watch.left_s < 0:
            _say(f"{case.key}: the time of the run is over")
            break
        row = bench.row(case)
        record["rows"] = rows.merged(record["rows"], row, GPU)
        print(rows.line(row), flush=True)
        if write:
            path.write_text(json.dumps(plain(record), indent=1) + "\n", encoding="utf-8")
    _say(f"{LIMIT_S - watch.left_s:.0f} s in all")
    return path if write else None


def path_for(device: GpuDevice) -> Path:
    """The record of this model of GPU."""
    name = device.description.name.lower().removeprefix("nvidia ")
    return RESULTS / f"patterns-{name.replace(' ', '-')}.json"


@dataclass
class Bench:
    """Where it is measured."""

    device: GpuDevice
    roof: GpuCeilings
    target: Target

    def row(self, case: Case) -> Record:
        """A row, whatever goes wrong in it."""
        start = time.perf_counter()
        picked = choose(case.problem, case.precision, self.device.description.device)
        row = rows.row_of(case, picked, self.roof)
        try:
            self._fill(row, case)
        except Exception as error:
            # The others are worth having all the same.
            row["entries"].append(rows.entry("strategy", OURS, None, _told(error)))
        _tidy()
        return {**row, "seconds": round(time.perf_counter() - start, 2)}

    def _fill(self, row: Record, case: Case) -> None:
        import torch

        torch.compiler.reset()
        works: dict[str, tuple[str, Work]] = {}
        with torch.inference_mode():
            arrays = made(case)
            check = Check(case.problem, arrays, case.precision)
            for kind, name, make in self._makers(case, arrays):
                try:
                    work = self._admitted(make, check, kind, case)
                except Exception as error:
                    row["entries"].append(rows.entry(kind, name, None, _told(error)))
                    continue
                works[name] = kind, work
            only = {name: work for name, (_, work) in works.items()}
            times = in_turns(only, read=sensors(self.device), seconds=_SECONDS)
        for name, (kind, _) in works.items():
            one = rows.entry(kind, name, times[name].warm, times[name].contradiction)
            cold = times[name].cold
            one["cold_ms"] = None if cold is None else cold.median
            rung = row["picked"] if name == OURS else name
            if kind == "strategy" and case.dtype == "float32":
                one["explained"] = self._explained(case, rung, times[name].warm.median)
            row["entries"].append(one)

    def _makers(self, case: Case, arrays: list[Tensor]) -> Iterator[tuple[str, str, Make]]:
        """Everybody: kind, name, and what makes a call whose result stays where it is."""
        import torch

        call = partial(CALLS[case.operation](case.problem, *arrays), **case.options)
        out = torch.empty_like(call())
        yield "strategy", OURS, lambda: partial(call, out=out)
        for rung in rows.rungs(case, "cuda"):
            yield "strategy", rung.name, partial(partial, call, out=out, strategy=rung.name)
        count = len(case.problem.input_arrays)
        inputs, parameters = arrays[:count], [one.cpu().numpy() for one in arrays[count:]]
        dtype = getattr(torch, case.dtype)
        module = torch_module(case.problem, parameters).to("cuda")
        module = module.to(dtype) if case.dtype != "float32" else module
        yield "peer", "torch eager", lambda: partial(module, *inputs)
        if case.compiled:
            compiled = torch.compile(module, dynamic=False)
            yield "peer", "torch compile", lambda: partial(compiled, *inputs)
        half = rows.moved_bytes(case) // 2
        source, to = (torch.ones(half, dtype=torch.uint8, device="cuda") for _ in range(2))
        yield COPY, COPY, lambda: partial(to.copy_, source)

    def _admitted(self, make: Make, check: Check, kind: str, case: Case) -> Work:
        """What is timed of a contestant whose replayed result is right; else it raises."""
        import torch

        call = TorchCall(make(), lambda array: array, case.precision, case.problem)
        call.compute()  # It compiles.
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        call.compute()
        after.record()
        after.synchronize()
        if before.elapsed_time(after) > _SLOWEST_MS:
            raise TimeoutError(f"a call takes {before.elapsed_time(after):.0f} ms")
        work = call.work()
        if kind != COPY:
            poison(call.out)
            work.once()
            torch.cuda.synchronize()
            if reason := check.why_wrong(call.out, peer=kind == "peer"):
                raise ArithmeticError(reason)
        return work

    def _explained(self, case: Case, name: str, ms: float) -> Record | None:
        """What was predicted of a rung, to stand beside its time."""
        rung = strategy(case.operation, name, "cuda")
        measured = Measured(ms, None, self.device.description.name, "patterns", {})
        try:
            found = explain(rung, case.problem, "cuda", self.target, measured=measured)
        except Exception as error:
            _say(f"{case.key}, {name}: {_told(error)}")
            return None
        return predicted(found)


def predicted(found: Explanation) -> Record:
    """The numbers of an explanation that the page has."""
    counted = [kernel.accesses for kernel in found.kernels if kernel.accesses is not None]
    warps = sum(kernel.grid.warps() * kernel.launches for kernel in found.kernels)
    sectors = sum(one.load_sectors for one in counted)
    return {
        "bound_ms": found.bound_ms,
        "bound_by": found.bound_by,
        "moved_bytes": found.moved_bytes,
        "input_loads": found.input_loads,
        "adds_per_load": found.adds_per_load,
        "uncached_ms": found.uncached_ms,
        "sector_use": 4 * sum(one.loads for one in counted) / (32 * sectors) if sectors else None,
        "divergent": sum(one.divergent_warps for one in counted) / warps if counted else None,
    }


def made(case: Case) -> list[Tensor]:
    """The problem's arrays on the GPU: normal numbers, any bytes, indices within bounds."""
    import torch

    generator = torch.Generator("cuda").manual_seed(0)
    dtype = getattr(torch, case.dtype)
    arrays = []
    for place in case.problem.given_arrays:
        if place.dtype == "float32":
            array = torch.randn(place.shape, generator=generator, device="cuda").to(dtype)
        elif place.dtype in ("float16", "bfloat16", "float64"):
            kind = getattr(torch, place.dtype)
            array = torch.randn(place.shape, generator=generator, device="cuda").to(kind)
        else:
            bound = BOUNDS.get(case.operation, lambda problem: 256)(case.problem)
            kind = getattr(torch, place.dtype)
            array = torch.randint(0, bound, place.shape, generator=generator, device="cuda")
            array = array.to(kind)
        arrays.append(array)
    return arrays


def poison(tensor: Tensor) -> None:
    """Fill a tensor with what no result is: NaN, or an odd number."""
    tensor.fill_(float("nan") if tensor.is_floating_point() else 0x55)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _tidy() -> None:
    """Give back what a row's graphs and libraries hold."""
    gc.collect()
    if torch := sys.modules.get("torch"):
        torch.cuda.empty_cache()
