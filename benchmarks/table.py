"""Measure the table of networks and convolutions on this machine's GPU, beside PyTorch.

    python benchmarks/table.py                                   # every row
    python benchmarks/table.py --only lenet5 mnist8@1:ieee       # some, into the same record
    python benchmarks/table.py --only stream accuracy --data DIR

The record is ``benchmarks/results/<gpu>-table.json``, of which `benchmarks/table_page.py` makes
``docs/reference/<gpu>.md``; ``make bench-gpu`` does both.  It is written after each row.

A row is a problem at a precision: ours and the peers of the same precision are verified, then
timed in turns in this process.  Of a network, ours is the plan; of a convolution, what the
dispatcher picks and, without ``--quick``, the upper rungs of the precision that are not slow.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import importlib.util
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import table_images
import table_page
import table_rows

from rooftile.devices.gpu import GpuDevice
from rooftile.devices.select import DeviceName, open_gpu
from rooftile.lab.measure.ceilings.gpu import GpuCeilings, gpu_ceilings
from rooftile.lab.measure.ceilings.known import has_roof
from rooftile.lab.measure.contest import Candidate, Contest
from rooftile.lab.measure.environment import environment, gpu_libraries, versions
from rooftile.lab.measure.networks.contest import NetworkContest, random_network
from rooftile.lab.measure.networks.layers import profile
from rooftile.lab.measure.peers.gpu import GpuPeer, gpu_peers
from rooftile.lab.measure.records import Row, plain, problem_json, row_json
from rooftile.nn import architecture
from rooftile.nn.data import load_images
from rooftile.nn.gpu_plan import GpuPlan
from rooftile.ops import Chain, Precision, Problem, named
from rooftile.ops.formats import format_of
from rooftile.runtime.selection.choice import choose
from rooftile.runtime.selection.tuned import tunings
from rooftile.strategies import ladder, strategy
from rooftile.strategies.contract.gpu import of_launches

RESULTS = Path(__file__).parent / "results"
IMAGE_KEYS = ("stream", "accuracy")
"""These are measured on images instead of random numbers."""
LOWEST = "im2col_register"
"""Rungs below are slower by design; docs/learn/gpu.md has them."""
_PACKAGES = (
    "torch",
    "triton",
    "nvidia-cudnn-cu13",
    "nvidia-cudnn-cu12",
    "nvidia-cublas",
    "nvidia-cublas-cu12",
)

Record = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Case:
    """A convolution, or a network, at a precision, with the time that it is to reach."""

    name: str
    batch: int
    precision: Precision
    target_ms: float
    network: bool = False
    narrow_out: bool = False
    """Whether a result in 16-bit numbers counts."""

    @property
    def key(self) -> str:
        return f"{self.name}@{self.batch}:{self.precision}"

    def problem(self) -> Problem:
        if self.network:
            return Chain(architecture(self.name).problems(self.batch))
        return named("conv2d", self.name, self.batch)


CASES = (
    Case("lenet-conv1", 10000, "ieee", 0.45),
    Case("lenet-conv1", 10000, "fp16", 0.13, narrow_out=True),
    Case("lenet-conv2", 10000, "ieee", 1.1),
    Case("lenet-conv2", 10000, "tf32", 0.40),
    Case("lenet-conv2", 10000, "fp16", 0.16),
    Case("lenet5", 10000, "ieee", 1.6, network=True),
    Case("lenet5", 10000, "tf32", 0.65, network=True),
    Case("lenet5", 10000, "fp16", 0.30, network=True),
    Case("lab-conv5", 1, "ieee", 1.6),
    Case("lab-conv5", 1, "tf32", 0.50),
    Case("lab-conv5", 1, "fp16", 0.275),
    Case("mnist8", 1, "ieee", 0.009, network=True),
    Case("mnist8", 10000, "ieee", 1.3, network=True),
    Case("mnist8", 10000, "tf32", 0.40, network=True),
    Case("mnist8", 10000, "fp16", 0.25, network=True),
)


@dataclasses.dataclass(frozen=True)
class Bench:
    """Where, against whom and how much is measured."""

    device: GpuDevice
    roof: GpuCeilings | None
    peers: Callable[[str], Sequence[GpuPeer]]
    """The peers of a precision."""
    quick: bool
    limit_s: float
    """Rungs that would take longer in all are left out."""

    @property
    def name(self) -> str:
        return f"{self.device.description.kind}:{self.device.description.index}"

    def row(self, case: Case) -> Record:
        """The record of one row."""
        start = time.perf_counter()
        problem = case.problem()
        found = self._network(case) if case.network else self._convolution(case)
        where = environment()
        return {
            "key": case.key,
            "case": dataclasses.asdict(case),
            "problem": problem_json(problem) if not case.network else {},
            "measured": {"time": where.time, "revision": where.revision},
            "flops": problem.flops,
            "floor": floor(problem, case, self.roof) if self.roof else None,
            **found,
            "seconds": round(time.perf_counter() - start, 1),
        }

    def _network(self, case: Case) -> Record:
        network = random_network(architecture(case.name), seed=0)
        contest = NetworkContest(network, case.batch, self.device, self.roof, report=say)
        device = cast("DeviceName", self.name)
        plan = network.plan(batch=case.batch, precision=case.precision, device=device)
        assert isinstance(plan, GpuPlan)
        rows = contest.contest(plan, self.peers(case.precision))
        times = profile(plan, contest.inputs[0])
        layers = {name: timing.median for name, timing in times.items()}
        return {"picked": plan.strategies, "layers_ms": layers, "rows": as_json(rows)}

    def _convolution(self, case: Case) -> Record:
        problem = case.problem()
        picked = choose(problem, case.precision, self.name)
        with self.device.on():
            rows: list[Record] = []
            for stored in self._stored(case):
                contest = Contest(
                    stored,
                    self.device,
                    self.roof,
                    precision=case.precision,
                    limit_s=self.limit_s,
                    report=say,
                )
                rungs = self._rungs(case, picked.name, stored)
                found = [contest.strategy(rung, config) for rung, config in rungs]
                if stored == problem:
                    found += [contest.peer(peer) for peer in self.peers(case.precision)]
                storage = dict(getattr(stored, "storage", ()))
                rows += [{**one, "stored": storage} for one in as_json(contest.rows(found))]
        return {"picked": picked.name, "layers_ms": {}, "rows": rows}

    def _rungs(self, case: Case, picked: str, problem: Problem) -> Iterator[Candidate]:
        """The picked rung and, unless it is to be quick, all others of the precision."""
        where = self.device.description
        rungs = ladder("conv2d", where.kind)
        first = rungs.index(strategy("conv2d", LOWEST, where.kind))
        for place, rung in enumerate(map(of_launches, rungs)):
            other = rung.precision == case.precision and place >= first and not self.quick
            if rung.name != picked and not other:
                continue
            if rung.why_not(problem) or rung.why_not_on(where.architecture):
                continue
            tuned = tunings(problem.plain, where.kind).config(rung, where.name) or {}
            if rung.runs(problem, tuned):
                yield rung, tuned

    def _stored(self, case: Case) -> Iterator[Problem]:
        """The problem in float32; and with those arrays in 16 bits that may count, or that are
        stored so between a plan's layers."""
        problem, form = case.problem(), format_of(case.precision)
        yield problem
        if form.bytes == 2 and (case.narrow_out or not self.quick):
            yield problem.stored(out=form.dtype)
        if form.bytes == 2 and not case.narrow_out and not self.quick:
            yield problem.stored(x=form.dtype, out=form.dtype)


