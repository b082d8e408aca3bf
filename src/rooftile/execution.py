"""How a checked call runs on a GPU: on NumPy arrays, or on arrays that already lie there.

What a call has compiled stays loaded until the process ends, as in PyTorch and CuPy; the
memory that it needs lasts as long as the call.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from rooftile.arrays import Library
from rooftile.devices import cuda
from rooftile.devices.cuda import CudaArray, CudaDevice
from rooftile.devices.gpu import GpuDevice
from rooftile.devices.select import open_gpu
from rooftile.errors import UnsupportedProblem
from rooftile.lab.winners import tuned_config
from rooftile.ops import Float32, Problem
from rooftile.strategies.gpu import GpuStrategy
from rooftile.strategies.resident import Resident

_residents: dict[tuple[GpuStrategy, Problem, GpuDevice], Resident] = {}
_making = threading.Lock()


def run_copied(
    rung: GpuStrategy,
    problem: Problem,
    x: Float32,
    parameters: Mapping[str, Float32 | None],
    out: Float32,
    device_name: str,
) -> None:
    """Copy contiguous NumPy arrays to a GPU, compute there, and copy the result back.

    Raises `DeviceMissing`, `CompileFailure`, `OutOfMemory`.
    """
    with cuda.kept_context():
        device = open_gpu(device_name)
    # In a function of its own: what it allocates must go while the GPU is still the thread's.
    with device.on():
        _copied(_resident(rung, problem, device), x, parameters, out)


def _copied(
    resident: Resident, x: Float32, parameters: Mapping[str, Float32 | None], out: Float32
) -> None:
    device, held = resident.device, list[Any]()

    def allocate(count: int) -> Any:
        held.append(device.allocate(4 * count))
        return held[-1]

    given, result = device.upload(x), allocate(out.size)
    resident.run(given, parameters, result, len(x), allocate)
    device.copy_out(result, out)


def run_in_place(
    library: Library,
    rung: GpuStrategy,
    problem: Problem,
    x: CudaArray,
    parameters: Mapping[str, CudaArray | None],
    out: CudaArray | None,
) -> Any:
    """Start the computation on the caller's stream; gives the result as the library's array.

    Raises `UnsupportedProblem` for a call that the caller's graph must not capture, and the
    errors of `run_copied`.
    """
    with cuda.kept_context():
        device: Any = open_gpu(f"cuda:{x.device}")
    with device.on(library.stream(x)):
        for array in (*parameters.values(), out):
            if array is not None and array.stream not in (None, x.stream):
                device.after_stream(array.stream)
        resident = _compiled(library, rung, problem, device)
        if out is None:
            out = library.result(problem.output_shape, device)
        _in_place(library, resident, device, x, parameters, out)
        return library.finish(out, device)


def _in_place(
    library: Library,
    resident: Resident,
    device: CudaDevice,
    x: CudaArray,
    parameters: Mapping[str, CudaArray | None],
    out: CudaArray,
) -> None:
    held: list[CudaArray] = []

    def allocate(count: int) -> Any:
        held.append(library.empty((count,), device))
        return held[-1].address

    addresses = {name: None if a is None else a.address for name, a in parameters.items()}
    resident.run(x.address, addresses, out.address, x.shape[0], allocate)


def _compiled(
    library: Library, rung: GpuStrategy, problem: Problem, device: CudaDevice
) -> Resident:
    """The kernels; where the stream is being captured, only if the graph may hold the call."""
    if not device.capturing():
        with device.on():
            return _resident(rung, problem, device)
    resident = _residents.get((rung, _padded(problem), device))
    reason: str | None = None
    instead = "another strategy"
    if not library.capturable:
        reason, instead = f"{library.title} brings no memory for it", "PyTorch or CuPy"
    elif resident is None:
        reason, instead = "it is not compiled yet", "the same call once before the capture"
    else:
        reason = resident.not_in_graphs
    if resident is None or reason is not None:
        raise UnsupportedProblem(rung.name, f"a graph is being captured, and {reason}", instead)
    return resident


def _resident(rung: GpuStrategy, problem: Problem, device: GpuDevice) -> Resident:
    key = rung, _padded(problem), device
    with _making:
        if key not in _residents:
            config = tuned_config(rung, key[1], device.description)
            _residents[key] = Resident(rung.compile(key[1], device, config))
        return _residents[key]


def _padded(problem: Problem) -> Problem:
    """For a power of two of images: batches of every size share a few compilations."""
    return problem.with_batch(1 << (problem.batch - 1).bit_length())
