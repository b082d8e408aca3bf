"""PyTorch on an NVIDIA GPU, on the same inputs, by the same rules of timing.

What favours it is done: cuDNN searches its algorithms (benchmark mode), the input lies in
the GPU's memory in the layout that is asked for, ``torch.compile`` tunes its kernels, and
short work is captured into graphs as ours is.  It computes in float32: TF32 is off.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rooftile.lab.measure_gpu import Call, Work, launches
from rooftile.lab.peers import torch_module
from rooftile.ops import Float32, Problem

_MODE = "max-autotune-no-cudagraphs"
_CACHE_BYTES = 128 * 2**20
_SLACK_S = 2e-4


@dataclass(frozen=True)
class GpuPeer:
    """One way to use PyTorch."""

    name: str
    channels_last: bool = False
    compiled: bool = False

    def why_not(self) -> str | None:
        """What is missing; None when it can run."""
        if importlib.util.find_spec("torch") is None:
            return "not installed: torch"
        import torch

        return None if torch.cuda.is_available() else "this PyTorch sees no CUDA device"

    def bind(
        self, problem: Problem, parameters: tuple[Float32, ...], x: Float32, index: int
    ) -> TorchCall:
        """Copy and compile for the GPU of this number.  Raises whatever PyTorch raises."""
        import torch

        torch.cuda.set_device(index)
        module, data = torch_module(problem, parameters).cuda(), torch.from_numpy(x).cuda()
        if self.channels_last and x.ndim == 4:
            module = module.to(memory_format=torch.channels_last)
            data = data.to(memory_format=torch.channels_last)
        if self.compiled:
            module = torch.compile(module, mode=_MODE, dynamic=False)
        return TorchCall(module, data)


GPU_PEERS = (
    GpuPeer("torch eager"),
    GpuPeer("torch channels_last", channels_last=True),
    GpuPeer("torch compile", compiled=True),
    GpuPeer("torch compile channels_last", channels_last=True, compiled=True),
)


@contextlib.contextmanager
def float32_only() -> Iterator[None]:
    """PyTorch's algorithm search on, reduced precisions and gradients off; where it is not
    installed, nothing."""
    if importlib.util.find_spec("torch") is None:
        yield
        return
    import torch

    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    before = cudnn.benchmark, cudnn.allow_tf32, matmul.allow_tf32
    cudnn.benchmark, cudnn.allow_tf32, matmul.allow_tf32 = True, False, False
    try:
        with torch.no_grad():
            yield
    finally:
        cudnn.benchmark, cudnn.allow_tf32, matmul.allow_tf32 = before


class TorchCall:
    """A module on its input, both on the GPU."""

    def __init__(self, module: Any, data: Any) -> None:
        self._module, self._data = module, data
        self.out: Any = None

    def __call__(self) -> None:
        """Compute on PyTorch's present stream."""
        self.out = self._module(self._data)

    def result(self) -> Float32:
        """The last result, as NCHW."""
        return np.asarray(self.out.contiguous().cpu().numpy(), np.float32)

    def work(self) -> Work:
        """What is timed; the call must have run before."""
        import torch

        clock = TorchClock()
        self()
        clock.synchronise()
        before = clock.mark()
        self()
        after = clock.mark()
        clock.synchronise()
        count = launches(1e-3 * clock.between(before, after))
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        cache = getattr(properties, "L2_cache_size", 0) or _CACHE_BYTES
        spare = torch.empty(2 * cache, dtype=torch.uint8, device="cuda")
        if count == 1:
            return Work(clock, self, self, 1, spare.zero_, _SLACK_S)
        return Work(clock, _captured(self, 1), _captured(self, count), count, spare.zero_, _SLACK_S)


class TorchClock:
    """Events on PyTorch's present stream."""

    def mark(self) -> Any:
        """See `Clock.mark`."""
        import torch

        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, before: Any, after: Any) -> float:
        """See `Clock.between`."""
        return float(before.elapsed_time(after))

    def synchronise(self) -> None:
        """See `Clock.synchronise`."""
        import torch

        torch.cuda.synchronize()


def _captured(call: Callable[[], object], count: int) -> Call:
    """A graph of so many calls.  Raises `RuntimeError` where they cannot be captured."""
    import torch

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            call()
    return lambda: graph.replay()
