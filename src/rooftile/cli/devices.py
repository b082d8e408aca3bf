"""Show what was found to compute on, its measured ceilings, and what is missing."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from rooftile.cli._output import Output, table

if TYPE_CHECKING:
    from rooftile.lab.ceilings import Ceilings
    from rooftile.lab.environment import Environment

_EXTRAS = {
    "cuda": (("cuda.core", "NVIDIA's Python package cuda-core"), "/dev/nvidiactl"),
    "opencl": (("pyopencl", "the Python package pyopencl"), None),
}
"""For each kind of device but the CPU: the module that it needs, and a file that shows that the
system has a driver."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("--refresh", action="store_true", help="measure the ceilings again")


def command(arguments: argparse.Namespace) -> int:
    """Print the devices; measures the ceilings where they are not known yet."""
    import dataclasses

    from rooftile.dispatch import check_device
    from rooftile.lab.ceilings import ceilings
    from rooftile.lab.environment import environment
    from rooftile.lab.records import plain

    check_device(arguments.device)
    output = Output(arguments)
    with output.working("looking for the ceilings") as say:
        roof = ceilings(refresh=arguments.refresh, progress=say)
    found = environment()
    others = [_other(kind) for kind in _EXTRAS]
    cpu = {"kind": "cpu", "name": found.cpu, "available": True, "reason": "", "install": ""}
    output.result(
        {
            "devices": [cpu, *others],
            "ceilings": plain(dataclasses.asdict(roof)),
            "environment": plain(dataclasses.asdict(found)),
        }
    )
    _show(output, found, roof)
    for other in others:
        output.show(f"{other['kind']}: {other['reason']}")
        if other["install"]:
            output.show(f"  to install: {other['install']}")
    return 0


def _other(kind: str) -> dict[str, Any]:
    """What is known of a kind of device that this version does not compute on yet."""
    import importlib.util
    import os

    (module, package), driver = _EXTRAS[kind]
    # Asking for a submodule imports its package, so the package is asked for first.
    parts = [module.rpartition(".")[0], module]
    installed = all(importlib.util.find_spec(part) for part in parts if part)
    reasons = ["not used by this version, whose device is the cpu"]
    if driver is not None and not os.path.exists(driver):
        reasons.append("no driver was found")
    if not installed:
        reasons.append(f"{package} is missing")
    install = f'pip install "rooftile[{kind}]"'
    return {
        "kind": kind, "name": None, "available": False, "reason": "; ".join(reasons),
        "install": "" if installed else install,
    }  # fmt: skip


def _show(output: Output, found: Environment, roof: Ceilings) -> None:
    output.show(
        f"cpu: {found.cpu}",
        f"  {found.cores} threads, {found.vector_lanes} float32 lanes, {found.memory_gib} GiB, "
        f"{found.system}",
        f"  Python {found.python}, NumPy {found.numpy}, Numba {found.numba}, {found.blas}",
        "",
    )
    names = ("cores", "FMA GFLOP/s", "read GB/s", "copy GB/s", "streaming GB/s")
    made = table(*names, numbers=names)
    for rates in (roof.one_core, roof.all_cores):
        numbers = (rates.fma_gflops, rates.read_gbps, rates.copy_gbps, rates.stream_copy_gbps)
        made.add_row(str(rates.threads), *(f"{number:.1f}" for number in numbers))
    output.show(made)
    if not roof.undisturbed:
        output.show("(measured while other programs ran; --refresh measures again)")
    output.show("")
