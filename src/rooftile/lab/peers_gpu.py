"""PyTorch on an NVIDIA GPU, on the same inputs, by the same rules of timing.

What favours it is done: cuDNN searches its algorithms (benchmark mode), the input lies in
the GPU's memory in the format and layout that are asked for, ``torch.compile`` tunes its kernels
(max-autotune), and its work is captured into graphs as ours is: by us instead of by its mode's
own graphs, hence "max-autotune-no-cudagraphs", the same kernels replayed the same way.

A peer computes at one precision, and a rung is compared with peers of its own:

- ``ieee``: float32 throughout, TF32 off;
- ``tf32``: float32 arrays, TF32 allowed in convolutions and matrix products;
- ``fp16``, ``bf16``: module and input in half precision or bfloat16.

PyTorch's flags for these are the process's.  They are set around each of a peer's calls, and
work that was captured keeps those that it was captured under: peers of several precisions can
take turns.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rooftile.devices.select import parse_device
from rooftile.lab.expected import Verdict
from rooftile.lab.measure_gpu import Call, Work, launches
from rooftile.lab.peers import torch_module
from rooftile.lab.records import Row, peer_precision
from rooftile.ops import ERROR_MODELS, ErrorModel, Float32, Problem, check_precision

PEER_PRECISIONS = ("ieee", "tf32", "fp16", "bf16")
_FORMATS = {"fp16": "float16", "bf16": "bfloat16"}
"""PyTorch's names; elsewhere it is float32."""
_MODE = "max-autotune-no-cudagraphs"
_CACHE_BYTES = 128 * 2**20
_SLACK_S = 2e-4
_UNITS = {"tf32": 2.0**-10, "fp16": 2.0**-11, "bf16": 2.0**-8}
"""The largest relative error of one rounding; of TF32, one to which operands are cut off."""
_ROUNDINGS = 16
"""So many of them are still no wrong result: a wrong index is an error like the values themselves.
"""


@dataclass(frozen=True)
class GpuPeer:
    """One way to use PyTorch at one precision."""

    name: str
    precision: str = "ieee"
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
        """Copy to the GPU of this number, in the peer's own format; ``problem`` may be a `Chain`.

        At ``fp16`` and ``bf16`` the input is converted here, outside of what is timed, which
        favours the peer: a rung is given float32.  Raises whatever PyTorch raises.
        """
        import torch

        torch.cuda.set_device(index)
        dtype = getattr(torch, _FORMATS.get(self.precision, "float32"))
        module = torch_module(problem, parameters).to("cuda", dtype)
        data = torch.from_numpy(x).to("cuda", dtype)
        if self.channels_last and x.ndim == 4:
            module = module.to(memory_format=torch.channels_last)
            data = data.to(memory_format=torch.channels_last)
        if self.compiled:
            # Every module is a Sequential, and past a few compiled ones PyTorch would run the next
            # uncompiled, without an error.
            torch.compiler.reset()
            module = torch.compile(module, mode=_MODE, dynamic=False)
        return TorchCall(module, data, self.precision)


def gpu_peers(precision: str) -> tuple[GpuPeer, ...]:
    """The peers that a rung of this precision is compared with; for ``fast`` those of ``ieee``,
    whose library may choose transforms itself.  Raises `InputError` for an unknown one."""
    check_precision(precision)
    own = peer_precision(precision)
    return (
        GpuPeer("torch eager", own),
        GpuPeer("torch channels_last", own, channels_last=True),
        GpuPeer("torch compile", own, compiled=True),
        GpuPeer("torch compile channels_last", own, channels_last=True, compiled=True),
    )


def array_bytes(precision: str) -> int:
    """Of an element of a peer's input, parameters and result."""
    return 2 if precision in _FORMATS else 4


@contextlib.contextmanager
def arithmetic(precision: str) -> Iterator[None]:
    """PyTorch's flags for a precision: TF32 allowed at ``tf32`` alone, algorithm search on,
    gradients off; as they were afterwards.  Where it is not installed, nothing.

    The formats of `fp16` and `bf16` are those of module and input; that products of such may be
    summed in them too, where PyTorch splits a sum, is left as PyTorch has it.
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
    """A module on its input, both on the GPU."""

    def __init__(self, module: Any, data: Any, precision: str) -> None:
        self._module, self._data, self._precision = module, data, precision
        self._replay: Call | None = None
        self.out: Any = None

    def __call__(self) -> None:
        """Compute on PyTorch's present stream: from `work` on, by the graph that is timed."""
        if self._replay is None:
            self._compute()
        else:
            self._replay()

    def result(self) -> Float32:
        """The last result, as float32, NCHW."""
        return np.asarray(self.out.float().contiguous().cpu().numpy(), np.float32)

    def work(self) -> Work:
        """What is timed, captured under the precision's own flags."""
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
        # The last, so that `out` is what its replays write.
        once = self._replay = _captured(self._compute, 1)
        return Work(clock, once, many or once, count, spare.zero_, _SLACK_S)

    def _compute(self) -> None:
        with arithmetic(self._precision):
            self.out = self._module(self._data)


@dataclass(frozen=True)
class Prepared:
    """A peer that has computed once."""

    row: Callable[..., Row]
    """Of a status and the rest."""
    call: TorchCall
    work: Work
    first_call_ms: float
    """To copy, compile or search, and compute for the first time."""

    def computed(self) -> Float32:
        """Its result, computed anew by the work that is timed."""
        self.call()
        return self.call.result()


def prepare(
    peer: GpuPeer,
    problem: Problem,
    parameters: tuple[Float32, ...],
    x: Float32,
    device: str,
    report: Callable[[str], None],
) -> Prepared | Row:
    """Bind a peer, let it compute, capture its work; or the row that says why it did not."""
    row = functools.partial(Row, "peer", peer.name, device, peer.precision)
    reason = peer.why_not()
    if reason is not None:
        return row("skipped", reason)
    report(f"{peer.name} ({peer.precision})")
    try:
        start = time.perf_counter()
        call = peer.bind(problem, parameters, x, parse_device(device)[1])
        call()
        call.result()
        first = 1e3 * (time.perf_counter() - start)
        return Prepared(row, call, call.work(), first)
    except Exception as error:
        return row("error", f"{type(error).__name__}: {error}"[:500])


def errors_of(precision: str) -> ErrorModel:
    """The budget that a peer is held against: a rung's of its precision, with results in the
    peer's own format."""
    model = ERROR_MODELS[precision]
    return model if array_bytes(precision) == 4 else replace(model, results=precision)


def excuse(verdict: Verdict, precision: str) -> str | None:
    """What must be said of a result beyond its budget that its format's roundings explain; empty
    within the budget, None where the result is wrong.

    The budget knows of operands rounded to nearest once, and of sums in float32.  A library may
    cut operands off, round biases and what goes from layer to layer, and sum in 16 bits: its
    speed counts all the same, and its error stands beside it.
    """
    if verdict.passed:
        return ""
    unit = _UNITS.get(precision, 0.0)
    if not verdict.max_rel <= _ROUNDINGS * unit:
        return None
    return (
        f"its error, {verdict.max_rel:.1e} of the largest value, is {verdict.budget_fraction:.2g} "
        f"times the budget of {precision}, which has operands rounded once and sums in float32"
    )


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