def floor(problem: Problem, case: Case, roof: GpuCeilings) -> Record:
    """The least time by the fewest bytes and by the FLOPs, in milliseconds."""
    numbers = sum(math.prod(output.shape) for output in problem.output_arrays)
    saved = 2 * numbers if case.narrow_out else 0
    memory = 1e-6 * (problem.bytes - saved) / roof.bandwidth_gbps
    arithmetic = 1e-6 * problem.flops / roof.rate_gflops(case.precision)
    return {
        "ms": max(memory, arithmetic),
        "by": "memory" if memory >= arithmetic else "arithmetic",
        "memory_ms": memory,
        "arithmetic_ms": arithmetic,
        "bytes": problem.bytes - saved,
    }


def as_json(rows: Sequence[Row]) -> list[Record]:
    return [row_json(row) for row in rows]


def peers_of(wanted: str) -> Callable[[str], Sequence[GpuPeer]]:
    """The peers of a precision: ``all``, the ``eager`` ones, which compile nothing, or ``none``."""
    if wanted == "none":
        return lambda precision: ()
    compiled = wanted == "all"
    return lambda precision: [
        peer for peer in gpu_peers(precision) if compiled or not peer.compiled
    ]


def record_of(bench: Bench, kept: Record) -> Record:
    """A record with where and with what it is made, and the rows of one that is there."""
    where = bench.device.description
    device = {**dataclasses.asdict(where), "libraries": gpu_libraries(where.kind)}
    return {
        "environment": plain({**dataclasses.asdict(environment()), "device": device}),
        "libraries": versions(_PACKAGES),
        "ceilings": plain(dataclasses.asdict(bench.roof)) if bench.roof else {},
        "rows": kept.get("rows", []),
        **{key: kept.get(key) for key in IMAGE_KEYS},
    }


