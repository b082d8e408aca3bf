"""How a checked call runs: on the host, on a GPU that gets copies of NumPy arrays, or in place.

What a call has compiled for a GPU stays loaded until the process ends, as in PyTorch and CuPy;
the memory that it needs lasts as long as the call.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from rooftile.devices import cpu, cuda
from rooftile.devices.cuda import CudaArray, CudaDevice
from rooftile.devices.gpu import GpuDevice
from rooftile.devices.select import open_gpu
from rooftile.errors import UnsupportedProblem
from rooftile.ops import Problem
from rooftile.ops.problem import numpy_dtype
from rooftile.runtime.arrays import Library
from rooftile.runtime.choice import Choice
from rooftile.strategies import Strategy
from rooftile.strategies.cpu import HostBound
from rooftile.strategies.resident import Resident

_Key = tuple[Strategy, Problem, GpuDevice, tuple[tuple[str, int], ...]]
_residents: dict[_Key, Resident] = {}
_making = threading.Lock()

Named = Mapping[str, Any]
"""Arrays by the problem's names; a parameter that is None stands for zeros."""


def run_on_host(
    choice: Choice, inputs: Sequence[Any], parameters: Sequence[Any], outputs: Sequence[Any]
) -> None:
    """Compute on NumPy arrays with a strategy of the CPU.  Raises `OutOfMemory`.

    What was bound waits for the next call of its problem, which packs its parameters into it.
    """
    problem, given = choice.problem, parameters
    if any(parameter is None for parameter in parameters):
        places = zip(parameters, problem.parameter_arrays, strict=True)
        given = [_zeros(a.shape, a.dtype) if given is None else given for given, a in places]
    rung: Any = choice.strategy
    device = cpu.open_device()
    once = rung.once(problem, given, device)
    if once is not None:
        once(*inputs, *outputs)
        return
    bound = _waiting.take(choice)
    if bound is None:
        bound = rung.bind(problem, given, device)
    else:
        bound.renew(given)
    bound(*inputs, *outputs)
    if bound.renewable:
        _waiting.keep(choice, bound)


@lru_cache(maxsize=64)
def _zeros(shape: tuple[int, ...], dtype: str) -> Any:
    """What stands for a parameter that was not given."""
    return np.zeros(shape, numpy_dtype(dtype))


class _Waiting:
    """Bound strategies of the CPU that no call uses now: the least recently used go first."""

    def __init__(self, most_bytes: int) -> None:
        self._most, self._bytes = most_bytes, 0
        self._bound: OrderedDict[Any, list[HostBound]] = OrderedDict()
        self._turn = threading.Lock()

    def take(self, choice: Choice) -> HostBound | None:
        """One for this choice, which is the caller's from now on; None where none waits."""
        with self._turn:
            waiting = self._bound.get((choice.strategy, choice.problem))
            if not waiting:
                return None
            bound = waiting.pop()
            self._bytes -= bound.nbytes
            return bound

    def keep(self, choice: Choice, bound: HostBound) -> None:
        """Let it wait for the next call."""
        key = choice.strategy, choice.problem
        with self._turn:
            self._bound.setdefault(key, []).append(bound)
            self._bound.move_to_end(key)
            self._bytes += bound.nbytes
            while self._bytes > self._most or len(self._bound) > _MOST_WAITING:
                _, dropped = self._bound.popitem(last=False)
                self._bytes -= sum(one.nbytes for one in dropped)


_MOST_WAITING = 256
"""Problems whose bound strategies wait."""
_waiting = _Waiting(most_bytes=2**28)


def run_copied(choice: Choice, ends: Named, parameters: Named) -> None:
    """Copy contiguous NumPy arrays to a GPU, compute there, and copy the outputs back.

    Raises `DeviceMissing`, `CompileFailure`, `OutOfMemory`.
    """
    with cuda.kept_context():
        device = open_gpu(choice.device)
    # `_copied` is a function of its own, so that what it allocates is freed while the GPU is still
    # the thread's.
    with device.on():
        _copied(_resident(choice, device), choice.problem, ends, parameters)


def _copied(resident: Resident, problem: Problem, ends: Named, parameters: Named) -> None:
    device, held = resident.device, list[Any]()

    def allocate(count: int) -> Any:
        held.append(device.allocate(4 * count))
        return held[-1]

    outputs = {array.name for array in problem.output_arrays}
    there = {
        name: device.empty(a.shape, a.dtype) if name in outputs else device.upload(a)
        for name, a in ends.items()
    }
    resident.run(there, parameters, problem.batch_size, allocate)
    for name in outputs:
        device.copy_out(there[name], ends[name])


def run_in_place(
    library: Library, choice: Choice, inputs: Named, parameters: Named, outputs: Named
) -> tuple[Any, ...]:
    """Start the computation on the caller's stream; gives the outputs as the library's arrays.

    An output that is None is made.  Raises `UnsupportedProblem` for a call that the caller's
    graph must not capture, and the errors of `run_copied`.
    """
    first: CudaArray = next(iter(inputs.values()))
    with cuda.kept_context():
        device: Any = open_gpu(f"cuda:{first.device}")
    with device.on(library.stream(first)):
        for array in (*inputs.values(), *parameters.values(), *outputs.values()):
            if array is not None and array.stream not in (None, first.stream):
                device.after_stream(array.stream)
        resident = _compiled(library, choice, device)
        made = {
            array.name: outputs[array.name] or library.result(array.shape, device, array.dtype)
            for array in choice.problem.output_arrays
        }
        _in_place(library, resident, device, choice.problem, {**inputs, **made}, parameters)
        return tuple(library.finish(out, device) for out in made.values())


def _in_place(
    library: Library,
    resident: Resident,
    device: CudaDevice,
    problem: Problem,
    ends: Mapping[str, CudaArray],
    parameters: Mapping[str, CudaArray | None],
) -> None:
    held: list[CudaArray] = []

    def allocate(count: int) -> Any:
        held.append(library.empty((count,), device))
        return held[-1].address

    addresses = {name: None if a is None else a.address for name, a in parameters.items()}
    there = {name: a.address for name, a in ends.items()}
    resident.run(there, addresses, problem.batch_size, allocate)


def _compiled(library: Library, choice: Choice, device: CudaDevice) -> Resident:
    """The compiled kernels.

    Raises `UnsupportedProblem` where the stream is being captured and the graph may not hold the
    call.
    """
    if not device.capturing():
        with device.on():
            return _resident(choice, device)
    resident = _residents.get(_key(choice, device))
    reason: str | None = None
    instead = "another strategy"
    if not library.capturable:
        reason, instead = f"{library.title} brings no memory for it", "PyTorch or CuPy"
    elif resident is None:
        reason, instead = "it is not compiled yet", "the same call once before the capture"
    else:
        reason = resident.not_in_graphs
    if resident is None or reason is not None:
        name = choice.strategy.name
        raise UnsupportedProblem(name, f"a graph is being captured, and {reason}", instead)
    return resident


def _resident(choice: Choice, device: Any) -> Resident:
    key = _key(choice, device)
    rung: Any = choice.strategy
    with _making:
        if key not in _residents:
            _residents[key] = Resident(rung.compile(key[1], device, choice.config))
        return _residents[key]


def _key(choice: Choice, device: GpuDevice) -> _Key:
    config = tuple(sorted((choice.config or {}).items()))
    return choice.strategy, _padded(choice.problem), device, config


def _padded(problem: Problem) -> Problem:
    """The problem for the next power of two of items: all batches share a few compilations."""
    batch = problem.batch_size
    return problem if batch is None else problem.with_batch(1 << (batch - 1).bit_length())
