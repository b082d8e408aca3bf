"""The part of the table that is measured on images: accuracy, and the stream to labels.

Images are Fashion-MNIST's where it is found, repeated to 10,000 for the stream; else the
thousand that rooftile ships, which the record says.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.gpu import GpuDevice
from rooftile.lab.ceilings_gpu import GpuCeilings
from rooftile.lab.environment import environment
from rooftile.lab.measure import Timing, is_steady, timing_of
from rooftile.lab.peers import torch_module
from rooftile.lab.peers_gpu import GpuPeer, arithmetic
from rooftile.nn import Network, load
from rooftile.nn.data import DEVIATION, MEAN, ImageSet, prepare, resize
from rooftile.nn.gpu_plan import GpuPlan
from rooftile.nn.stream_times import StreamTiming
from rooftile.ops import Chain, Precision

MODEL, PRECISION = "lenet5", "fp16"
"""What streams."""
TARGET_MS = 1.5
STREAMED = 10000
_SWEEP = (1, 4, 8, 12, 16, 20, 24, 32)
_PEER_SWEEP = (1, 4, 10)
"""Each is compiled by itself where the peer compiles; segments of theirs begin at multiples of 16
bytes, as its kernels want them."""
_ALL = 10000
_AGREE = 0.97
"""Of a peer's labels, in 16 bits, at least so many are ours."""
_WARM_UP_S, _SECONDS = 0.2, 1.0
_MODE = "max-autotune-no-cudagraphs"
"""That of `rooftile.lab.peers_gpu`: we capture graphs ourselves."""

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
        for precision in get_args(Precision):
            say(f"{model}: {precision}")
            plan = network.plan(batch=len(x), precision=precision, device=device)
            labels = plan(x).argmax(axis=1)
            rows.append(_right(model, device, precision, labels, expected, images))
    return {"images": len(images), "source": source(images), "time": environment().time,
            "rows": rows}  # fmt: skip


def source(images: ImageSet) -> str:
    """Which images, without where they lie on this machine."""
    if len(images) == _ALL:
        return "the whole test set of Fashion-MNIST"
    return f"a sample of Fashion-MNIST's test set, its first {len(images):,} images"


def _right(
    model: str, device: str, precision: str, labels: NDArray[np.int64],
    expected: NDArray[np.int64], images: ImageSet,
) -> Record:  # fmt: skip
    return {
        "model": model, "device": device, "precision": precision,
        "accuracy": float((labels == images.labels).mean()),
        "differ": int((labels != expected).sum()),
    }  # fmt: skip


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
    plan = cast("GpuPlan", network.plan(batch=STREAMED, precision=PRECISION, device=name))
    x = plan.stream.pinned(pixels.shape, np.uint8)
    x[...] = pixels
    expected = plan(prepare(x, network.input_shape[1])).argmax(axis=1)
    chosen = plan.stream.segments(x)
    rows = []
    for number in [chosen] if quick else sorted({*_SWEEP, chosen}):
        say(f"stream: {number} segments")
        wrong = int((plan.stream.classify(x, segments=number) != expected).sum())
        rows.append({**_row(plan.stream.timing(x, segments=number)), "wrong_labels": wrong})
    rate = roof.to_device_pinned_gbps if roof else None
    where = environment()
    return {
        "model": MODEL, "precision": PRECISION, "images": STREAMED, "bytes": x.nbytes,
        "source": source(images), "target_ms": TARGET_MS, "strategies": plan.strategies,
        "model_segments": chosen,
        # The rate of the ceilings is that of one size; the copy that was timed may be faster.
        "floor_ms": min(
            [row["copy_in_ms"] for row in rows] + ([1e-6 * x.nbytes / rate] if rate else [])
        ),
        "rows": rows,
        "peers": _peers(peer, network, x, expected, device.description.index, say),
        "measured": {"time": where.time, "revision": where.revision},
    }  # fmt: skip


def _row(timing: StreamTiming) -> Record:
    return {
        "segments": timing.segments,
        "time_ms": _times(timing.device), "host_ms": _times(timing.host),
        "copy_in_ms": timing.copy_in_ms, "compute_ms": timing.compute_ms,
        "copy_out_ms": timing.copy_out_ms, "hidden": timing.hidden,
        "contradiction": timing.contradiction,
    }  # fmt: skip


