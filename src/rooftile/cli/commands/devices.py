"""Show what was found to compute on, its measured ceilings, and what is missing."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from rooftile.cli.render.output import Output
from rooftile.cli.render.sheet import Sheet

if TYPE_CHECKING:
    from collections.abc import Callable

    from rooftile.devices.gpu import Description
    from rooftile.errors import DeviceMissing
    from rooftile.lab.measure.ceilings.cpu import Ceilings
    from rooftile.lab.measure.ceilings.gpu import GpuCeilings
    from rooftile.lab.measure.ceilings.microbenchmarks import Microbenchmarks
    from rooftile.lab.measure.environment import Environment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument(
        "--measure",
        action="store_true",
        help="measure the ceilings of GPUs too, and latencies, once for each device",
    )
    parser.add_argument("--refresh", action="store_true", help="measure what is kept again")


def command(arguments: argparse.Namespace) -> int:
    """Print the devices. The CPU's ceilings are measured where they are not known yet, GPUs' where
    the arguments say so."""
    import dataclasses

    from rooftile.devices.cpu import why_not_compiled
    from rooftile.devices.select import open_gpu
    from rooftile.lab.measure.ceilings.cpu import ceilings
    from rooftile.lab.measure.environment import environment
    from rooftile.lab.measure.records import plain

    if arguments.device != "cpu":
        open_gpu(arguments.device)  # A device that is named and missing is an error.
    output = Output(arguments)
    with output.working("looking for the ceilings") as say:
        roof = ceilings(refresh=arguments.refresh, progress=say)
        gpus = [gpu for kind in ("cuda", "opencl") for gpu in gpus_of(kind)]
        roofs = [_roof(gpu, arguments, say) for gpu in gpus]
        memories = [_memories(gpu, arguments, say) for gpu in (None, *gpus)]
    found = environment()
    slower = why_not_compiled()
    cpu = {"kind": "cpu", "name": found.cpu, "available": True, "reason": "", "install": ""}
    cpu |= {"compiled_calls": slower is None, "compiled_calls_reason": slower or ""}
    shown = [
        {**(gpu if isinstance(gpu, dict) else _available(gpu)), "ceilings": _record(gpu_roof)}
        for gpu, gpu_roof in zip(gpus, roofs, strict=True)
    ]
    told = [
        {**device, "microbenchmarks": _record(one)}
        for device, one in zip((cpu, *shown), memories, strict=True)
    ]
    output.result(
        {
            "devices": plain(told),
            "ceilings": plain(dataclasses.asdict(roof)),
            "environment": plain(dataclasses.asdict(found)),
        }
    )
    _show(output, found, roof, slower)
    output.show(*memory_lines(memories[0]), "")
    for gpu, gpu_roof, one in zip(gpus, roofs, memories[1:], strict=True):
        lines = _missing_lines(gpu) if isinstance(gpu, dict) else lines_of(gpu)
        output.show(*lines, *(ceiling_lines(gpu_roof) if gpu_roof else []), *memory_lines(one))
    if any(not isinstance(gpu, dict) for gpu in gpus) and not all(roofs):
        output.show("(--measure measures the ceilings of GPUs, and latencies)")
    return 0


def _roof(
    gpu: Description | dict[str, Any], arguments: argparse.Namespace, say: Callable[[str], None]
) -> GpuCeilings | None:
    """A device's ceilings: measured now if that is asked for, else as they were kept."""
    from rooftile.devices.ceilings import gpu_file
    from rooftile.devices.select import open_gpu
    from rooftile.lab.measure.ceilings.gpu import gpu_ceilings, read_ceilings

    if isinstance(gpu, dict):
        return None
    if not arguments.measure:
        return read_ceilings(gpu_file(gpu))
    device = open_gpu(f"{gpu.kind}:{gpu.index}")
    with device.on():
        return gpu_ceilings(device, refresh=arguments.refresh, progress=say)


def _memories(
    gpu: Description | dict[str, Any] | None,
    arguments: argparse.Namespace,
    say: Callable[[str], None],
) -> Microbenchmarks | None:
    """A device's latencies, the CPU's for None: measured now if that is asked for, else as kept."""
    from rooftile.devices.select import open_gpu
    from rooftile.lab.measure.ceilings import cpu_latencies, gpu_latencies

    if isinstance(gpu, dict):
        return None
    if not arguments.measure:
        if gpu is None:
            return cpu_latencies.known_cpu_microbenchmarks()
        return gpu_latencies.known_gpu_microbenchmarks(gpu)
    if gpu is None:
        return cpu_latencies.cpu_microbenchmarks(refresh=arguments.refresh, progress=say)
    device = open_gpu(f"{gpu.kind}:{gpu.index}")
    with device.on():
        return gpu_latencies.gpu_microbenchmarks(device, refresh=arguments.refresh, progress=say)


def _record(measured: GpuCeilings | Microbenchmarks | None) -> dict[str, Any] | None:
    import dataclasses

    return dataclasses.asdict(measured) if measured else None


def memory_lines(found: Microbenchmarks | None) -> list[Any]:
    """The latencies as a table, and the rates of strided reads; nothing where none are known."""
    if found is None:
        return []
    numbers = ("footprint", "ns", "cycles")
    made = Sheet("latency of", *numbers, numbers=numbers)
    for one in found.latencies:
        cycles = "-" if one.cycles is None else f"{one.cycles:.0f}"
        footprint = _size(one.footprint_bytes) if one.footprint_bytes else "-"
        made.add_row(one.level, footprint, f"{one.ns:.3g}", cycles)
    rates = (f"{one.stride} {one.gbps:.4g}" for one in found.strided_reads)
    reads = f"read by stride of 4 bytes, over {_size(found.strided_bytes)}, GB/s that are used: "
    return [made, reads, f"  {', '.join(rates)}"]


