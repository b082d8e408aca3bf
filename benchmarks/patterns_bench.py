"""A row of the patterns on a GPU: who is timed, on which arrays, and what was predicted.

Everything of one row runs in one process on the same tensors, is captured into graphs where it
does not wait for the GPU, verified on what a run writes into poisoned outputs, and then timed in
turns by the GPU's clock.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import patterns_rows as rows
import torch
from patterns_calls import CALLS
from patterns_cases import Case
from patterns_check import Check
from patterns_inputs import made
from patterns_matrices import Workshop, of_case
from patterns_peers import peers
from patterns_rows import COPY, OURS, READ, Record
from patterns_work import Call, Contender, poison

import rooftile
from rooftile.devices.gpu import GpuDevice
from rooftile.lab.measure.ceilings.gpu import GpuCeilings
from rooftile.lab.measure.environment import environment, gpu_libraries, versions
from rooftile.lab.measure.records import plain
from rooftile.lab.show.explain import Explanation, Measured, explain
from rooftile.lab.show.explain.target import Target
from rooftile.ops import Problem
from rooftile.runtime.selection.choice import choose
from rooftile.runtime.timing.device import TimedLaunches, in_turns
from rooftile.runtime.timing.telemetry import sensors
from rooftile.strategies import ladder, strategy

PACKAGES = ("numpy", "torch", "cupy-cuda13x", "cupy-cuda12x", "cupy", "scipy", "triton")
_SECONDS = 0.08
"""Seconds of samples of each contestant."""

Tensor = Any
Maker = tuple[str, str, Call, bool]


@dataclass
class Bench:
    """Where it is measured; without a GPU it is tried on the CPU."""

    device: GpuDevice | None
    roof: GpuCeilings | None
    target: Target | None
    workshop: Workshop

    @property
    def place(self) -> str:
        """PyTorch's name of the device."""
        return "cpu" if self.device is None else "cuda"

    @property
    def _kind(self) -> Any:
        return "cpu" if self.device is None else self.device.description.device

    def record(self, path: Path, parts: Iterable[str]) -> Record:
        """The record without new rows."""
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        where: Record = {}
        if self.device is not None:
            where = {**asdict(self.device.description), "libraries": gpu_libraries("cuda")}
        return {
            **{name: kept[name] for name in (*parts, "warps") if name in kept},
            "environment": plain({**asdict(environment()), "device": where}),
            "versions": versions(PACKAGES),
            "ceilings": plain(asdict(self.roof)) if self.roof else {},
            "rows": kept.get("rows", []),
        }

    def row(self, case: Case) -> Record:
        """A row, whatever goes wrong in it."""
        start = time.perf_counter()
        picked = choose(case.problem, case.precision, self._kind)
        row = rows.row_of(case, picked, self.roof)
        try:
            self._fill(row, case)
        except Exception as error:
            row["entries"].append(rows.entry("strategy", OURS, None, told(error)))
        with contextlib.suppress(RuntimeError):
            tidy()
        return {**row, "seconds": round(time.perf_counter() - start, 2)}

    def _fill(self, row: Record, case: Case) -> None:
        sparse = case.operation == "spmv"
        problem: Any = case.problem
        if sparse:
            problem = of_case(case.name, self.device is None)
        elif self.device is None:
            problem = problem.neighbours()[0]
        with torch.inference_mode():
            arrays, makers = self._family(row, case, problem) if sparse else (None, None)
            if arrays is None or makers is None:
                arrays = self._arrays(case, problem)
                makers = self._makers(case, problem, arrays)
            check = Check(problem, arrays, case.precision)
            works: dict[str, tuple[str, TimedLaunches]] = {}
            for kind, name, call, captured in makers:
                try:
                    works[name] = kind, self.admitted(call, captured, kind, case, problem, check)
                except Exception as error:
                    row["entries"].append(rows.entry(kind, name, None, told(error)))
            times = self.times({name: work for name, (_, work) in works.items()})
        for name, (kind, _) in works.items():
            one = rows.entry(kind, name, times[name].warm, times[name].contradiction)
            cold = times[name].cold
            one["cold_ms"] = None if cold is None else cold.median
            rung = row["picked"] if name == OURS else name
            if case.ladder and kind == "strategy" and case.dtype == "float32" and not sparse:
                one["explained"] = self._explained(case, rung, times[name].warm.median)
            row["entries"].append(one)

    def times(self, works: dict[str, TimedLaunches]) -> Any:
        """Everybody in turns."""
        read = sensors(self.device) if self.device is not None else lambda: None
        return in_turns(works, read=read, seconds=_SECONDS if self.device else 0.0)

    def _arrays(self, case: Case, problem: Any) -> list[Tensor]:
        if case.operation == "spmm":
            return [torch.from_numpy(array).to(self.place) for array in problem.random(0)]
        return made(case, problem, self.place)

    def _makers(self, case: Case, problem: Any, arrays: list[Tensor]) -> Iterator[Maker]:
        """Everybody: kind, name, the call, and whether it can be captured."""
        given = arrays
        if case.operation == "spmm":
            given = [*(array.cpu().numpy() for array in arrays[:-1]), arrays[-1]]
        public = CALLS[case.operation](problem, *given)
        options = dict(case.options)
        if case.operation == "compact":
            options["counted"] = True
        captured = case.operation != "unique"
        call = partial(public, **options)
        if "out" in inspect.signature(public).parameters:
            first = call()
            first = first[0] if isinstance(first, tuple) else first
            call = partial(call, out=torch.empty_like(first))
        yield "strategy", OURS, call, captured
        for rung in rows.rungs(case, "cuda" if self.device else "cpu"):
            yield "strategy", rung.name, partial(call, strategy=rung.name), captured
        for name, other, still in peers(case, problem, arrays):
            yield "peer", name, other, still
        yield from self._rulers(case, rows.moved_bytes(case))

    def _rulers(self, case: Case, moved: int) -> Iterator[Maker]:
        """What moves as many bytes and does nothing else."""
        half = moved // 8 if self.device else 2**10
        source, to = (torch.ones(half, device=self.place) for _ in range(2))
        # By a kernel: a copy of PyTorch's may go to a copy engine, which is slower.
        yield COPY, COPY, lambda: torch.neg(source, out=to), True
        if any(goal.what == READ for goal in case.goals):
            every = torch.ones(2 * half, device=self.place)
            yield READ, READ, lambda: torch.sum(every), True

    def _family(
        self, row: Record, case: Case, problem: Any
    ) -> tuple[list[Tensor], Iterator[Maker]]:
        """The arrays in CSR, and everybody: each format's strategies and the other libraries."""
        prepared = self.workshop.get(case.name)
        csr = prepared.matrix("csr")
        held = [torch.from_numpy(array).to(self.place) for array in csr.arrays.values()]
        generator = torch.Generator(self.place).manual_seed(0)
        x = torch.randn(problem.columns, generator=generator, device=self.place)
        chosen = next(one for one in csr.estimates(device="cuda") if one.form in prepared.files)
        row["chosen"] = chosen.form
        row["bytes"] = chosen.bytes
        if self.roof:
            row["floor_ms"] = 1e-6 * chosen.bytes / self.roof.bandwidth_gbps
        return [*held, x], self._formats(row, case, problem, prepared, [*held, x])

    def _formats(
        self, row: Record, case: Case, problem: Any, prepared: Any, arrays: list[Tensor]
    ) -> Iterator[Maker]:
        x = arrays[-1]
        y = torch.empty(problem.rows, device=self.place)
        matrix = prepared.matrix(row["chosen"])
        row["picked"] = choose(matrix.problem(), "ieee", self._kind).name
        yield "strategy", OURS, partial(rooftile.spmv, matrix, x, out=y), True
        for form in prepared.files:
            matrix = prepared.matrix(form)
            call = partial(rooftile.spmv, matrix, x, out=y)
            for rung in ladder("spmv", "cuda" if self.device else "cpu"):
                if rung.precision == "ieee" and rung.why_not(matrix.problem()) is None:
                    name = rung.name if rung.name.startswith(form) else f"{form} {rung.name}"
                    yield "strategy", name, partial(call, strategy=rung.name), True
        for name, other, still in peers(case, problem, arrays):
            yield "peer", name, other, still
        yield from self._rulers(case, row["bytes"])

    def admitted(
        self, call: Call, captured: bool, kind: str, case: Case, problem: Problem, check: Check
    ) -> TimedLaunches:
        """What is timed of a contestant whose result is right; else it raises."""
        contender = Contender(call, case.precision, problem, captured)
        work = contender.work(self.place)
        if kind not in (COPY, READ):
            poison(contender.out)
            work.once()
            if self.device is not None:
                torch.cuda.synchronize()
            if reason := check.why_wrong(contender.out, peer=kind == "peer"):
                raise ArithmeticError(reason)
        return work

    def _explained(self, case: Case, name: str, ms: float) -> Record | None:
        """What was predicted of a rung, to stand beside its time."""
        if self.device is None or self.target is None:
            return None
        rung = strategy(case.operation, name, "cuda")
        measured = Measured(ms, None, self.device.description.name, "patterns", {})
        try:
            found = explain(rung, case.problem, "cuda", self.target, measured=measured)
        except Exception as error:
            say(f"{case.key}, {name}: {told(error)}")
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


def told(error: Exception) -> str:
    """An error in a line."""
    return f"{type(error).__name__}: {error}"


def say(text: str) -> None:
    """Print what is no row where it does not mix with the rows."""
    print(text, file=sys.stderr, flush=True)


def tidy() -> None:
    """Give back what a row's graphs and libraries hold."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        if cupy := sys.modules.get("cupy"):
            cupy.get_default_memory_pool().free_all_blocks()
