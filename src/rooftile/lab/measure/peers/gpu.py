"""PyTorch on an NVIDIA GPU, on the same inputs, by the same rules of timing.

We do what favours it: cuDNN searches its algorithms (benchmark mode), the input is in the GPU's
memory in the requested format and layout, and ``torch.compile`` tunes its kernels (max-autotune).
We capture its work into graphs as we do our own; so its mode's own graphs are off
("max-autotune-no-cudagraphs"), and the same kernels are replayed in the same way.

A peer computes at one precision, and a rung is compared with peers of its own precision:

- ``ieee``: float32 throughout, TF32 off;
- ``tf32``: float32 arrays, TF32 allowed in convolutions and matrix products;
- ``fp16``, ``bf16``: module and input in half precision or bfloat16.

PyTorch's flags for these are the process's. They are set around each of a peer's calls, and
captured work keeps the flags of its capture: peers of several precisions can take turns.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rooftile.devices.device import Device
from rooftile.devices.select import parse_device
from rooftile.lab.judge.arithmetic import errors_of
from rooftile.lab.measure.peers.torch_module import channels_last, lacking, torch_module
from rooftile.lab.measure.records import peer_precision
from rooftile.ops import AnyArray, ErrorModel, Problem, check_precision, format_of
from rooftile.runtime.timing.device import SLACK_S, Call, TimedLaunches, launches

MODE = "max-autotune-no-cudagraphs"
"""The mode of ``torch.compile``.  Its own graphs are off, since we capture them."""
_CACHE_BYTES = 128 * 2**20
"""The last-level cache that is assumed where PyTorch does not tell its size."""


@dataclass(frozen=True)
class GpuPeer:
    """One way to use PyTorch at one precision."""

    name: str
    precision: str = "ieee"
    channels_last: bool = False
    compiled: bool = False

    @property
    def errors(self) -> ErrorModel:
        """The budget that it is held against."""
        return errors_of(self.precision)

    def missing(self) -> str | None:
        """The missing package or device; None when PyTorch and a GPU are there."""
        if importlib.util.find_spec("torch") is None:
            return "not installed: torch"
        import torch

        return None if torch.cuda.is_available() else "this PyTorch sees no CUDA device"

    def why_not(self, problem: Problem) -> str | None:
        """The missing package, or that no operation says how to compute it; None when it can
        run."""
        return self.missing() or lacking(problem, "torch_modules")

    def bind(
        self,
        problem: Problem,
        parameters: Sequence[AnyArray],
        inputs: Sequence[AnyArray],
        device: Device,
    ) -> TorchCall:
        """Copy to the GPU, in the peer's own format; ``problem`` may be a `Chain`. At ``fp16`` and
        ``bf16`` the input is converted here, outside of what is timed, which favours the peer: a
        rung is given float32. Raises whatever PyTorch raises."""
        import torch

        torch.cuda.set_device(parse_device(device.name)[1])
        dtype = getattr(torch, format_of(self.precision).dtype)
        module = torch_module(problem, parameters).to("cuda", dtype)
        kept = torch.preserve_format
        if self.channels_last and channels_last(problem):
            kept = torch.channels_last
            module = module.to(memory_format=kept)

        def load(array: AnyArray) -> Any:
            """On the GPU: numbers in the peer's format, integers as they are."""
            tensor = torch.from_numpy(array).to("cuda")
            return tensor.to(dtype, memory_format=kept) if tensor.is_floating_point() else tensor

        if self.compiled:
            # Every module is a Sequential; after a few compiled ones PyTorch would silently run the
            # next uncompiled.
            torch.compiler.reset()
            module = torch.compile(module, mode=MODE, dynamic=False)
        call = TorchCall(module, load, self.precision, problem)
        call.give(inputs)
        return call