def ceiling_lines(roof: GpuCeilings) -> list[str]:
    """The measured ceilings, in the units people compare."""
    matrix = {
        "mma.sync": roof.mma_gflops,
        "wgmma": roof.wgmma_gflops,
        "wgmma of zeros": roof.wgmma_zeros_gflops,
    }
    rates = [
        f"  {name}, TFLOP/s: {', '.join(f'{p} {rate / 1000:.0f}' for p, rate in found.items())}"
        for name, found in matrix.items()
        if found
    ]
    pinned = ""
    if roof.to_device_pinned_gbps and roof.from_device_pinned_gbps:
        pinned = f", pinned {roof.to_device_pinned_gbps:.1f} / {roof.from_device_pinned_gbps:.1f}"
    return [
        f"  measured: read {roof.read_gbps:.0f}, copy {roof.copy_gbps:.0f} GB/s; "
        f"float32 FMA {roof.fma_gflops:.0f} GFLOP/s",
        *rates,
        f"  to / from the device {roof.to_device_gbps:.1f} / {roof.from_device_gbps:.1f}"
        f"{pinned} GB/s",
        f"  an empty launch {roof.launch_us:.1f} us, {roof.replay_us:.1f} us in a replay",
    ]


def gpus_of(kind: str) -> list[Description | dict[str, Any]]:
    """Each device of a kind; one that is missing, or does not open, as its JSON object."""
    from rooftile.devices import opencl
    from rooftile.devices.select import count_gpus, describe_gpu
    from rooftile.errors import DeviceMissing

    found: list[Description | dict[str, Any]] = []
    try:
        count = count_gpus(kind)
    except DeviceMissing as error:
        return [_missing(kind, error)]
    for index in range(count):
        try:
            found.append(describe_gpu(kind, index))
        except DeviceMissing as error:
            found.append(_missing(kind, error))
    if kind == "opencl":
        found += [_missing(kind, error) for error in opencl.passed_over()]
    return found


def _missing(kind: str, error: DeviceMissing) -> dict[str, Any]:
    return {
        "kind": kind,
        "name": None,
        "available": False,
        "reason": f"not found: {error.looked_for}",
        "install": error.install,
    }


def _available(gpu: Description) -> dict[str, Any]:
    import dataclasses

    return {**dataclasses.asdict(gpu), "available": True, "reason": "", "install": ""}


def _missing_lines(gpu: dict[str, Any]) -> list[str]:
    return [f"{gpu['kind']}: {gpu['reason']}", f"  to install: {gpu['install']}"]


def lines_of(gpu: Description) -> list[str]:
    """Name; units, memory, cache and warp; limits; driver.  What is not told is left out."""
    cache = f", {_size(gpu.cache_bytes)} cache" if gpu.cache_bytes else ""
    warp = f", warp of {gpu.warp}" if gpu.warp else ""
    clock = f", {gpu.clock_mhz} MHz" if gpu.clock_mhz else ""
    other = "" if gpu.gpu else " (not a GPU)"
    lines = [
        f"{gpu.kind}:{gpu.index}: {gpu.name}{other}",
        f"  {gpu.units} units, {_size(gpu.memory_bytes)} memory{cache}{warp}{clock}",
        f"  a block: at most {gpu.threads_per_block} threads, "
        f"{_size(gpu.shared_bytes_per_block)} shared memory; constants {_size(gpu.constant_bytes)}",
    ]
    unit = [
        f"{gpu.threads_per_unit} threads" if gpu.threads_per_unit else "",
        f"{_size(gpu.shared_bytes_per_unit)} shared memory" if gpu.shared_bytes_per_unit else "",
        f"{gpu.registers_per_unit} registers" if gpu.registers_per_unit else "",
    ]
    if any(unit):
        lines.append(f"  a unit: at most {', '.join(filter(None, unit))}")
    return [*lines, f"  {gpu.driver}, {gpu.architecture}"]


def _size(count: int) -> str:
    """Bytes in the largest binary unit that leaves at least one."""
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= factor:
            return f"{count / factor:.4g} {unit}"
    return f"{count} B"


def _show(output: Output, found: Environment, roof: Ceilings, slower: str | None) -> None:
    output.show(
        f"cpu: {found.cpu}",
        f"  {found.cores} threads, {found.vector_lanes} float32 lanes, {found.memory_gib} GiB, "
        f"{found.system}",
        f"  Python {found.python}, NumPy {found.numpy}, llvmlite {found.llvmlite}, {found.blas}",
        *(["  small calls take some microseconds longer:", f"  {slower}"] if slower else []),
        "",
    )
    names = ("cores", "FMA GFLOP/s", "read GB/s", "copy GB/s", "streaming GB/s")
    made = Sheet(*names, numbers=names)
    for rates in (roof.one_core, roof.all_cores):
        numbers = (rates.fma_gflops, rates.read_gbps, rates.copy_gbps, rates.stream_copy_gbps)
        made.add_row(str(rates.threads), *(f"{number:.1f}" for number in numbers))
    output.show(made)
    if not roof.undisturbed:
        output.show("(measured while other programs ran; --refresh measures again)")
    output.show("")
