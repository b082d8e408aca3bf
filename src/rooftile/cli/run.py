"""Load a network and images, classify them, and say how fast and how right.

The time of an operation is its median by itself, for one batch; the total is the
median of the whole plan, which may chain operations, for the same batch.  Resizing
the images is not part of either.  On a GPU, operations are timed on its memory by its
own clock, and the total has the copies there and back.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rooftile.cli import _stream
from rooftile.cli._network import environment_of, loaded, peak_memory, percent_of
from rooftile.cli._options import add_precision, positive
from rooftile.cli._output import Output, Say, milliseconds
from rooftile.cli._records import warn_if_busy
from rooftile.cli._tables import Sheet

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rooftile.lab.records import Row
    from rooftile.nn import Plan
    from rooftile.nn.data import ImageSet
    from rooftile.ops import Float32

_BATCH = 256
_SHOWN = 8
"""How many predictions are printed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("model", metavar="MODEL", help="lenet5, mnist8, or a safetensors file")
    parser.add_argument("--data", type=Path, metavar="DIR", help="where the image files are")
    parser.add_argument(
        "--download",
        action="store_true",
        help="fetch the whole test set if it is not found (else: the sample of 1,000)",
    )
    parser.add_argument("--limit", type=positive, metavar="N", help="only the first N images")
    parser.add_argument(
        "--batch",
        type=positive,
        metavar="N",
        help="images at a time (default 256; with --stream at most: all)",
    )
    add_precision(
        parser, "fast admits transforms that lose about one decimal digit (default ieee)", "ieee"
    )
    parser.add_argument(
        "--weights", type=Path, metavar="FILE", help="other weights for a built-in model"
    )
    parser.add_argument("--peers", action="store_true", help="time other installed libraries too")
    parser.add_argument(
        "--stream",
        nargs="?",
        const=True,
        choices=("uint8", "float32"),
        help="time images of this dtype (default uint8, or float32 where the network does not say "
        "how pixels become numbers) from page-locked host memory to labels, copies beside "
        "computation (CUDA)",
    )
    parser.add_argument(
        "--segments",
        metavar="N|sweep",
        help="of a stream: how many, or a range of numbers (default: the fastest of some around "
        "what a measured model says)",
    )


def command(arguments: argparse.Namespace) -> int:
    """Classify, time, print.  Exit code 0."""
    from rooftile.lab.networks.layers import device_time, profile
    from rooftile.nn.gpu_plan import GpuPlan
    from rooftile.runtime.timing.host import measure

    _check_peers(arguments)
    if arguments.stream or arguments.segments:
        return _stream.command(arguments)
    output = Output(arguments)
    with output.working(f"loading {arguments.model}") as say:
        network, images = loaded(arguments, say)
        say(f"compiling {network.name}")
        plan = network.plan(
            batch=arguments.batch or _BATCH, precision=arguments.precision, device=arguments.device
        )
        say(f"classifying {len(images)} images")
        labels = _classify(plan, images)
        say("timing")
        x = network.prepare(images.images[: plan.batch])
        each = profile(plan, x)
        layers = {name: timing.median for name, timing in each.items()}
        whole = measure(lambda: plan(x))
        total = whole.median
        on_device = device_time(plan, x).median if isinstance(plan, GpuPlan) else None
        peak = peak_memory()
        found = _peers(plan, x, say) if arguments.peers else ()
    result = _result(plan, images, labels, layers, total, peak)
    ours = next((row for row in found if row.kind == "strategy"), None)
    if on_device is not None:
        result["device_ms"] = ours.time_ms.median if ours and ours.time_ms else on_device
    if arguments.peers:
        from rooftile.lab.records import row_json

        result["peers"] = [row_json(row) for row in found if row.kind == "peer"]
        result |= {"plan": row_json(ours)} if ours else {}
    output.result(result)
    _show(output, result, _named(labels, images), len(x))
    _show_peers(output, found, result.get("device_ms", total), len(x))
    others = {row.strategy: row.time_ms for row in found}
    warn_if_busy(output, {**each, "the whole network": whole, **others})
    return 1 if ours and ours.status != "passed" else 0


def _check_peers(arguments: argparse.Namespace) -> None:
    from rooftile.devices.select import parse_device
    from rooftile.errors import InputError

    if arguments.peers and parse_device(arguments.device)[0] == "opencl":
        raise InputError("--peers", f"--device {arguments.device}", "the CPU or CUDA")


