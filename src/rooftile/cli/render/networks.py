"""Common parts of the commands on networks: what they load, and the environment that they print."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rooftile.cli._options import table_words
from rooftile.cli.render.output import Say
from rooftile.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rooftile.nn import Network, Plan
    from rooftile.nn.data import ImageSet


@dataclass(frozen=True)
class Samples:
    """Raw images or rows, what they should be classified as, and where they are from."""

    inputs: NDArray[Any]
    """uint8[n, height, width] or [n, channels, height, width], or numbers[n, features]"""
    labels: NDArray[Any]
    """[n]; of a regression targets[n, outputs]"""
    source: str
    name: Callable[[int], str]
    """The meaning of a label."""
    what: str
    """The samples' name."""

    def __len__(self) -> int:
        return len(self.inputs)


def loaded(arguments: argparse.Namespace, say: Say) -> tuple[Network, Samples]:
    """The network, and the test images or the rows that the arguments name."""
    from rooftile.nn.data import load_images

    network = load_network(arguments.model, arguments.weights)
    if arguments.prepared:
        network = as_prepared(network)
    if not network.interface.images:
        return network, _rows(arguments, network)
    if arguments.data is not None and not arguments.data.is_dir():
        raise InputError("--data", str(arguments.data), f"a directory: {network.name} reads images")
    report = download_report(say)
    images = load_images("test", arguments.data, arguments.limit, arguments.download, report)
    check_channels(network, images)
    return network, Samples(images.images, images.labels, images.source, images.name, "images")


def as_prepared(network: Network) -> Network:
    """The network for rows that are standardised already.  Raises `InputError` for images."""
    import dataclasses

    if network.interface.images:
        expected = "a network over rows of features: image files have pixels"
        raise InputError("--prepared", f"{network.name} over images", expected)
    return dataclasses.replace(network, standardisation=None)


def _rows(arguments: argparse.Namespace, network: Network) -> Samples:
    """The rows of a table.  Raises `InputError`."""
    from rooftile.nn.data import read_table

    if arguments.data is None or arguments.data.is_dir():
        found = "nothing" if arguments.data is None else f"{arguments.data}, a directory"
        raise InputError("--data", found, f"a table, CSV or NPZ: {network.name} reads rows")
    if not network.interface.regression:
        table = read_table(arguments.data, **table_words(arguments))
    else:
        targets = network.output_shape[0]
        table = read_table(arguments.data, **table_words(arguments), targets=targets)
    wanted, width = network.input_shape[0], table.features.shape[1]
    if width != wanted or table.labels.shape[1:] not in ((), network.output_shape):
        given = f"{width} features and a label in {table.source}"
        raise InputError("--data", given, f"{wanted} features, which {network.name} reads")
    labels, rows = table.labels[: arguments.limit], table.features[: arguments.limit]
    names = class_names(network.metadata, network.interface.classes)
    return Samples(rows, labels, table.source, partial(_name, names), "rows")


def _name(names: Sequence[str], label: int) -> str:
    return names[label] if label < len(names) else f"class {label}"


def class_names(metadata: Mapping[str, str], count: int) -> list[str]:
    """The classes' names, from the file or from its training data."""
    import json

    from rooftile.nn.data import CLASSES

    if "classes" in metadata:
        names: list[str] = json.loads(metadata["classes"])
        if len(names) == count:
            return names
    if "Fashion-MNIST" in metadata.get("trained_on", "") and count == len(CLASSES):
        return list(CLASSES)
    return [f"class {number}" for number in range(count)]


def check_channels(network: Network, images: ImageSet) -> None:
    """Raise `InputError` unless the images have as many channels as the network reads."""
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


def environment_of(plan: Plan, source: str, peak: float) -> dict[str, Any]:
    """Device, data and memory of a run."""
    import dataclasses

    from rooftile.lab.measure.environment import environment, gpu_libraries
    from rooftile.lab.measure.records import plain
    from rooftile.nn.gpu_plan import GpuPlan

    found = dataclasses.asdict(environment())
    if isinstance(plan, GpuPlan):
        gpu = plan.description
        found["device"] = {**dataclasses.asdict(gpu), "libraries": gpu_libraries(gpu.kind)}
    made: dict[str, Any] = plain({**found, "data": source, "peak_memory_mib": round(peak, 1)})
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
