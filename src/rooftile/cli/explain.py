"""Say why a strategy takes the time it takes.

It prints what an engineer works out on paper before writing a kernel: FLOPs, bytes, the
launch, occupancy, divergence, traffic and what bounds them.  Beside it stand the time that
was measured and what to try next.  A GPU's strategies are explained without a GPU too, for
a named architecture.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rooftile.cli._output import Output, milliseconds, percent, quantity, table

if TYPE_CHECKING:
    from rich.table import Table

    from rooftile.lab.explain import Explanation, KernelView, Measured
    from rooftile.lab.explain.counters import Counters
    from rooftile.lab.explain.processor import CpuExplanation
    from rooftile.lab.explain.profile import Comparison
    from rooftile.ops import Problem
    from rooftile.strategies import Strategy


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("operation", metavar="OP", help="conv2d, linear, ...")
    parser.add_argument(
        "--shape",
        default="",
        metavar="NAME|key=value,...",
        help="a named problem (lenet-conv1, lab-conv5, ...), or its sizes",
    )
    parser.add_argument("--batch", type=int, metavar="N", help="inputs at a time")
    parser.add_argument(
        "--strategy", metavar="NAME", help="the rung to explain (default: the one that is picked)"
    )
    parser.add_argument(
        "--config",
        type=_config,
        metavar="NAME=N,...",
        help="tunables (default: the measured time's, else the strategy's own)",
    )
    parser.add_argument(
        "--architecture",
        metavar="sm_NN",
        help="explain for this one's data sheet, whatever GPU there is (default sm_90 without one)",
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="the time in what climb --json printed (default: the history's newest)",
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="CUDA: read the counters by Nsight Compute and set them beside the prediction",
    )


def command(arguments: argparse.Namespace) -> int:
    """Explain one strategy."""
    from rooftile.devices.select import parse_device
    from rooftile.errors import InputError
    from rooftile.ops import parse

    kind, _ = parse_device(arguments.device)
    problem = parse(arguments.operation, arguments.shape, arguments.batch)
    if kind != "cuda" and arguments.profile:
        raise InputError("profile", kind, "device cuda: Nsight Compute reads its counters alone")
    if kind == "cpu" and (arguments.architecture or arguments.config):
        raise InputError("architecture, config", "given", "neither of them on the cpu")
    rung, picked = _rung(arguments, problem)
    output = Output(arguments)
    if kind == "cpu":
        return _processor(output, arguments, problem, rung, picked)
    return _gpu(output, arguments, problem, rung, picked)


def _rung(arguments: argparse.Namespace, problem: Problem) -> tuple[Strategy, str]:
    """The strategy, and why it was picked where none was named."""
    from rooftile.devices.select import parse_device
    from rooftile.runtime.choice import choose, explain_choice
    from rooftile.strategies import strategy

    kind, _ = parse_device(arguments.device)
    if arguments.strategy is not None:
        return strategy(problem.operation, arguments.strategy, kind), ""
    rung = choose(problem, device=arguments.device)
    considered = explain_choice(problem, device=arguments.device)
    return rung, next((c.reason for c in considered if c.taken), "")


def _processor(
    output: Output, arguments: argparse.Namespace, problem: Problem, rung: Strategy, picked: str
) -> int:
    from rooftile.lab.explain.processor import explain_cpu

    with output.working(f"explaining {rung.name}") as say:
        measured = _measured(arguments, problem, rung.name)
        found = explain_cpu(rung, problem, measured=measured, progress=say)
    output.result({**found.to_json(), "picked": picked})
    output.show(*_title(problem, arguments.shape, found.strategy, found.summary, picked))
    output.show(*_cpu_lines(found), "", *(f"next: {line}" for line in found.advice()))
    return 0


def _gpu(
    output: Output, arguments: argparse.Namespace, problem: Problem, rung: Strategy, picked: str
) -> int:
    from rooftile.lab.explain import explain
    from rooftile.lab.explain.advice import advice
    from rooftile.lab.explain.profile import compare
    from rooftile.lab.explain.target import find_target

    with output.working(f"explaining {rung.name}") as say:
        target = find_target(arguments.device, arguments.architecture)
        measured = _measured(arguments, problem, rung.name)
        found = explain(
            rung, problem, arguments.device, target, config=arguments.config, measured=measured
        )
        counted: list[Counters] = []
        if arguments.profile:
            say("reading the counters")
            counted = _counters(arguments, found)
    compared = compare(found, counted)
    said = advice(found)
    output.result(
        {
            **found.to_json(),
            "picked": picked,
            "advice": said,
            "counters": _counted_json(counted),
            "compared": [_compared_json(row) for row in compared],
        }
    )
    output.show(*_title(problem, arguments.shape, found.strategy, found.summary, picked))
    output.show(*_lines(found), "")
    for kernel in found.kernels:
        output.show(*_kernel_lines(kernel), "")
    output.show(*_bounds(found))
    if counted:
        output.show("", _comparison(compared), "", *_stalls(counted), *_whys(compared))
    if found.missing:
        output.show("", f"not told: {found.missing}")
    output.show("", *(f"next: {line}" for line in said))
    return 0


def _measured(arguments: argparse.Namespace, problem: Problem, name: str) -> Measured | None:
    from rooftile.lab.explain import latest, of_record

    if arguments.record is not None:
        return of_record(arguments.record, problem, name)
    return latest(problem, arguments.device, name)


def _counters(arguments: argparse.Namespace, found: Explanation) -> list[Counters]:
    from rooftile.lab.explain.profile import profile

    return profile(
        {
            "operation": arguments.operation,
            "shape": arguments.shape,
            "batch": found.problem.batch_size,
            "strategy": found.strategy,
            "device": arguments.device,
            "config": dict(found.config),
            "seed": arguments.seed,
        }
    )


def _config(text: str) -> dict[str, int]:
    try:
        return {name: int(value) for name, value in (item.split("=") for item in text.split(","))}
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=N,...") from None


def _title(problem: Problem, shape: str, name: str, summary: str, picked: str) -> list[str]:
    named = f" {shape}" if "=" not in shape else ""
    batch = "" if problem.batch_size is None else f", batch {problem.batch_size}"
    intensity = problem.flops / problem.bytes
    return [
        f"{problem.operation}{named}{batch}: {quantity(problem.flops, 'FLOP')}, "
        f"at least {quantity(problem.bytes, 'B')}, {intensity:.3g} FLOP a byte",
        f"{name}: {summary}" + (f" (picked: {picked})" if picked else ""),
    ]


def _cpu_lines(found: CpuExplanation) -> list[str]:
    rates, bound = found.rates, found.bound
    units = f"{found.units} units of work over " if found.units is not None else ""
    lines = [
        f"launch: {units}{found.threads} threads",
        f"roof: {rates.fma_gflops:.0f} GFLOP/s, {rates.bandwidth_gbps:.0f} GB/s, so "
        f"{bound.ridge:.3g} FLOP a byte are needed for the peak",
        f"floor: {milliseconds(found.floor_ms)} ms, set by {bound.limit}",
    ]
    return lines + _measured_lines(found.measured, found.bound_fraction, "floor")


def _lines(found: Explanation) -> list[str]:
    target = found.target
    rates = [
        f"{value:.0f} {unit}"
        for value, unit in (
            (target.multiprocessors, "multiprocessors"),
            (target.clock_mhz, "MHz"),
            (target.fma_gflops, "GFLOP/s"),
            (target.bandwidth_gb_s, "GB/s"),
        )
        if value is not None
    ]
    config = ", ".join(f"{name} {value}" for name, value in found.config.items())
    return [
        f"for: {target.name} ({target.source}): {', '.join(rates) or 'no rates known'}",
        f"config: {config or 'no tunables'}",
    ]


def _kernel_lines(kernel: KernelView) -> list[str]:
    grid, held, made = kernel.grid, kernel.occupancy, kernel.accesses
    times = f"{kernel.launches} launches, the first " if kernel.launches > 1 else ""
    lines = [
        f"{kernel.name}: {times}{_sizes(grid.blocks)} blocks of {_sizes(grid.block)} threads: "
        f"{grid.block_count} blocks, {grid.threads} threads, {grid.warps()} warps"
    ]
    if held is not None:
        spill = f", {kernel.spill_bytes} B of local memory" if kernel.spill_bytes else ""
        lines.append(
            f"  takes {kernel.registers} registers a thread and {kernel.shared_bytes} B of shared "
            f"memory a block{spill}"
        )
        fill = f"; {kernel.waves:.3g} times the device" if kernel.waves is not None else ""
        lines.append(
            f"  occupancy {percent(held.occupancy)}: {held.blocks} blocks, {held.warps} warps a "
            f"multiprocessor, bound by {' and '.join(held.binding)}{fill}"
        )
    if made is not None:
        share = made.divergent_warps / (grid.warps() * kernel.launches)
        lines.append(
            f"  divergence: {made.divergent_warps} warps ({percent(share)}) at the guards of the "
            "result"
        )
        loaded = (
            f"{quantity(made.loads, 'elements')} loaded ({quantity(32 * made.load_sectors, 'B')} "
        )
        lines.append(
            f"  L1: {loaded}in sectors), {quantity(made.stores, 'elements')} stored"
            + (f", {quantity(made.atomics, 'atomics')}" if made.atomics else "")
            + (
                f", {quantity(made.shared_reads, 'passes')} of shared memory"
                if made.shared_reads
                else ""
            )
        )
    lines.append(
        f"  device memory: reads {quantity(kernel.read_bytes, 'B')}, writes "
        f"{quantity(kernel.written_bytes, 'B')}, if caches keep what blocks share"
    )
    return lines


def _bounds(found: Explanation) -> list[str]:
    moved = found.moved_bytes / found.problem.bytes
    lines = [f"traffic: {moved:.3g} times the compulsory bytes of device memory"]
    if found.input_loads is not None and found.adds_per_load is not None:
        lines.append(
            f"reuse: L1 is asked for {found.input_loads:.3g} times the elements of inputs and "
            f"parameters; each serves {found.adds_per_load:.3g} multiply-adds"
        )
    limits = ", ".join(f"{name} {milliseconds(ms)} ms" for name, ms in found.limits_ms.items())
    if found.bound_ms is not None:
        floor = f"; the problem's floor {milliseconds(found.floor_ms)} ms" if found.floor_ms else ""
        lines.append(f"limits: {limits}{floor}")
        lines.append(f"bound: {milliseconds(found.bound_ms)} ms, set by {found.bound_by}")
    return lines + _measured_lines(found.measured, found.bound_fraction, "bound")


def _measured_lines(measured: Measured | None, share: float | None, what: str) -> list[str]:
    if measured is None:
        return ["measured: no time of it is recorded (rooftile climb measures one)"]
    cold = f", cold {milliseconds(measured.cold_ms)}" if measured.cold_ms is not None else ""
    rest = f": {percent(share)} of the {what}" if share is not None else ""
    where = f"{measured.hardware}; {measured.source}"
    return [f"measured: {milliseconds(measured.median_ms)} ms{cold}{rest} ({where})"]


def _comparison(compared: list[Comparison]) -> Table:
    numbers = ("predicted", "counted", "off")
    made = table("kernel", "what", *numbers, numbers=numbers)
    for row in compared:
        predicted = "" if row.predicted is None else _amount(row.predicted, row.unit)
        off = "" if row.off is None else f"{100 * row.off:+.0f} %"
        made.add_row(row.kernel, row.what, predicted, _amount(row.counted, row.unit), off)
    return made


def _amount(value: float, unit: str) -> str:
    return quantity(value, unit) if unit else percent(value)


def _stalls(counted: list[Counters]) -> list[str]:
    """A line for each kernel that says what keeps its schedulers waiting."""
    from rooftile.lab.explain.counters import ACHIEVED, BANK_CONFLICTS, ISSUE, LANES

    lines = []
    for found in counted:
        parts = [
            words.format(found.values[metric])
            for metric, words in (
                (ISSUE, "instructions in {:.0f} % of the cycles"),
                (LANES, "{:.1f} of 32 lanes"),
                (ACHIEVED, "{:.0f} % of the warps resident"),
                (BANK_CONFLICTS, "{:.3g} bank conflicts"),
            )
            if metric in found.values
        ]
        if found.stall is not None:
            parts.append(f"warps wait most for {found.stall[0]} ({found.stall[1]:.2g} cycles)")
        lines.append(f"{found.kernel}: {', '.join(parts)}")
    return lines


def _whys(compared: list[Comparison]) -> list[str]:
    return [f"{row.kernel}, {row.what}: {row.why}" for row in compared if row.why]


def _sizes(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes))


def _counted_json(counted: list[Counters]) -> list[dict[str, Any]]:
    import dataclasses

    found: list[dict[str, Any]] = json.loads(json.dumps([dataclasses.asdict(c) for c in counted]))
    return found


def _compared_json(row: Comparison) -> dict[str, Any]:
    import dataclasses

    return {**dataclasses.asdict(row), "off": row.off, "why": row.why}
