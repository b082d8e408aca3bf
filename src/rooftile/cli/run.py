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

from rooftile.cli._output import Output, Say, milliseconds, table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rooftile.lab.records import Row
    from rooftile.nn import Network, Plan
    from rooftile.nn.data import ImageSet
    from rooftile.nn.gpu_plan import GpuPlan
    from rooftile.ops import Float32

_BATCH = 256
_SHOWN = 8
"""How many predictions are printed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("model", metavar="MODEL", help="lenet5, mnist8, or a safetensors file")
    parser.add_argument("--data", type=Path, metavar="DIR", help="where the image files are")
    parser.add_argument(
        "--download", action="store_true",
        help="fetch the whole test set if it is not found (else: the sample of 1,000)",
    )  # fmt: skip
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N images")
    parser.add_argument(
        "--batch", type=int, metavar="N",
        help="images at a time (default 256; with --stream at most: all)",
    )  # fmt: skip
    parser.add_argument(
        "--precision", default="ieee", metavar="ieee|fast|tf32|fp16|bf16",
        help="fast admits transforms that lose about one decimal digit (default ieee)",
    )  # fmt: skip
    parser.add_argument(
        "--weights", type=Path, metavar="FILE", help="other weights for a built-in model"
    )
    parser.add_argument("--peers", action="store_true", help="time other installed libraries too")
    parser.add_argument(
        "--stream", nargs="?", const="uint8", choices=("uint8", "float32"),
        help="time images of this dtype (default uint8) from page-locked host memory to labels, "
        "copies beside computation (CUDA)",
    )  # fmt: skip
    parser.add_argument(
        "--segments",
        metavar="N|sweep",
        help="of a stream: how many, or a range of numbers (default: the fastest of some around "
        "what a measured model says)",
    )


def command(arguments: argparse.Namespace) -> int:
    """Classify, time, print.  Exit code 0."""
    from rooftile.lab.measure import measure
    from rooftile.nn.data import prepare
    from rooftile.nn.gpu_plan import GpuPlan

    _check_peers(arguments)
    if arguments.stream or arguments.segments:
        from rooftile.cli import _stream

        return _stream.command(arguments)
    output = Output(arguments)
    with output.working(f"loading {arguments.model}") as say:
        network, images = loaded(arguments, say)
        say(f"compiling {network.name}")
        plan = network.plan(
            batch=arguments.batch or _BATCH, precision=arguments.precision, device=arguments.device
        )
        size = network.input_shape[1]
        say(f"classifying {len(images)} images")
        labels = _classify(plan, images, size)
        say("timing")
        x = prepare(images.images[: plan.batch], size)
        profile = {name: timing.median for name, timing in plan.profile(x).items()}
        total = measure(lambda: plan(x)).median
        on_device = plan.device_time(x).median if isinstance(plan, GpuPlan) else None
        peak = peak_memory()
        found = _peers(plan, x, say) if arguments.peers else ()
    result = _result(plan, images, labels, profile, total, peak)
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
    return 1 if ours and ours.status != "passed" else 0


def _check_peers(arguments: argparse.Namespace) -> None:
    from rooftile.devices.select import parse_device
    from rooftile.errors import InputError

    if arguments.peers and parse_device(arguments.device)[0] == "opencl":
        raise InputError("--peers", f"--device {arguments.device}", "the CPU or CUDA")


def loaded(arguments: argparse.Namespace, say: Say) -> tuple[Network, ImageSet]:
    """The network and the test images that the arguments name."""
    from rooftile.nn.data import load_images

    network = load_network(arguments.model, arguments.weights)
    report = download_report(say)
    images = load_images("test", arguments.data, arguments.limit, arguments.download, report)
    return network, images


def load_network(model: str, weights: Path | None) -> Network:
    """A built-in network or a file's; with ``weights`` a built-in one with other weights."""
    from rooftile import nn

    return nn.load(model) if weights is None else nn.architecture(model).load(weights)


def download_report(say: Say) -> Any:
    """A report of a download that says each whole tenth of a file once."""
    said: dict[str, int] = {}

    def report(file: str, done: int, total: int | None) -> None:
        tenth = 10 * done // total if total else done // 2**20
        if said.get(file) != tenth:
            said[file] = tenth
            of = f" of {total / 1e6:.1f}" if total else ""
            say(f"downloading {file}: {done / 1e6:.1f}{of} MB")

    return report


