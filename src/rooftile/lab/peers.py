"""Other libraries on the same problem: the same inputs, budget, threads and timer.

What favours a peer is done: its parameters are packed and its input is put into
its preferred layout before the clock starts (eager torch packs weights in each
call by its own choice), and the C library is told to keep memory that is freed,
see `keeping_memory`; without that, page faults on each call's fresh output make
large batches up to four times slower.  All of them compute in float32: reduced
precisions that they would choose by themselves are switched off.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices import cpu
from rooftile.lab._onnx import onnx_model
from rooftile.ops import Conv2d, Float32, Linear, Pool, Pool2d, Problem, Softmax
from rooftile.ops.chain import Chain

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
"""Names of glibc's malloc.h."""
_TRIM_DEFAULT, _MMAP_DEFAULT = 128 * 1024, 65536


@dataclass
class PeerCall:
    """A peer bound to parameters; callable as a strategy's ``bound(x, out)`` is."""

    load: Callable[[Float32], Any]
    """The input in the peer's own kind of array and layout."""
    compute: Callable[[Any], Any]
    """The timed part."""
    fetch: Callable[[Any], NDArray[Any]]
    """The peer's result as a NumPy array."""
    _loaded: Any = None

    def __call__(self, x: Float32, out: Float32) -> None:
        self._loaded = self.load(x)
        out[...] = self.fetch(self.compute(self._loaded)).reshape(out.shape)

    def run(self) -> Any:
        """Compute once more on the input of the last call."""
        return self.compute(self._loaded)


@dataclass(frozen=True)
class Peer:
    """A library, or one way to use it."""

    name: str
    packages: tuple[str, ...]
    build: Callable[[Problem, tuple[Float32, ...]], PeerCall]

    def why_not(self) -> str | None:
        """Which package is missing; None when all are installed."""
        missing = [name for name in self.packages if importlib.util.find_spec(name) is None]
        return f"not installed: {', '.join(missing)}" if missing else None

    def bind(self, problem: Problem, *parameters: Float32) -> PeerCall:
        """Build and pack.  Raises whatever the library raises."""
        return self.build(problem, parameters)