def merged(rows: list[Record], row: Record) -> list[Record]:
    """The rows with a new one in place of the former of its key, in the order of the table."""
    order = [case.key for case in CASES]
    others = [one for one in rows if one["key"] != row["key"]]
    return sorted(
        [*others, row], key=lambda one: order.index(one["key"]) if one["key"] in order else 99
    )


def wanted_keys(only: Sequence[str]) -> list[str]:
    """The rows that ``--only`` names: whole keys, or their beginnings before ``@`` or ``:``."""
    keys = [*(case.key for case in CASES), *IMAGE_KEYS]
    for text in only:
        if not any(_named(key, text) for key in keys):
            raise SystemExit(f"--only {text}: no such row; there are {', '.join(keys)}")
    return [key for key in keys if not only or any(_named(key, text) for text in only)]


def _named(key: str, text: str) -> bool:
    return key == text or key.startswith((f"{text}@", f"{text}:"))


def path_for(device: GpuDevice) -> Path:
    """The record of this model of GPU."""
    name = device.description.name.lower().removeprefix("nvidia ")
    return RESULTS / f"{name.replace(' ', '-')}-table.json"


def measure(
    bench: Bench, keys: Sequence[str], path: Path, data: Path | None, cases: Sequence[Case] = CASES
) -> int:
    """Measure rows and write the record after each.  Returns how many went wrong."""
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    record, wrong = record_of(bench, kept), 0
    for key in keys:
        say(f"--- {key}")
        try:
            if key in IMAGE_KEYS:
                record[key] = _on_images(key, bench, record, data)
            else:
                row = bench.row(next(case for case in cases if case.key == key))
                record["rows"] = merged(record["rows"], row)
                print(table_rows.summary(row), flush=True)
        except Exception as error:
            # The others are worth having all the same.
            print(f"{key}: {type(error).__name__}: {error}", flush=True)
            wrong += 1
        path.write_text(json.dumps(plain(record), indent=1) + "\n", encoding="utf-8")
        _tidy()
    return wrong


def _on_images(key: str, bench: Bench, record: Record, data: Path | None) -> Record:
    images = load_images("test", data)
    if key == "accuracy":
        return table_images.accuracy(images, bench.name, say)
    rows = [row for row in record["rows"] if row["case"]["name"] == "lenet5"]
    fastest = table_rows.best_peer(
        next(
            (row for row in rows if row["case"]["precision"] == table_images.PRECISION),
            {"rows": []},
        )
    )
    streamed = Chain(architecture(table_images.MODEL).problems(table_images.STREAMED))
    peers = [p for p in bench.peers(table_images.PRECISION) if p.why_not(streamed) is None]
    name = fastest["strategy"] if fastest else ""
    chosen = next((peer for peer in peers if peer.name == name), peers[-1] if peers else None)
    return table_images.stream(images, bench.device, bench.roof, chosen, bench.quick, say)


def _tidy() -> None:
    """Give back what the row's graphs and libraries hold."""
    gc.collect()
    if importlib.util.find_spec("torch") is not None:
        import torch

        torch.cuda.empty_cache()


def say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--device", default="cuda", metavar="cuda[:N]")
    parser.add_argument("--only", nargs="+", default=[], metavar="ROW", help="these rows alone")
    parser.add_argument("--peers", choices=("all", "eager", "none"), default="all")
    parser.add_argument("--quick", action="store_true", help="of ours, what is picked alone")
    parser.add_argument("--limit", type=float, default=0.1, help="skip slower rungs, in seconds")
    parser.add_argument("--data", type=Path, metavar="DIR", help="where Fashion-MNIST is")
    parser.add_argument("--json", type=Path, help="the record, if not that of this GPU's name")
    parser.add_argument("--page", action="store_true", help="write the page too")
    options = parser.parse_args()
    keys, device = wanted_keys(options.only), open_gpu(options.device)
    with device.on():
        roof = gpu_ceilings(device, progress=say) if has_roof(device) else None
    bench = Bench(device, roof, peers_of(options.peers), options.quick, options.limit)
    path = options.json or path_for(device)
    wrong = measure(bench, keys, path, options.data)
    if options.page:
        table_page.write(path)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