def gpu_peers(precision: str) -> tuple[GpuPeer, ...]:
    """The peers that a rung of this precision is compared with; for ``fast`` the peers of ``ieee``,
    whose library may choose transforms itself. Raises `InputError` for an unknown precision."""
    check_precision(precision)
    own = peer_precision(precision)
    return (
        GpuPeer("torch eager", own),
        GpuPeer("torch channels_last", own, channels_last=True),
        GpuPeer("torch compile", own, compiled=True),
        GpuPeer("torch compile channels_last", own, channels_last=True, compiled=True),
    )


@contextlib.contextmanager
def arithmetic(precision: str) -> Iterator[None]:
    """Set PyTorch's flags for a precision in a block, and restore them after it.

    TF32 is allowed at ``tf32`` alone, algorithm search is on, gradients are off. Where PyTorch is
    not installed this does nothing. The formats `fp16` and `bf16` apply to module and input;
    whether PyTorch also sums in them, where it splits a sum, is left to PyTorch.
    """
    if importlib.util.find_spec("torch") is None:
        yield
        return
    import torch

    tf32 = precision == "tf32"
    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    before = cudnn.benchmark, cudnn.allow_tf32, matmul.allow_tf32
    cudnn.benchmark, cudnn.allow_tf32, matmul.allow_tf32 = True, tf32, tf32
    try:
        with torch.no_grad():
            yield
    finally:
        cudnn.benchmark, cudnn.allow_tf32, matmul.allow_tf32 = before


class TorchCall:
    """A module on its inputs, all on the GPU."""

    def __init__(
        self, module: Any, load: Callable[[AnyArray], Any], precision: str, problem: Problem
    ) -> None:
        self._module, self._load, self._precision = module, load, precision
        self._problem = problem
        self._data: list[Any] = []
        self._replay: Call | None = None
        self.out: Any = None

    def give(self, inputs: Sequence[AnyArray]) -> None:
        """Load the inputs that are computed from now on, until `work` captures them."""
        self._data = [self._load(array) for array in inputs]

    def compute(self) -> None:
        """Compute on PyTorch's present stream: from `work` on, by the graph that is timed."""
        if self._replay is None:
            self._compute()
        else:
            self._replay()

    def result(self) -> tuple[AnyArray, ...]:
        """The last result, row-major, in the problem's own dtype."""
        (output,) = self._problem.output_arrays
        made = self.out.float() if output.dtype == "float32" else self.out
        array = np.asarray(made.contiguous().cpu().numpy(), output.numpy)
        return (array.reshape(output.shape),)

    def work(self, clock: object = None) -> TimedLaunches:
        """The timed work, captured under the precision's own flags."""
        import torch

        clock = TorchClock()
        # PyTorch compiles and searches here, and what a graph captures must have run.
        self._compute()
        clock.synchronise()
        before = clock.mark()
        self._compute()
        after = clock.mark()
        clock.synchronise()
        count = launches(1e-3 * clock.between(before, after))
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        cache = getattr(properties, "L2_cache_size", 0) or _CACHE_BYTES
        spare = torch.empty(2 * cache, dtype=torch.uint8, device="cuda")
        many = _captured(self._compute, count) if count > 1 else None
        # It is captured last, so that `out` is what its replays write.
        once = self._replay = _captured(self._compute, 1)
        return TimedLaunches(clock, once, many or once, count, spare.zero_, SLACK_S)

    def repeat(self, work: TimedLaunches) -> None:
        """Do once what is timed."""
        self.compute()

    def _compute(self) -> None:
        with arithmetic(self._precision):
            self.out = self._module(*self._data)


class TorchClock:
    """Events on PyTorch's present stream."""

    def mark(self) -> Any:
        import torch

        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, before: Any, after: Any) -> float:
        return float(before.elapsed_time(after))

    def synchronise(self) -> None:
        import torch

        torch.cuda.synchronize()


def _captured(call: Callable[[], object], count: int) -> Call:
    """A graph of ``count`` calls. Raises `RuntimeError` where they cannot be captured."""
    import torch

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            call()
    return lambda: graph.replay()
