"""`rooftile run --stream`: images from page-locked host memory to labels, copies overlapped.

The time goes from the first copy to the last result, by the device's events; next to it are the
host's clock, the model's prediction, and the parts by themselves.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from rooftile.cli.render.networks import environment_of, loaded, peak_memory
from rooftile.cli.render.output import Output, milliseconds, percent
from rooftile.cli.render.scores import judge, judged_json
from rooftile.cli.render.sheet import Sheet

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rooftile.lab.measure.networks.streams import StreamTiming
    from rooftile.nn import Network
    from rooftile.nn.gpu_plan import GpuPlan
    from rooftile.nn.streaming import Images

_SWEEP = (1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64)


def command(arguments: argparse.Namespace) -> int:
    """Stream, compare with the plan, time, print.  Exit code 1 where two clocks disagree."""
    from rooftile.lab.measure.networks.streams import time_stream
    from rooftile.nn.segments import best_segments

    wanted = _wanted(arguments)
    output = Output(arguments)
    with output.working(f"loading {arguments.model}") as say:
        network, samples = loaded(arguments, say)
        dtype = _dtype(network, arguments.stream)
        say(f"compiling {network.name}")
        plan: Any = network.plan(
            batch=arguments.batch or len(samples),
            precision=arguments.precision,
            device=arguments.device,
            prepared=dtype == "float32",
        )
        say(f"classifying {len(samples)} {samples.what}")
        x, outputs = _given(plan, samples.inputs, dtype)
        expected = network.interface.labels(outputs)
        if wanted is None:
            wanted = [plan.stream.segments(x)]
        elif not wanted:
            wanted = _numbers(plan, x)
        timings = []
        for number in wanted:
            say(f"timing {number} segments")
            _same(plan.stream.classify(x, segments=number), expected)
            timings.append(time_stream(plan.stream, x, segments=number))
        model = plan.stream.model(x)
        result = {
            "model": network.name,
            "device": plan.device,
            "precision": plan.precision,
            "batch": plan.batch,
            "images": len(samples),
            "dtype": dtype,
            **judged_json(judge(network.interface, samples.labels, outputs)),
            **_best(timings),
            "model_segments": best_segments(model, len(x), plan.batch),
            "stream": [
                {**timing.to_json(), "model_ms": 1e3 * model.seconds(timing.segments)}
                for timing in timings
            ],
            "strategies": plan.strategies,
            "environment": environment_of(plan, samples.source, peak_memory()),
        }
    output.result(result)
    _show(output, result)
    return int(any(timing.contradiction for timing in timings))


def _best(timings: list[StreamTiming]) -> dict[str, Any]:
    """The fastest of those that have a time."""
    medians = {t.device.median: t for t in timings if t.device is not None}
    if not medians:
        return {"segments": None, "total_ms": None, "images_per_s": None}
    total = min(medians)
    best = medians[total]
    return {
        "segments": best.segments,
        "total_ms": total,
        "images_per_s": 1e3 * best.images / total,
    }


def _wanted(arguments: argparse.Namespace) -> list[int] | None:
    """The numbers of segments to stream in: empty for a sweep, None for the default number."""
    from rooftile.devices.select import parse_device
    from rooftile.errors import InputError

    if not arguments.stream:
        raise InputError("--segments", arguments.segments, "--stream with it")
    if arguments.peers:
        raise InputError("--peers", "--stream with it", "one of the two")
    if parse_device(arguments.device)[0] != "cuda":
        raise InputError("--stream", f"--device {arguments.device}", "--device cuda")
    if arguments.segments in (None, "sweep"):
        return None if arguments.segments is None else []
    if not arguments.segments.isdecimal() or int(arguments.segments) < 1:
        raise InputError("--segments", arguments.segments, "a number of at least 1, or sweep")
    return [int(arguments.segments)]


def _dtype(network: Network, asked: str | bool) -> str:
    """The dtype of streamed images: by default uint8 where the network converts pixels to
    numbers."""
    from rooftile.errors import InputError

    if network.interface.regression:
        expected = "a classification: a stream gives labels"
        raise InputError("--stream", f"{network.name}, a regression", expected)
    if asked == "uint8" and not network.interface.images:
        raise InputError("--stream", "uint8", f"float32: {network.name} reads rows of features")
    if isinstance(asked, str):
        return asked
    return "float32" if network.pixels is None else "uint8"


def _given(plan: GpuPlan, images: NDArray[Any], dtype: str) -> tuple[Images, NDArray[Any]]:
    """Page-locked images of the network's size, or rows, and the plan's outputs of them. uint8
    images are rounded after they are resized."""
    from rooftile.nn.data import resize

    prepare, size = plan.network.prepare, plan.network.input_shape[1:]
    made = resize(images, (size[0], size[1])) if dtype == "uint8" else prepare(images)
    x = plan.stream.pinned(made.shape, made.dtype)
    x[...] = made
    # Pixels that the host made numbers of are a check on the device's.
    pixels = dtype == "uint8" and plan.standardisation is None
    return x, plan(prepare(x) if pixels else x)


def _numbers(plan: GpuPlan, x: Images) -> list[int]:
    """The numbers of segments that a sweep tries: a range that images and batch admit, and the
    default."""
    least = -(-len(x) // plan.batch)
    within = {n for n in _SWEEP if least <= n <= len(x)}
    return sorted({*within, least, plan.stream.segments(x)})


def _same(labels: NDArray[np.int64], expected: NDArray[np.int64]) -> None:
    import numpy as np

    from rooftile.errors import VerificationFailure

    wrong = np.flatnonzero(labels != expected)
    if len(wrong):
        i = int(wrong[0])
        raise VerificationFailure((i,), int(labels[i]), int(expected[i]), 0.0, "a streamed label")


def _show(output: Output, result: dict[str, Any]) -> None:
    name = result["environment"]["device"]["name"]
    output.show(
        f"{result['model']} on {result['device']} ({name}), precision {result['precision']}",
        f"data: {result['environment']['data']}",
        f"{result['images']:,} images {result['dtype']} from page-locked memory to labels",
        "",
    )
    columns = ("segments", "ms", "host", "model", "copy in", "compute", "copy out", "hidden")
    made = Sheet(*columns, numbers=columns)
    for row in result["stream"]:
        device, host = (
            row[key] and milliseconds(row[key]["median"]) for key in ("time_ms", "host_ms")
        )
        parts = (row[key] for key in ("model_ms", "copy_in_ms", "compute_ms", "copy_out_ms"))
        hidden = "-" if row["hidden"] is None else percent(row["hidden"])
        made.add_row(
            str(row["segments"]), device or "-", host or "-", *map(milliseconds, parts), hidden
        )
    output.show(made, "")
    for row in result["stream"]:
        if row["contradiction"]:
            output.show(f"{row['segments']} segments: no time, {row['contradiction']}")
    if result["total_ms"] is not None:
        output.show(
            f"best: {result['segments']} segments, {milliseconds(result['total_ms'])} ms, "
            f"{result['images_per_s']:,.0f} images/s (the model: {result['model_segments']})"
        )
    output.show(f"accuracy {100 * result['accuracy']:.2f} % of {result['images']:,} images")
