"""The part of the table that is measured on images: accuracy, and the stream to labels.

Images are Fashion-MNIST's where it is found, repeated to 10,000 for the stream; else the
thousand that rooftile ships, which the record says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray
from torch_stream import TorchStream

from rooftile.devices.gpu import GpuDevice
from rooftile.devices.select import DeviceName, parse_device
from rooftile.lab.measure.ceilings.gpu import GpuCeilings
from rooftile.lab.measure.environment import environment
from rooftile.lab.measure.networks.streams import time_stream
from rooftile.lab.measure.peers.gpu import GpuPeer, arithmetic
from rooftile.nn import Network, load
from rooftile.nn.data import ImageSet, prepare, resize
from rooftile.nn.gpu_plan import GpuPlan
from rooftile.ops import FORMATS, Precision
from rooftile.runtime.selection.choice import ROUNDING_KINDS

MODEL = "lenet5"
"""The network that streams."""
PRECISION: Precision = "fp16"
TARGET_MS = 1.5
STREAMED = 10000
_SWEEP = (1, 4, 8, 12, 16, 20, 24, 32)
_PEER_SWEEP = (1, 4, 10)
"""They are few, since a peer that compiles does so for each of them.  In each, segments begin at
multiples of 16 bytes, as compiled kernels want them."""
_ALL = 10000
_AGREE = 0.97
"""At least such a share of a peer's labels must be ours: it computes in 16 bits."""

Record = dict[str, Any]
Say = Callable[[str], None]


def accuracy(images: ImageSet, device: str, say: Say) -> Record:
    """How many images each network gets right at each precision, and how many labels differ from
    those of the CPU at ``ieee``."""
    rows = []
    for model in ("lenet5", "mnist8"):
        network = load(model)
        x = prepare(images.images, network.input_shape[1])
        say(f"{model}: classifying {len(x)} images on the CPU")
        expected = network.plan(batch=256)(x).argmax(axis=1)
        rows.append(_right(model, "cpu", "ieee", expected, expected, images))
        for precision in precisions_of(device):
            say(f"{model}: {precision}")
            place = cast("DeviceName", device)
            plan = network.plan(batch=len(x), precision=precision, device=place)
            labels = plan(x).argmax(axis=1)
            rows.append(_right(model, device, precision, labels, expected, images))
    return {
        "images": len(images),
        "source": source(images),
        "time": environment().time,
        "rows": rows,
    }


def precisions_of(device: str) -> list[Precision]:
    """Those that a device has: where no strategy rounds, the others are refused."""
    kind, _ = parse_device(device)
    every = get_args(Precision)
    return [one for one in every if one not in FORMATS or kind in ROUNDING_KINDS]


def source(images: ImageSet) -> str:
    """Which images these are; it does not say where they lie on this machine."""
    if len(images) == _ALL:
        return "the whole test set of Fashion-MNIST"
    return f"a sample of Fashion-MNIST's test set, its first {len(images):,} images"


def _right(
    model: str,
    device: str,
    precision: str,
    labels: NDArray[np.int64],
    expected: NDArray[np.int64],
    images: ImageSet,
) -> Record:
    return {
        "model": model,
        "device": device,
        "precision": precision,
        "accuracy": float((labels == images.labels).mean()),
        "differ": int((labels != expected).sum()),
    }


def stream(
    images: ImageSet,
    device: GpuDevice,
    roof: GpuCeilings | None,
    peer: GpuPeer | None,
    quick: bool,
    say: Say,
) -> Record:
    """Images from page-locked memory to labels, by ours and by a peer."""
    network = load(MODEL)
    pixels = np.resize(resize(images.images, network.input_shape[1]), (STREAMED, 86, 86))
    name = f"{device.description.kind}:{device.description.index}"
    made = network.plan(batch=STREAMED, precision=PRECISION, device=cast("DeviceName", name))
    plan = cast("GpuPlan", made)
    x = plan.stream.pinned(pixels.shape, np.uint8)
    x[...] = pixels
    expected = plan(prepare(x, network.input_shape[1])).argmax(axis=1)
    chosen = plan.stream.segments(x)
    rows = []
    for number in [chosen] if quick else sorted({*_SWEEP, chosen}):
        say(f"stream: {number} segments")
        wrong = int((plan.stream.classify(x, segments=number) != expected).sum())
        rows.append(
            {**time_stream(plan.stream, x, segments=number).to_json(), "wrong_labels": wrong}
        )
    rate = roof.to_device_pinned_gbps if roof else None
    where = environment()
    return {
        "model": MODEL,
        "precision": PRECISION,
        "images": STREAMED,
        "bytes": x.nbytes,
        "source": source(images),
        "target_ms": TARGET_MS,
        "strategies": plan.strategies,
        "model_segments": chosen,
        # The rate of the ceilings is that of one size; the copy that was timed may be faster.
        "floor_ms": min(
            [row["copy_in_ms"] for row in rows] + ([1e-6 * x.nbytes / rate] if rate else [])
        ),
        "rows": rows,
        "peers": _peers(peer, network, x, expected, device.description.index, say),
        "measured": {"time": where.time, "revision": where.revision},
    }


def _peers(
    peer: GpuPeer | None,
    network: Network,
    x: NDArray[np.uint8],
    expected: NDArray[np.int64],
    index: int,
    say: Say,
) -> list[Record]:
    """The peer's own streams, in one segment and in several."""
    if peer is None:
        return []
    rows = []
    for segments in _PEER_SWEEP:
        say(f"stream: {peer.name} ({peer.precision}), {segments} segments")
        row: Record = {"name": peer.name, "precision": peer.precision, "segments": segments}
        try:
            with arithmetic(peer.precision):
                found = TorchStream(peer, network, x, segments, index)
                agree = float((found.run()[2] == expected).mean())
                row |= {"agree": agree, "status": "passed" if agree >= _AGREE else "failed"}
                row |= found.times() if agree >= _AGREE else {}
        except Exception as error:
            row |= {"status": "error", "reason": f"{type(error).__name__}: {error}"[:300]}
        rows.append(row)
    return rows