def _times(timing: Timing | None) -> Record | None:
    if timing is None:
        return None
    found = dataclasses.asdict(timing)
    return {key: found[key] for key in ("median", "p20", "p80", "min", "n")}


def _peers(
    peer: GpuPeer | None, network: Network, x: NDArray[np.uint8], expected: NDArray[np.int64],
    index: int, say: Say,
) -> list[Record]:  # fmt: skip
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


class TorchStream:
    """PyTorch from page-locked pixels to labels in host memory, on two streams.

    Each segment's copy is followed by a graph of conversion, network and argmax, while the next
    one is copied; with one segment all is in a row.
    """

    def __init__(
        self, peer: GpuPeer, network: Network, x: NDArray[np.uint8], segments: int, index: int
    ) -> None:
        import torch

        torch.cuda.set_device(index)
        count = len(x) // segments
        assert count * segments == len(x), "the peers' segments are alike"
        self._images = torch.from_numpy(x[:, None]).pin_memory()
        self._pixels = self._images.cuda()
        self._labels = torch.zeros(len(x), dtype=torch.int64, device="cuda")
        self._out = torch.empty(len(x), dtype=torch.int64, pin_memory=True)
        self._parts = [slice(first, first + count) for first in range(0, len(x), count)]
        module = _module(peer, network, count)
        self._graphs = [self._captured(module, part) for part in self._parts]
        self._copying, self._computing = torch.cuda.Stream(), torch.cuda.Stream()
        # Labels must be those of what `run` copies and computes, not of the captures.
        self._pixels.zero_()
        self._labels.fill_(-1)
        torch.cuda.synchronize()

    def _captured(self, module: Any, part: slice) -> Any:
        import torch

        def compute() -> None:
            self._labels[part].copy_(module(self._pixels[part]))

        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            compute()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            compute()
        return graph

    def run(self) -> tuple[float, float, NDArray[np.int64]]:
        """Milliseconds by the device's events and by the host's clock, and the labels."""
        import torch

        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start = time.perf_counter()
        first.record(self._copying)
        for part, graph in zip(self._parts, self._graphs, strict=True):
            with torch.cuda.stream(self._copying):
                self._pixels[part].copy_(self._images[part], non_blocking=True)
            self._computing.wait_stream(self._copying)
            with torch.cuda.stream(self._computing):
                graph.replay()
        with torch.cuda.stream(self._computing):
            self._out.copy_(self._labels, non_blocking=True)
            last.record()
        last.synchronize()
        host = time.perf_counter() - start
        return first.elapsed_time(last), 1e3 * host, self._out.numpy()

    def times(self) -> Record:
        """Medians of both clocks."""
        end = time.perf_counter() + _WARM_UP_S
        while time.perf_counter() < end:
            self.run()
        device: list[float] = []
        host: list[float] = []
        end = time.perf_counter() + _SECONDS
        while time.perf_counter() < end and not (len(device) >= 20 and is_steady(device)):
            one, other, _ = self.run()
            device.append(1e-3 * one)
            host.append(1e-3 * other)
        return {"time_ms": _times(timing_of(device)), "host_ms": _times(timing_of(host))}


def _module(peer: GpuPeer, network: Network, count: int) -> Any:
    """Pixels uint8[count, 1, height, width] to labels, as the peer computes."""
    import torch

    parameters = tuple(network.parameters[key] for key in network.parameter_shapes)
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(peer.precision, torch.float32)
    layers = torch_module(Chain(network.problems(count)), parameters).to("cuda", dtype)
    if peer.channels_last:
        layers = layers.to(memory_format=torch.channels_last)

    class Pixels(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = layers

        def forward(self, pixels: Any) -> Any:
            x = pixels.to(dtype) * (1 / (255 * DEVIATION)) - MEAN / DEVIATION
            return self.layers(x).argmax(1)

    module: Any = Pixels().eval().requires_grad_(False)
    if peer.compiled:
        torch.compiler.reset()
        module = torch.compile(module, mode=_MODE, dynamic=False)
    return module
