"""PyTorch's stream of images from page-locked memory to labels, to stand beside ours."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.lab.measure.networks.streams import quantiles, sampled
from rooftile.lab.measure.peers.gpu import MODE, GpuPeer
from rooftile.lab.measure.peers.torch_module import torch_module
from rooftile.nn import Network
from rooftile.nn.data import DEVIATION, MEAN
from rooftile.ops import Chain, format_of
from rooftile.runtime.timing.device import SLACK_S, contradiction
from rooftile.runtime.timing.host import timing_of


class TorchStream:
    """PyTorch from page-locked pixels to labels in host memory, on two streams.

    While one segment is computed, by a graph of conversion, network and argmax, the next one is
    copied.  With one segment there is nothing to overlap.
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

    def times(self) -> dict[str, Any]:
        """Medians by both clocks; a failure instead where the clocks contradict each other."""

        def run() -> tuple[float, float]:
            device, host, _ = self.run()
            return 1e-3 * device, 1e-3 * host

        samples = sampled(run)
        wrong = contradiction(samples, SLACK_S)
        if wrong:
            return {"status": "failed", "reason": f"invalid time: {wrong}"}
        device, host = (timing_of(list(times)) for times in zip(*samples, strict=True))
        return {"time_ms": quantiles(device), "host_ms": quantiles(host)}


def _module(peer: GpuPeer, network: Network, count: int) -> Any:
    """Pixels uint8[count, 1, height, width] to labels, as the peer computes."""
    import torch

    parameters = tuple(network.parameters[key] for key in network.parameter_shapes)
    dtype = getattr(torch, format_of(peer.precision).dtype)
    layers = torch_module(Chain(network.problems(count)), parameters).to("cuda", dtype)
    if peer.channels_last:
        layers = layers.to(memory_format=torch.channels_last)
    layers.eval().requires_grad_(False)

    def labels(pixels: Any) -> Any:
        x = pixels.to(dtype) * (1 / (255 * DEVIATION)) - MEAN / DEVIATION
        return layers(x).argmax(1)

    if not peer.compiled:
        return labels
    torch.compiler.reset()
    return torch.compile(labels, mode=MODE, dynamic=False)
