"""What the commands on networks share: what they load, and what they print of where it ran."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rooftile.cli._output import Say

if TYPE_CHECKING:
    from rooftile.nn import Network, Plan
    from rooftile.nn.data import ImageSet


def loaded(arguments: argparse.Namespace, say: Say) -> tuple[Network, ImageSet]:
    """The network and the test images that the arguments name."""
    from rooftile.nn.data import load_images

    network = load_network(arguments.model, arguments.weights)
    report = download_report(say)
    images = load_images("test", arguments.data, arguments.limit, arguments.download, report)
    check_channels(network, images)
    return network, images


def check_channels(network: Network, images: ImageSet) -> None:
    """Raise `InputError` unless the images have as many channels as the network reads."""
    from rooftile.errors import InputError

    found = images.images.shape[1] if images.images.ndim == 4 else 1
    if found != network.input_shape[0]:
        expected = f"--data DIR whose test.npz and train.npz have {network.input_shape[0]}"
        raise InputError("--data", f"{found} channel(s) in {images.source}", expected)


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


def peak_memory() -> float:
    """Largest resident memory of this process so far, in MiB."""
    import resource
    import sys

    kilobytes = 1 if sys.platform != "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 * kilobytes)


def percent_of(accuracy: float) -> str:
    """An accuracy with two decimals: one of 10,000 images counts."""
    return f"{100 * accuracy:.2f} %"
