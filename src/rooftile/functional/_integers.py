"""Integers of the caller that say where something is: labels of classes, and places of argmax.

Arrays in the CPU's memory are looked at, and an integer out of its range is an error. Arrays in a
GPU's memory are not checked, since the call would have to wait: kernels skip such a label, and take
the place that is nearest to such a place. So neither reads or writes outside of an array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rooftile.devices import cuda
from rooftile.devices.cuda import CudaArray
from rooftile.errors import InputError
from rooftile.ops.checks import is_whole
from rooftile.ops.gradients.nearest_places import NearestPlaces
from rooftile.ops.layers.conv2d import Conv2d
from rooftile.ops.problem import AnyArray
from rooftile.runtime.arguments import Arguments, Taken
from rooftile.runtime.calls.single import single

LABELS = ("int32", "int64")
_INT32 = np.iinfo(np.int32)


def taken_labels(
    given: Arguments[Any],
    name: str,
    labels: Any,
    axes: str,
    classes: int | None,
    ignored: int | None,
) -> Taken:
    """Labels as int32, each a class or ``ignored``; with ``classes`` None any integer of 32 bits.

    Raises `InputError` for another label in the CPU's memory, and for int64 in a GPU's.
    """
    held = given.take(name, labels, axes, dtypes=LABELS, empty=True)
    if isinstance(held, CudaArray):
        if held.dtype != "int32":
            raise InputError(name, f"dtype {held.dtype} on a GPU", "int32 there")
        return held
    if classes is None:
        wrong = (held < _INT32.min) | (held > _INT32.max)
        if wrong.any():
            raise InputError(name, int(held[wrong][0]), "integers of 32 bits")
    # Without their signs what is below 0 is above all else: one pass finds both.
    elif held.size and held.view(f"uint{8 * held.itemsize}").max() >= classes:
        wrong = (held < 0) | (held >= classes)
        if ignored is not None:
            wrong &= held != ignored
        if wrong.any():
            at = np.unravel_index(int(wrong.argmax()), held.shape)
            where = f"{name}[{', '.join(map(str, at))}]" if at else name
            or_ignored = "" if ignored is None else f", or {ignored}, which is ignored"
            raise InputError(where, int(held[at]), f"a class, 0 to {classes - 1}{or_ignored}")
    return held if held.dtype == np.int32 else held.astype(np.int32)


def on_the_host(given: Arguments[Any], array: Taken) -> AnyArray:
    """The array as NumPy's; the call waits for an array on a GPU."""
    if not isinstance(array, CudaArray):
        return array  # type: ignore[no-any-return]
    device, stream = cuda.lent_device(array.device), given.library.stream(array)
    made = np.empty(array.shape, array.dtype)
    with device.on(stream):
        if array.stream not in (None, stream):
            device.after_stream(array.stream)
        device.copy_out(array.address, made)
        device.synchronise()
    return made


def on_the_gpu(given: Arguments[Any], like: CudaArray, values: AnyArray) -> CudaArray:
    """A copy of NumPy's array in the memory of the GPU that holds another one."""
    device, stream = cuda.lent_device(like.device), given.library.stream(like)
    with device.on(stream):
        made = given.library.empty(values.shape, device, values.dtype.name)
        device.copy_in(values, made.address)
        device.synchronise()
    return made


def check_ignored(ignored: Any) -> None:
    """Raise `InputError` unless it is an integer of 32 bits."""
    if not is_whole(ignored) or not _INT32.min <= ignored <= _INT32.max:
        raise InputError("ignore_index", repr(ignored), "an integer of 32 bits")


def taken_places(given: Arguments[Any], layer: Conv2d, where: Taken) -> Taken:
    """The argmax of windows, each in its window of the layer's pool.

    Raises `InputError` for another place in the CPU's memory; in a GPU's the nearest one of the
    window stands for it.
    """
    assert layer.pool is not None
    if tuple(where.shape) != layer.output_shape:
        # What computes says which shape it wants.
        return where
    if isinstance(where, CudaArray):
        return _nearest(given, layer, where)
    (high, wide), (down, right) = layer.pool.window, layer.pool.stride
    row, column = np.divmod(where, layer.conv_size[1])
    row -= np.arange(where.shape[2], dtype=np.int32)[:, None] * down
    column -= np.arange(where.shape[3], dtype=np.int32) * right
    wrong = (row < 0) | (row >= high) | (column < 0) | (column >= wide)
    if wrong.any():
        at = np.unravel_index(int(wrong.argmax()), where.shape)
        raise InputError(
            f"where[{', '.join(map(str, at))}]",
            int(where[at]),
            f"row * {layer.conv_size[1]} + column of an output in its window of the pool",
        )
    return where


def _nearest(given: Arguments[Any], layer: Conv2d, where: CudaArray) -> CudaArray:
    """A copy with the nearest place of each window, made on the caller's stream."""
    device, stream = cuda.lent_device(where.device), given.library.stream(where)
    with device.on(stream):
        if where.stream not in (None, stream):
            device.after_stream(where.stream)
        made = given.library.empty(where.shape, device, "int32")
        launch_nearest(device, layer, where.address, made.address)
    return made


def launch_nearest(device: Any, layer: Conv2d, where: Any, made: Any) -> None:
    """Start what `_nearest` asks for on the device's present stream."""
    assert layer.pool is not None
    problem = NearestPlaces(layer.batch * layer.maps, *layer.conv_size, layer.pool)
    device.launches([single(device, problem, where, made)], ()).start(())