@contextlib.contextmanager
def keeping_memory() -> Iterator[bool]:
    """Let malloc keep what is freed, as a long-running service would have it.

    ``mallopt(M_MMAP_MAX, 0)``: large blocks come from the heap, where a freed one is
    found again, instead of from fresh pages of the kernel.  ``M_TRIM_THRESHOLD``: the
    heap's end is not given back.  (``M_MMAP_THRESHOLD`` alone would not do: glibc caps it
    at 32 MiB.)  Yields whether the C library took it; glibc does, others have no mallopt.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        yield False
        return
    taken = bool(mallopt(_M_MMAP_MAX, 0)) and bool(mallopt(_M_TRIM_THRESHOLD, 2**31 - 1))
    try:
        yield taken
    finally:
        mallopt(_M_MMAP_MAX, _MMAP_DEFAULT)
        mallopt(_M_TRIM_THRESHOLD, _TRIM_DEFAULT)


def _torch_eager(problem: Problem, parameters: tuple[Float32, ...]) -> PeerCall:
    torch = _torch()
    return _torch_call(torch_module(problem, parameters), torch.from_numpy)


def _torch_channels_last(problem: Problem, parameters: tuple[Float32, ...]) -> PeerCall:
    torch = _torch()
    last = torch.channels_last
    module = torch_module(problem, parameters).to(memory_format=last)

    def load(x: Float32) -> Any:
        tensor = torch.from_numpy(x)
        return tensor.to(memory_format=last) if x.ndim == 4 else tensor

    return _torch_call(module, load)


def _torch_compiled(problem: Problem, parameters: tuple[Float32, ...]) -> PeerCall:
    torch = _torch()
    import torch._inductor.config as inductor

    inductor.freezing = True
    torch._dynamo.reset()
    compiled = torch.compile(torch_module(problem, parameters), dynamic=False)
    return _torch_call(compiled, torch.from_numpy)


def _torch() -> Any:
    import torch

    torch.set_num_threads(cpu.cores())
    torch.set_float32_matmul_precision("highest")
    return torch


def _torch_call(module: Any, load: Callable[[Float32], Any]) -> PeerCall:
    import torch

    def compute(x: Any) -> Any:
        with torch.no_grad():  # Freezing wants no_grad, not inference_mode.
            return module(x)

    return PeerCall(load, compute, lambda result: np.asarray(result.contiguous().numpy()))


def torch_module(problem: Problem, parameters: tuple[Float32, ...]) -> Any:
    """The problem as a PyTorch module holding copies of the parameters."""
    import torch

    shares = problem.shares(parameters) if isinstance(problem, Chain) else [(problem, parameters)]
    modules: list[Any] = []
    for layer, own in shares:
        modules += _torch_layer(layer, own)
    return torch.nn.Sequential(*modules).eval().requires_grad_(False)


def _torch_layer(layer: Problem, parameters: tuple[Float32, ...]) -> list[Any]:
    import torch
    from torch import nn

    activations = {"relu": nn.ReLU, "sigmoid": nn.Sigmoid, "tanh": nn.Tanh}
    pools = {"max": nn.MaxPool2d, "average": nn.AvgPool2d}

    def pooled(pool: Pool | None) -> list[Any]:
        return [] if pool is None else [pools[pool.kind](pool.window, pool.stride)]

    def activated(name: str) -> list[Any]:
        return [] if name == "none" else [activations[name]()]

    def filled(module: Any) -> Any:
        # Copies: a compiler may constant-fold the weights, and must not change ours.
        module.weight.data, module.bias.data = (torch.tensor(p) for p in parameters)
        return module

    if isinstance(layer, Conv2d):
        size = (layer.channels, layer.maps, layer.mask, layer.stride, layer.padding)
        conv = filled(nn.Conv2d(*size))
        return [conv, *activated(layer.activation), *pooled(layer.pool)]
    if isinstance(layer, Linear):
        linear = filled(nn.Linear(layer.inputs, layer.outputs))
        return [nn.Flatten(), linear, *activated(layer.activation)]
    if isinstance(layer, Pool2d):
        return pooled(layer.pool)
    if isinstance(layer, Softmax):
        return [nn.Softmax(dim=1)]
    raise TypeError(f"no torch module for {layer}")


def _onnxruntime(problem: Problem, parameters: tuple[Float32, ...]) -> PeerCall:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = cpu.cores(), 1
    session = onnxruntime.InferenceSession(
        onnx_model(problem, parameters), options, providers=["CPUExecutionProvider"]
    )
    return PeerCall(
        load=lambda x: {"x": x},
        compute=lambda inputs: session.run(None, inputs)[0],
        fetch=np.asarray,
    )


def _openvino(problem: Problem, parameters: tuple[Float32, ...]) -> PeerCall:
    import openvino

    core = openvino.Core()
    model = core.read_model(model=onnx_model(problem, parameters))
    config = {
        "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": cpu.cores(),
    }
    request = core.compile_model(model, "CPU", config).create_infer_request()
    return PeerCall(
        load=lambda x: openvino.Tensor(x, shared_memory=True),
        compute=lambda tensor: request.infer({0: tensor}, share_inputs=True, share_outputs=True)[0],
        fetch=np.asarray,
    )


PEERS: tuple[Peer, ...] = (
    Peer("torch eager", ("torch",), _torch_eager),
    Peer("torch channels_last", ("torch",), _torch_channels_last),
    Peer("torch compile, frozen", ("torch",), _torch_compiled),
    Peer("onnxruntime", ("onnx", "onnxruntime"), _onnxruntime),
    Peer("openvino", ("onnx", "openvino"), _openvino),
)
"""Each is timed in turn, after its own warm-up."""
