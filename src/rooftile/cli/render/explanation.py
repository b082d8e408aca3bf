"""The lines that `explain` prints of a strategy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rooftile.cli.render.output import milliseconds, percent, quantity
from rooftile.cli.render.records import titled
from rooftile.cli.render.sheet import Sheet

if TYPE_CHECKING:
    from rooftile.analysis.accesses import Accesses
    from rooftile.lab.show.explain import Explanation, KernelView, Measured
    from rooftile.lab.show.explain.counters import Counters
    from rooftile.lab.show.explain.machine_code import Loop
    from rooftile.lab.show.explain.processor import CpuExplanation
    from rooftile.lab.show.explain.profile import Comparison
    from rooftile.ops import Problem


def title(problem: Problem, shape: str, name: str, summary: str, picked: str) -> list[str]:
    """The problem with its least work, and the strategy that is explained."""
    batch = "" if problem.batch_size is None else f", batch {problem.batch_size}"
    intensity = problem.flops / problem.bytes
    return [
        f"{titled(problem, shape)}{batch}: {quantity(problem.flops, 'FLOP')}, "
        f"at least {quantity(problem.bytes, 'B')}, {intensity:.3g} FLOP a byte",
        f"{name}: {summary}" + (f" (picked: {picked})" if picked else ""),
    ]


def cpu_lines(found: CpuExplanation) -> list[str]:
    """The bounds of a CPU's strategy, and its measured time."""
    # The command line asks for help without NumPy.
    from rooftile.analysis.bounds import bytes_under_way
    from rooftile.lab.show.explain.perf import LINE_BYTES

    rates, bound = found.rates, found.bound
    units = f"{_several(found.units, 'unit')} of work over " if found.units is not None else ""
    lines = [
        f"launch: {units}{_several(found.threads, 'thread')}",
        f"roof: {rates.fma_gflops:.0f} GFLOP/s, {rates.bandwidth_gbps:.0f} GB/s, so "
        f"{bound.ridge:.3g} FLOP a byte are needed for the peak",
        f"floor: {milliseconds(found.floor_ms)} ms, set by {bound.limit}",
    ]
    lines += _loop_lines(found)
    for what, made in found.parts.items():
        lines.append(
            f"part: {what}: {quantity(made.loads, 'elements')} read, "
            f"{quantity(made.stores, 'elements')} written"
        )
        lines += work_lines(made)
    line_count = -(-found.problem.bytes // LINE_BYTES)
    lines.append(
        f"bursts: the compulsory bytes are {quantity(line_count, 'lines')} of {LINE_BYTES} bytes"
    )
    cache = found.cache_bytes
    holds = f"; the largest cache holds {quantity(cache, 'B')}" if cache is not None else ""
    for what, size in found.round_trips.items():
        lines.append(
            f"traffic: {what}: {quantity(size, 'B')}, written and read again: "
            f"{2 * size / found.problem.bytes:.3g} times the compulsory bytes{holds}"
        )
    if found.latency_ns is not None:
        needed = bytes_under_way(rates.bandwidth_gbps, found.latency_ns)
        lines.append(
            f"latency: memory answers after {found.latency_ns:.0f} ns, so {quantity(needed, 'B')} "
            f"must be in flight to keep it busy, {needed / rates.threads / LINE_BYTES:.2g} cache "
            "lines a thread"
        )
    lines += _counter_lines(found)
    return lines + _measured_lines(found.measured, found.bound_fraction, "floor")


def _counter_lines(found: CpuExplanation) -> list[str]:
    from rooftile.lab.show.explain.perf import LINE_BYTES

    counts = found.counts
    if counts is None:
        return [f"counters: not read: {found.not_counted}"]
    values, flops = counts.values, found.problem.flops
    lines = [f"counters: {quantity(values['cycles'], 'cycles')} a call"]
    if instructions := values.get("instructions"):
        lines[0] += (
            f", {quantity(instructions, 'instructions')}: {instructions / values['cycles']:.2g} a "
            f"cycle, {flops / instructions:.2g} FLOP each; a multiply-add of whole vectors has "
            f"{2 * found.vector_lanes}"
        )
    caches = [
        f"{quantity(LINE_BYTES * values[name], 'B')} of lines came to {level}"
        for name, level in (("l1_misses", "L1"), ("cache_misses", "the last level"))
        if name in values
    ]
    if caches:
        moved = sum(found.round_trips.values())
        between = f", {quantity(2 * moved, 'B')} lie between its parts" if moved else ""
        compulsory = f"; {quantity(found.problem.bytes, 'B')} are compulsory{between}"
        lines.append(f"  caches: {', '.join(caches)}{compulsory}")
    if (branches := values.get("branches")) and "branch_misses" in values:
        wrong = percent(values["branch_misses"] / branches)
        lines.append(f"  branches: {quantity(branches, '')}, {wrong} of them foretold wrongly")
    lines.append(
        f"  system: {counts.page_faults:.3g} page faults and {counts.switches:.3g} switches of "
        f"threads a call, over {counts.calls:,} calls"
    )
    return lines


def _loop_lines(found: CpuExplanation) -> list[str]:
    loop = found.loop
    if loop is None:
        return []
    done = loop.vector_operations + loop.scalar_operations
    calls = f", calls {', '.join(dict.fromkeys(loop.calls))}" if loop.calls else ""
    lines = [
        f"busiest loop: {loop.instructions} instructions a pass, {done} of them arithmetic, "
        f"{loop.loads} on memory, {loop.branches} branches within{calls}",
        _vector_line(found, loop),
        f"  registers: {loop.registers} of vectors named, {loop.spills} instructions on the stack",
    ]
    if loop.chains:
        chains = (
            f"  chains: {_several(loop.chains, 'register')} whose next value waits for the last"
        )
        if found.chains_needed is not None and found.step_ns is not None:
            rate = loop.chain_gflops(found.step_ns) or 0.0
            most = min(rate, found.rates.fma_gflops / found.rates.threads)
            chains += (
                f"; a step takes {found.step_ns:.2g} ns, so at most {most:.3g} GFLOP/s a thread; "
                f"{math.ceil(found.chains_needed)} chains of whole vectors keep it busy"
            )
        lines.append(chains)
    return lines


def _vector_line(found: CpuExplanation, loop: Loop) -> str:
    done = loop.vector_operations + loop.scalar_operations
    if not done:
        width = f"vectors of {loop.vector_bytes} bytes" if loop.vector_bytes else "single numbers"
        return f"  moves: {width}; nothing is calculated in floating point"
    reuse = (
        f"; each access to memory serves {loop.flops / loop.loads:.3g} FLOP" if loop.loads else ""
    )
    return (
        f"  vectors: {loop.vector_operations} of {done} on up to {loop.lanes} of the "
        f"{found.vector_lanes} float32 that a vector holds{reuse}"
    )


def gpu_lines(found: Explanation) -> list[str]:
    """The GPU that it is explained for, and the config."""
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


def kernel_lines(kernel: KernelView, multiprocessors: int | None) -> list[str]:
    """A kernel's launch, occupancy, divergence and traffic."""
    grid, held, made = kernel.grid, kernel.occupancy, kernel.accesses
    times = f"{kernel.launches} launches, the first " if kernel.launches > 1 else ""
    lines = [
        f"{kernel.name}: {times}{_sizes(grid.blocks)} blocks of {_sizes(grid.block)} threads: "
        f"{grid.block_count} blocks, {grid.threads} threads, {grid.warps()} warps"
    ]
    if multiprocessors is not None and kernel.working(multiprocessors) < multiprocessors:
        working = kernel.working(multiprocessors)
        lines.append(f"  works on {working} of {multiprocessors} multiprocessors")
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
        lines += _access_lines(made, kernel.divergent_share or 0.0)
    lines.append(
        f"  device memory: reads {quantity(kernel.read_bytes, 'B')}, writes "
        f"{quantity(kernel.written_bytes, 'B')}, if caches keep what blocks share"
    )
    return lines


def _access_lines(made: Accesses, diverging: float) -> list[str]:
    shared = f", {quantity(made.shared_reads, 'passes')} of shared memory"
    atomics = f", {quantity(made.atomics, 'atomics')}"
    lines = [
        f"  divergence: {made.divergent_warps} warps ({percent(diverging)}) at "
        "the guards of the result",
        f"  L1: {quantity(made.loads, 'elements')} loaded ({quantity(32 * made.load_sectors, 'B')} "
        f"in sectors), {quantity(made.stores, 'elements')} stored"
        + (atomics if made.atomics else "")
        + (shared if made.shared_reads else ""),
    ]
    if made.conflicts:
        ratio = 1 + made.conflicts / made.shared_reads
        lines.append(
            f"  banks: {quantity(made.conflicts, 'passes')} more where lanes meet in one: a read "
            f"takes {ratio:.2g} on average"
        )
    lines += work_lines(made)
    if made.turns:
        lines.append(
            f"  contention: one address takes {quantity(made.turns, 'atomics')} in turn if "
            f"elements fall evenly, {quantity(made.turns_if_equal, 'atomics')} if all are equal"
        )
    return lines


def work_lines(made: Accesses) -> list[str]:
    """Operations, and how many of them follow each other; nothing without counts."""
    if not made.operations:
        return []
    return [
        f"  work: {quantity(made.operations, 'operations')}; "
        f"{quantity(made.steps, 'steps')} follow each other"
    ]


def bound_lines(found: Explanation) -> list[str]:
    """The bounds of a GPU's strategy, and its measured time."""
    moved = found.moved_bytes / found.problem.bytes
    lines = [f"traffic: {moved:.3g} times the compulsory bytes of device memory"]
    if found.input_loads is not None and found.adds_per_load is not None:
        lines.append(
            f"reuse: L1 is asked for {found.input_loads:.3g} times the elements of inputs and "
            f"parameters; each serves {_uses(found, found.adds_per_load)}"
        )
    if found.uncached_ms is not None:
        lines.append(_uncached_line(found, found.uncached_ms))
    lines += _latency_lines(found)
    limits = ", ".join(f"{name} {milliseconds(ms)} ms" for name, ms in found.limits_ms.items())
    if found.bound_ms is not None:
        floor = f"; the problem's floor {milliseconds(found.floor_ms)} ms" if found.floor_ms else ""
        lines.append(f"limits: {limits}{floor}")
        lines.append(f"bound: {milliseconds(found.bound_ms)} ms, set by {found.bound_by}")
    return lines + _measured_lines(found.measured, found.bound_fraction, "bound")


def _uses(found: Explanation, adds: float) -> str:
    made = [kernel.accesses for kernel in found.kernels if kernel.accesses is not None]
    operations, loads = sum(one.operations for one in made), sum(one.loads for one in made)
    return f"{operations / loads:.3g} operations" if operations else f"{adds:.3g} multiply-adds"


def _uncached_line(found: Explanation, bound_ms: float) -> str:
    """The textbook's bound of such a tile without caches, and the rate that was reached."""
    flops, measured = found.problem.flops, found.measured
    reached = (
        f"; reached {quantity(1e3 * flops / measured.median_ms, 'FLOP/s')}" if measured else ""
    )
    return (
        f"the textbook's bound, every access to device memory: {milliseconds(bound_ms)} ms, "
        f"{quantity(1e3 * flops / bound_ms, 'FLOP/s')}{reached}"
    )


def _latency_lines(found: Explanation) -> list[str]:
    needed = found.target.bytes_under_way()
    if needed is None:
        return []
    each = [(kernel.name, found.bytes_a_thread(kernel)) for kernel in found.kernels]
    told = ", ".join(f"{count:.2g} B a thread of {name}" for name, count in each if count)
    return [
        f"latency: device memory answers after {found.target.latency_ns:.0f} ns, so "
        f"{quantity(needed, 'B')} must be in flight to keep it busy" + (f": {told}" if told else "")
    ]


def _measured_lines(measured: Measured | None, share: float | None, what: str) -> list[str]:
    if measured is None:
        return ["measured: no time of it is recorded (rooftile climb measures one)"]
    cold = f", cold {milliseconds(measured.cold_ms)}" if measured.cold_ms is not None else ""
    rest = "" if share is None else f": {_slowness(share, what)}"
    where = f"{measured.hardware}; {measured.source}"
    return [f"measured: {milliseconds(measured.median_ms)} ms{cold}{rest} ({where})"]


def _slowness(share: float, what: str) -> str:
    """A time compared with the least one, of which it is 1 / ``share`` times as long."""
    if share > 1:
        return f"{1 / share:.2f} times the {what}, so faster than it allows"
    return f"{1 / share:.3g} times the {what}, {percent(share)} of the speed that it allows"


def comparison_table(compared: list[Comparison]) -> Sheet:
    """Each kernel's predictions next to the counters."""
    numbers = ("predicted", "counted", "off")
    made = Sheet("kernel", "what", *numbers, numbers=numbers)
    for row in compared:
        predicted = "" if row.predicted is None else _amount(row.predicted, row.unit)
        off = "" if row.off is None else f"{100 * row.off:+.0f} %"
        made.add_row(row.kernel, row.what, predicted, _amount(row.counted, row.unit), off)
    return made


def _amount(value: float, unit: str) -> str:
    return quantity(value, unit) if unit else percent(value)


def stall_lines(counted: list[Counters]) -> list[str]:
    """A line for each kernel that says what keeps its schedulers waiting."""
    from rooftile.lab.show.explain.counters import ACHIEVED, BANK_CONFLICTS, ISSUE, LANES

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


def why_lines(compared: list[Comparison]) -> list[str]:
    """Why a prediction is off, where that is known."""
    return [f"{row.kernel}, {row.what}: {row.why}" for row in compared if row.why]


def _several(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _sizes(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes))
