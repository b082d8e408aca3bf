"""The patterns on an NVIDIA GPU: the public call, its ladder, PyTorch, CuPy, a copy and a read.

The record is written after each row: a run that is cut off has the first ones.  Rows that were
never measured come first; ladders, the chooser and the solver come last.  `patterns_bench` measures
a row.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import patterns_choice
import patterns_conversions_gpu
import patterns_rows as rows
import patterns_solver
import torch
from patterns_bench import Bench, say, told
from patterns_cases import GPU, Case
from patterns_matrices import Workshop, of_case
from patterns_rows import Watch

from rooftile.devices.gpu import GpuDevice
from rooftile.devices.select import open_gpu
from rooftile.lab.measure.ceilings.gpu import gpu_ceilings
from rooftile.lab.measure.records import plain
from rooftile.lab.show.explain.target import find_target

RESULTS = Path(__file__).parent / "results"
LIMIT_S = 225.0
"""No row begins later than this after the start."""
LOST = 3
"""The exit status where a row has left the GPU in an error that only another process ends."""
_OTHERS = {
    "chooser": patterns_choice,
    "solver": patterns_solver,
    "conversions": patterns_conversions_gpu,
}
"""Parts of the record that are no rows, and who measures them."""


def run(only: list[str], write: bool, limit_s: float = LIMIT_S, smoke: bool = False) -> Path | None:
    """Measure all rows, or those of some operations or keys; returns the record's file.

    ``smoke`` tries small problems of all rows on the CPU, for what comes before a GPU is there.
    """
    watch = Watch(limit_s)
    workshop = Workshop(smoke)
    try:
        bench = Bench(None, None, None, workshop) if smoke else opened(workshop)
        session = Session(bench, watch, write and not smoke)
        known = {row["key"] for row in session.record["rows"] if row["entries"]}
        wanted = [case for case in GPU if not only or case.key in only or case.operation in only]
        wanted.sort(key=lambda case: case.key in known)
        for case in wanted:
            if case.forms:
                workshop.ask(case.name, of_case(case.name, smoke), case.forms)
        others = [name for name in _OTHERS if not only or name in only]
        if "chooser" in others:
            patterns_choice.ask(workshop, smoke)
        first = [case for case in wanted if case.operation != "matmul"]
        session.measure([replace(case, ladder=False) for case in first])
        for name in others:
            session.measure_other(name)
        session.measure([case for case in wanted if case.operation == "matmul" and not case.ladder])
        session.measure([case for case in wanted if case.ladder])
    finally:
        workshop.close()
    say(f"{limit_s - watch.left_s:.0f} s in all")
    return session.path if write else None


class Session:
    """A run's record, which is written after each row."""

    def __init__(self, bench: Bench, watch: Watch, write: bool) -> None:
        self.bench, self.watch, self.write = bench, watch, write
        self.path = RESULTS / "patterns-trial.json"
        if bench.device is not None:
            self.path = path_for(bench.device)
        self.record = bench.record(self.path, _OTHERS)

    def measure(self, cases: list[Case]) -> None:
        """Rows, as long as there is time."""
        for case in cases:
            if self.watch.left_s < 0:
                say(f"{case.key}: the time of the run is over")
                return
            try:
                row = self.bench.row(case)
            except Exception as error:
                # The others are worth having all the same.
                say(f"{case.key}: {told(error)}")
                continue
            self.record["rows"] = rows.merged(self.record["rows"], row, GPU)
            print(rows.line(row), f"({row['seconds']} s)", flush=True)
            self._keep()
            if self.bench.device is not None and not _alive():
                # Nothing runs in this process any more: the next one begins with other rows.
                raise SystemExit(LOST)

    def measure_other(self, name: str) -> None:
        """The chooser, the solver or the conversions, if there is time."""
        if self.watch.left_s <= 0:
            return
        part: Any = _OTHERS[name]
        try:
            for found in part.measured(self.bench, self.watch):
                self.record[name] = found
                self._keep()
        except Exception as error:
            say(f"{name}: {told(error)}")

    def _keep(self) -> None:
        if self.write:
            self.path.parent.mkdir(exist_ok=True)
            text = json.dumps(plain(self.record), indent=1)
            self.path.write_text(text + "\n", encoding="utf-8")


def opened(workshop: Workshop) -> Bench:
    """The GPU with its ceilings."""
    device = open_gpu("cuda")
    with device.on():
        roof = gpu_ceilings(device, progress=say)
    return Bench(device, roof, find_target("cuda"), workshop)


def path_for(device: GpuDevice) -> Path:
    """The record of this model of GPU."""
    name = device.description.name.lower().removeprefix("nvidia ")
    return RESULTS / f"patterns-{name.replace(' ', '-')}.json"


def _alive() -> bool:
    """Whether the GPU still takes work of this process."""
    try:
        torch.cuda.synchronize()
    except RuntimeError as error:
        say(told(error))
        return False
    return True
