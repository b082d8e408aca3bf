"""Other libraries on the CPU: the same inputs, budget, threads and timer.

We do what favours a peer: its parameters are packed and its input is put into its preferred layout
before the clock starts (eager torch packs weights in each call by its own choice), and the C
library is told to keep memory that is freed, see `keeping_memory`; without that, page faults on
each call's fresh output make large batches up to four times slower.  All peers compute in float32:
reduced precisions that they would choose by themselves are switched off.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices import cpu
from rooftile.lab.judge.arithmetic import errors_of
from rooftile.lab.measure.peers.onnx import onnx_model
from rooftile.lab.measure.peers.torch_module import channels_last, lacking, peers_of, torch_module
from rooftile.ops import AnyArray, ErrorModel, Problem

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
"""Constants of glibc's malloc.h."""
_TRIM_DEFAULT, _MMAP_DEFAULT = 128 * 1024, 65536
"""glibc's values at the start."""

Inputs = Sequence[AnyArray]


@dataclass
class PeerCall:
    """A peer bound to parameters."""

    load: Callable[[Inputs], Any]
    """The inputs in the peer's own kind of array and layout."""
    run: Callable[[Any], Any]
    """The timed part."""
    fetch: Callable[[Any], NDArray[Any]]
    """The peer's result as a NumPy array."""
    problem: Problem
    _loaded: Any = None
    _made: Any = None

    def give(self, inputs: Inputs) -> None:
        """Load the inputs that are computed from now on."""
        self._loaded = self.load(inputs)

    def compute(self) -> None:
        """Compute once on what is loaded."""
        self._made = self.run(self._loaded)

    def result(self) -> tuple[AnyArray, ...]:
        """The results of the last computation."""
        return self.problem.given_by_others(self.fetch(self._made))

    def work(self, clock: Any) -> Any:
        """The work that a contest's clock times."""
        return clock.work(self.compute)

    def repeat(self, work: Any) -> None:
        """Do once what is timed."""
        self.compute()

    def __call__(self, *arrays: AnyArray) -> None:
        """Compute on NumPy arrays, inputs and then outputs."""
        count = len(arrays) - len(self.problem.output_arrays)
        self.give(arrays[:count])
        self.compute()
        for out, made in zip(arrays[count:], self.result(), strict=True):
            out[...] = made


@dataclass(frozen=True)
class Peer:
    """A library, or one way to use it."""

    name: str
    packages: tuple[str, ...]
    brings: str
    """The function of an operation's ``peers`` that says how it computes it."""
    build: Callable[[Problem, Sequence[AnyArray]], PeerCall]
    precision: str = "ieee"

    @property
    def errors(self) -> ErrorModel:
        """The budget that it is held against."""
        return errors_of(self.precision)

    def missing(self) -> str | None:
        """The packages that are missing; None when all are there."""
        missing = [name for name in self.packages if importlib.util.find_spec(name) is None]
        return f"not installed: {', '.join(missing)}" if missing else None

    def why_not(self, problem: Problem) -> str | None:
        """The missing package, or that no operation says how to compute it; None when it can
        run."""
        return self.missing() or lacking(problem, self.brings)

    def bind(
        self,
        problem: Problem,
        parameters: Sequence[AnyArray],
        inputs: Inputs = (),
        device: object = None,
    ) -> PeerCall:
        """Build and pack, and load the inputs.  Raises whatever the library raises."""
        call = self.build(problem, parameters)
        if inputs:
            call.give(inputs)
        return call


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


def _torch_eager(problem: Problem, parameters: Sequence[AnyArray]) -> PeerCall:
    torch = _torch()
    return _torch_call(problem, torch_module(problem, parameters), torch.from_numpy)


def _torch_channels_last(problem: Problem, parameters: Sequence[AnyArray]) -> PeerCall:
    torch = _torch()
    module = torch_module(problem, parameters)
    if not channels_last(problem):
        return _torch_call(problem, module, torch.from_numpy)
    last = torch.channels_last
    return _torch_call(
        problem, module.to(memory_format=last), lambda x: torch.from_numpy(x).to(memory_format=last)
    )


def _torch_compiled(problem: Problem, parameters: Sequence[AnyArray]) -> PeerCall:
    torch = _torch()
    import torch._inductor.config as inductor

    inductor.freezing = True
    torch._dynamo.reset()
    compiled = torch.compile(torch_module(problem, parameters), dynamic=False)
    return _torch_call(problem, compiled, torch.from_numpy)


def _torch() -> Any:
    import torch

    torch.set_num_threads(cpu.cores())
    torch.set_float32_matmul_precision("highest")
    return torch


def _torch_call(problem: Problem, module: Any, load: Callable[[AnyArray], Any]) -> PeerCall:
    import torch

    def run(inputs: Any) -> Any:
        with torch.no_grad():  # Freezing wants no_grad, not inference_mode.
            return module(*inputs)

    return PeerCall(
        lambda inputs: [load(one) for one in inputs],
        run,
        lambda result: np.asarray(result.contiguous().numpy()),
        problem,
    )


def _onnxruntime(problem: Problem, parameters: Sequence[AnyArray]) -> PeerCall:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = cpu.cores(), 1
    session = onnxruntime.InferenceSession(
        onnx_model(problem, parameters), options, providers=["CPUExecutionProvider"]
    )
    names = [one.name for one in session.get_inputs()]
    return PeerCall(
        lambda inputs: dict(zip(names, inputs, strict=True)),
        lambda given: session.run(None, given)[0],
        np.asarray,
        problem,
    )


def _openvino(problem: Problem, parameters: Sequence[AnyArray]) -> PeerCall:
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
        lambda inputs: {i: openvino.Tensor(a, shared_memory=True) for i, a in enumerate(inputs)},
        lambda given: request.infer(given, share_inputs=True, share_outputs=True)[0],
        np.asarray,
        problem,
    )


def _function(problem: Problem, parameters: Sequence[AnyArray], brings: str) -> PeerCall:
    """A library that takes and gives NumPy arrays, by the function of its operation."""
    function = getattr(peers_of(problem.operation), brings)(problem, parameters)
    return PeerCall(lambda inputs: inputs, lambda given: function(*given), np.asarray, problem)


def _numpy(problem: Problem, parameters: Sequence[AnyArray]) -> PeerCall:
    return _function(problem, parameters, "numpy_function")


def _scipy(problem: Problem, parameters: Sequence[AnyArray]) -> PeerCall:
    return _function(problem, parameters, "scipy_function")


PEERS: tuple[Peer, ...] = (
    Peer("torch eager", ("torch",), "torch_modules", _torch_eager),
    Peer("torch channels_last", ("torch",), "torch_modules", _torch_channels_last),
    Peer("torch compile, frozen", ("torch",), "torch_modules", _torch_compiled),
    Peer("onnxruntime", ("onnx", "onnxruntime"), "onnx_nodes", _onnxruntime),
    Peer("openvino", ("onnx", "openvino"), "onnx_nodes", _openvino),
    Peer("numpy", ("numpy",), "numpy_function", _numpy),
    Peer("scipy", ("scipy",), "scipy_function", _scipy),
)
"""Each is timed in turn, after its own warm-up."""
