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

from rooftile.cli._options import add_precision, add_table_arguments, positive
from rooftile.cli.commands import _run_stream
from rooftile.cli.render.networks import Samples, environment_of, loaded, peak_memory
from rooftile.cli.render.output import Output, Say, milliseconds
from rooftile.cli.render.records import warn_if_busy
from rooftile.cli.render.scores import judge, judged_json, judged_line, judged_sheet
from rooftile.cli.render.sheet import Sheet

if TYPE_CHECKING:
    from rooftile.lab.measure.records import Row
    from rooftile.nn import Plan
    from rooftile.ops import Float32

_BATCH = 256
_SHOWN = 8
"""Number of predictions that are printed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("model", metavar="MODEL", help="lenet5, mnist8, or a safetensors file")
    where = "where the image files are; of a network over rows the table, CSV or NPZ"
    parser.add_argument("--data", type=Path, metavar="DIR|FILE", help=where)
    parser.add_argument(
        "--download",
        action="store_true",
        help="fetch the whole test set if it is not found (else: the sample of 1,000)",
    )
    parser.add_argument(
        "--limit", type=positive, metavar="N", help="only the first N images or rows"
    )
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
        "how pixels become numbers) from page-locked host memory to labels, copies during "
        "computation (CUDA)",
    )
    parser.add_argument(
        "--segments",
        metavar="N|sweep",
        help="of a stream: how many, or a range of numbers (default: the fastest of some around "
        "what a measured model says)",
    )
    group = parser.add_argument_group("of a network over rows")
    add_table_arguments(group)
    group.add_argument("--prepared", action="store_true", help="rows are standardised already")


def command(arguments: argparse.Namespace) -> int:
    """Classify, time, print.  Exit code 0."""
    from rooftile.lab.measure.networks.layers import device_time, profile
    from rooftile.nn.gpu_plan import GpuPlan
    from rooftile.runtime.timing.host import measure

    _check_peers(arguments)
    if arguments.stream or arguments.segments:
        return _run_stream.command(arguments)
    output = Output(arguments)
    with output.working(f"loading {arguments.model}") as say:
        network, samples = loaded(arguments, say)
        say(f"compiling {network.name}")
        plan = network.plan(
            batch=arguments.batch or _BATCH,
            precision=arguments.precision,
            device=arguments.device,
            prepared=True,
        )
        say(f"classifying {len(samples)} {samples.what}")
        outputs = _outputs(plan, samples)
        found_right = judge(network.interface, samples.labels, outputs)
        say("timing")
        x = network.prepare(samples.inputs[: plan.batch])
        each = profile(plan, x)
        layers = {name: timing.median for name, timing in each.items()}
        whole = measure(lambda: plan(x))
        total = whole.median
        on_device = device_time(plan, x).median if isinstance(plan, GpuPlan) else None
        peak = peak_memory()
        found = _peers(plan, x, say) if arguments.peers else ()
    result = _result(plan, samples, judged_json(found_right), layers, total, peak)
    ours = next((row for row in found if row.kind == "strategy"), None)
    if on_device is not None:
        result["device_ms"] = ours.time_ms.median if ours and ours.time_ms else on_device
    if arguments.peers:
        from rooftile.lab.measure.records import row_json

        result["peers"] = [row_json(row) for row in found if row.kind == "peer"]
        result |= {"plan": row_json(ours)} if ours else {}
    output.result(result)
    _show(output, result, samples.what, len(x))
    sheet = judged_sheet(found_right, samples.name)
    lines: list[Any] = [judged_line(found_right, samples.what)]
    if sheet is not None:
        lines += [f"first predictions: {_named(plan, outputs, samples)}", "", sheet, ""]
    output.show(*lines, f"peak memory {result['environment']['peak_memory_mib']:.0f} MiB")
    _show_peers(output, found, result.get("device_ms", total), len(x))
    others = {row.strategy: row.time_ms for row in found}
    warn_if_busy(output, {**each, "the whole network": whole, **others})
    return 1 if ours and ours.status != "passed" else 0


def _check_peers(arguments: argparse.Namespace) -> None:
    from rooftile.devices.select import parse_device
    from rooftile.errors import InputError

    if arguments.peers and parse_device(arguments.device)[0] == "opencl":
        raise InputError("--peers", f"--device {arguments.device}", "the CPU or CUDA")


def _outputs(plan: Plan, samples: Samples) -> Float32:
    """The network's outputs of each image or row; images are resized a batch at a time, so memory
    follows the batch."""
    import numpy as np

    prepare = plan.network.prepare
    starts = range(0, len(samples), plan.batch)
    parts = (samples.inputs[first : first + plan.batch] for first in starts)
    return np.concatenate([plan(prepare(part)) for part in parts])


def _peers(plan: Plan, x: Float32, say: Say) -> tuple[Row, ...]:
    """The other libraries on the same batch and weights; on a GPU first the plan itself, as it was
    timed in turns with them."""
    from rooftile.devices.select import open_device
    from rooftile.lab.measure.ceilings.known import known_roof
    from rooftile.lab.measure.climb import judge_peers
    from rooftile.lab.measure.networks.contest import NetworkContest
    from rooftile.lab.measure.peers.gpu import gpu_peers
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
    samples: Samples,
    judged: dict[str, Any],
    layers: dict[str, float],
    total: float,
    peak: float,
) -> dict[str, Any]:
    """The JSON object."""
    batch = min(plan.batch, len(samples))
    return {
        "model": plan.network.name,
        "device": plan.device,
        "precision": plan.precision,
        "batch": plan.batch,
        "images": len(samples),
        **judged,
        "op_times_ms": layers,
        "total_ms": total,
        "images_per_s": 1e3 * batch / total,
        "strategies": plan.strategies,
        "environment": environment_of(plan, samples.source, peak),
    }


def _named(plan: Plan, outputs: Float32, samples: Samples) -> str:
    """The first predictions by class name; a wrong one with what it should have been."""
    labels, name = plan.network.interface.labels(outputs[:_SHOWN]), samples.name
    return ", ".join(
        name(said) if said == true else f"{name(said)} (wrong: {name(true)})"
        for said, true in zip(labels, samples.labels[:_SHOWN], strict=True)
    )


def _show(output: Output, result: dict[str, Any], what: str, batch: int) -> None:
    where = result["environment"]
    gpu = where.get("device")
    name = f"{result['device']} ({gpu['name']})" if gpu else "the cpu"
    output.show(
        f"{result['model']} on {name}, precision {result['precision']}",
        f"data: {where['data']}",
        "",
    )
    time = f"ms for {batch} {what}"
    made = Sheet("operation", "strategy", time, numbers=[time])
    for name, median in result["op_times_ms"].items():
        made.add_row(name, result["strategies"][name], milliseconds(median))
    if gpu:
        made.add_row("whole network", "", milliseconds(result["device_ms"]))
    whole = "with copies to and from it" if gpu else "whole network"
    made.add_row(whole, "", milliseconds(result["total_ms"]))
    output.show(
        made,
        "",
        f"{result['images_per_s']:,.0f} {what}/s" + ("" if gpu else f" on {where['cores']} cores"),
    )


def _show_peers(output: Output, rows: tuple[Row, ...], own: float, batch: int) -> None:
    """Print the peers' times next to our own."""
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