def _classify(plan: Plan, images: ImageSet, size: int) -> NDArray[np.int64]:
    """Each image's class; images are resized a batch at a time, so memory follows the batch."""
    import numpy as np

    from rooftile.nn.data import prepare

    starts = range(0, len(images), plan.batch)
    parts = (images.images[first : first + plan.batch] for first in starts)
    return np.concatenate([plan(prepare(part, size)).argmax(axis=1) for part in parts])


def peak_memory() -> float:
    """Largest resident memory of this process so far, in MiB."""
    import resource
    import sys

    kilobytes = 1 if sys.platform != "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 * kilobytes)


def _peers(plan: Plan, x: Float32, say: Say) -> tuple[Row, ...]:
    """The other libraries on the same batch and weights; on a GPU first the plan itself, as it was
    timed in turns with them."""
    from rooftile.nn.gpu_plan import GpuPlan

    return _gpu_rows(plan, x, say) if isinstance(plan, GpuPlan) else _cpu_peers(plan, x, say)


def _gpu_rows(plan: GpuPlan, x: Float32, say: Say) -> tuple[Row, ...]:
    from rooftile.devices.select import open_gpu
    from rooftile.lab.ceilings_gpu import gpu_ceilings
    from rooftile.lab.climb_gpu import has_roof
    from rooftile.lab.peers_gpu import gpu_peers
    from rooftile.nn.gpu_contest import GpuContest

    device = open_gpu(plan.device)
    with device.on():
        roof = gpu_ceilings(device, progress=say) if has_roof(device) else None
    contest = GpuContest(plan.network, len(x), device, roof, report=say, images=x)
    return contest.rows(plan, gpu_peers(plan.precision))


def _cpu_peers(plan: Plan, x: Float32, say: Say) -> tuple[Row, ...]:
    from rooftile.lab.ceilings import ceilings
    from rooftile.lab.climb import judge_peers
    from rooftile.lab.verify import Exam
    from rooftile.ops.chain import Chain

    network, rates = plan.network, ceilings(progress=say).all_cores
    arrays = (x, *(network.parameters[key] for key in network.parameter_shapes))
    exam = Exam(Chain(network.problems(len(x))), arrays=arrays)
    return judge_peers(exam, rates, say)


def _result(
    plan: Plan, images: ImageSet, labels: NDArray[np.int64], profile: dict[str, float],
    total: float, peak: float,
) -> dict[str, Any]:  # fmt: skip
    """The JSON object."""
    batch = min(plan.batch, len(images))
    return {
        "model": plan.network.name,
        "device": plan.device,
        "precision": plan.precision,
        "batch": plan.batch,
        "images": len(images),
        "accuracy": float((labels == images.labels).mean()),
        "op_times_ms": profile,
        "total_ms": total,
        "images_per_s": 1e3 * batch / total,
        "strategies": plan.strategies,
        "environment": environment_of(plan, images, peak),
    }


def environment_of(plan: Plan, images: ImageSet, peak: float) -> dict[str, Any]:
    """Where it ran, on which images, with how much memory."""
    import dataclasses

    from rooftile.lab.environment import environment, gpu_libraries
    from rooftile.lab.records import plain
    from rooftile.nn.gpu_plan import GpuPlan

    found = dataclasses.asdict(environment())
    if isinstance(plan, GpuPlan):
        gpu = plan.description
        found["device"] = {**dataclasses.asdict(gpu), "libraries": gpu_libraries(gpu.kind)}
    made: dict[str, Any] = plain(
        {**found, "data": images.source, "peak_memory_mib": round(peak, 1)}
    )
    return made


def _named(labels: NDArray[np.int64], images: ImageSet) -> str:
    """The first predictions by class name; a wrong one with what it should have been."""
    from rooftile.nn.data import CLASSES

    pairs = zip(labels[:_SHOWN], images.labels[:_SHOWN], strict=True)
    return ", ".join(
        CLASSES[said] if said == true else f"{CLASSES[said]} (wrong: {CLASSES[true]})"
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
    made = table(
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


def percent_of(accuracy: float) -> str:
    """An accuracy with two decimals: one of 10,000 images counts."""
    return f"{100 * accuracy:.2f} %"


def _show_peers(output: Output, rows: tuple[Row, ...], own: float, batch: int) -> None:
    """The peers' times beside our own."""
    if not rows:
        return
    numbers = ("ms", "images/s", "error", "our speed")
    made = table("peer", "prec", *numbers, numbers=numbers)
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