def _classify(plan: Plan, images: ImageSet) -> NDArray[np.int64]:
    """Each image's class; images are resized a batch at a time, so memory follows the batch."""
    import numpy as np

    prepare = plan.network.prepare
    starts = range(0, len(images), plan.batch)
    parts = (images.images[first : first + plan.batch] for first in starts)
    return np.concatenate([plan(prepare(part)).argmax(axis=1) for part in parts])


def _peers(plan: Plan, x: Float32, say: Say) -> tuple[Row, ...]:
    """The other libraries on the same batch and weights; on a GPU first the plan itself, as it was
    timed in turns with them."""
    from rooftile.devices.select import open_device
    from rooftile.lab.ceilings.known import known_roof
    from rooftile.lab.climb import judge_peers
    from rooftile.lab.judge.networks import NetworkContest
    from rooftile.lab.peers.gpu import gpu_peers
    from rooftile.nn.gpu_plan import GpuPlan

    device = open_device(plan.device)
    with device.on():
        known = known_roof(device, say)
        contest = NetworkContest(
            plan.network, len(x), device, known.roof, report=say, images=x, trusted=known.trusted
        )
    if isinstance(plan, GpuPlan):
        return contest.contest(plan, gpu_peers(plan.precision))
    return judge_peers(contest)


def _result(
    plan: Plan,
    images: ImageSet,
    labels: NDArray[np.int64],
    layers: dict[str, float],
    total: float,
    peak: float,
) -> dict[str, Any]:
    """The JSON object."""
    batch = min(plan.batch, len(images))
    return {
        "model": plan.network.name,
        "device": plan.device,
        "precision": plan.precision,
        "batch": plan.batch,
        "images": len(images),
        "accuracy": float((labels == images.labels).mean()),
        "op_times_ms": layers,
        "total_ms": total,
        "images_per_s": 1e3 * batch / total,
        "strategies": plan.strategies,
        "environment": environment_of(plan, images, peak),
    }


def _named(labels: NDArray[np.int64], images: ImageSet) -> str:
    """The first predictions by class name; a wrong one with what it should have been."""
    pairs = zip(labels[:_SHOWN], images.labels[:_SHOWN], strict=True)
    return ", ".join(
        images.name(said) if said == true else f"{images.name(said)} (wrong: {images.name(true)})"
        for said, true in pairs
    )


def _show(output: Output, result: dict[str, Any], predictions: str, batch: int) -> None:
    where = result["environment"]
    gpu = where.get("device")
    name = f"{result['device']} ({gpu['name']})" if gpu else "the cpu"
    output.show(
        f"{result['model']} on {name}, precision {result['precision']}",
        f"data: {where['data']}",
        "",
    )
    made = Sheet(
        "operation", "strategy", f"ms for {batch} images", numbers=[f"ms for {batch} images"]
    )
    for name, median in result["op_times_ms"].items():
        made.add_row(name, result["strategies"][name], milliseconds(median))
    if gpu:
        made.add_row("whole network", "", milliseconds(result["device_ms"]))
    whole = "with copies to and from it" if gpu else "whole network"
    made.add_row(whole, "", milliseconds(result["total_ms"]))
    output.show(
        made,
        "",
        f"{result['images_per_s']:,.0f} images/s" + ("" if gpu else f" on {where['cores']} cores"),
        f"accuracy {percent_of(result['accuracy'])} of {result['images']:,} images",
        f"first predictions: {predictions}",
        f"peak memory {where['peak_memory_mib']:.0f} MiB",
    )


def _show_peers(output: Output, rows: tuple[Row, ...], own: float, batch: int) -> None:
    """The peers' times beside our own."""
    if not rows:
        return
    numbers = ("ms", "images/s", "error", "our speed")
    made = Sheet("peer", "prec", *numbers, numbers=numbers)
    for row in rows:
        if row.time_ms is not None and row.error is not None:
            median = row.time_ms.median
            made.add_row(
                row.strategy if row.kind == "peer" else "(ours)",
                row.precision,
                milliseconds(median),
                f"{1e3 * batch / median:,.0f}",
                f"{row.error.budget_fraction:.2g}",
                f"{median / own:.2f} x" if row.kind == "peer" else "",
            )
    notes = ["error: the worst, over its budget at that precision"]
    if any(row.kind == "strategy" for row in rows):
        notes.append("all by the device's clock, in turns, without copies to and from it")
    if any(row.kind == "peer" and row.precision in ("fp16", "bf16") for row in rows):
        notes.append("peers are given images and give scores in 16 bits, ours are float32")
    said: dict[str, list[str]] = {}
    for row in rows:
        if row.reason:
            said.setdefault(f"{row.status}, {row.reason}", []).append(row.strategy)
    output.show("", made, *notes, *(f"{', '.join(names)}: {what}" for what, names in said.items()))
