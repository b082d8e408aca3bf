"""A training run's data and targets, checked, and converted to a network's numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError
from rooftile.nn.data.images import FASHION
from rooftile.nn.network import Network
from rooftile.nn.training.losses import LossName, Targets
from rooftile.nn.training.passes import Array
from rooftile.runtime.arrays.libraries import library_of

_LOOKED_AT = 4096
"""Items whose numbers are looked at at a time: data may be larger than memory."""
Data = NDArray[np.uint8] | NDArray[np.float32] | NDArray[np.float64]
"""uint8[n, height, width] or [n, channels, height, width] of any size, or float32 or float64 as the
network reads it: [n, *input_shape]."""


def data(network: Network, values: Any) -> Data:
    """Data as NumPy's, or `InputError` for some that the network cannot learn from."""
    dtypes = ("float32", "float64", "uint8")
    array: Data = library_of("data", values).on_host("data", values, dtypes)
    wanted = network.input_shape
    if array.dtype != np.uint8:
        fits = array.shape[1:] == wanted
        expected = f"float32[n, {', '.join(map(str, wanted))}], n > 0"
    else:
        channels = wanted[0]
        images = len(wanted) == 3
        fits = images and (array.shape[1:-2] == (channels,) or (array.ndim == 3 and channels == 1))
        expected = f"uint8[n, {channels}, height, width], n > 0" if images else "float32 features"
    if not fits or 0 in array.shape:
        raise InputError("data", f"{array.dtype}{list(array.shape)}", expected)
    _check_finite("data", array)
    return array


def standardised(network: Network, array: Data, *, prepared: bool) -> Data:
    """Numbers as the network's standardisation makes them, unless they are ``prepared`` already;
    images of uint8, which are prepared batch by batch, as they are.

    Raises `InputError` for images of uint8 that are called prepared.
    """
    if array.dtype != np.uint8:
        return array if prepared else network.interface.standardised(array)
    if prepared:
        raise InputError("data", "uint8 images, with prepared=True", "float32 as the layers read")
    return array


def told(network: Network, data: Data, targets: Targets) -> Network:
    """The network with what training on these data and targets says of its inputs and outputs."""
    if data.dtype == np.uint8 and network.pixels is None:
        network = replace(network, pixels=FASHION)
    if targets.dtype.kind == "f" and network.task is None:
        network = replace(network, task="regression")
    return network


def _check_finite(name: str, array: Any) -> None:
    """Raise `InputError` for the first item with a number that is none, or infinite."""
    if array.dtype.kind != "f":
        return
    for first in range(0, len(array), _LOOKED_AT):
        part = np.asarray(array[first : first + _LOOKED_AT])
        wrong = ~np.isfinite(part).reshape(len(part), -1).all(axis=1)
        if wrong.any():
            item = int(wrong.argmax())
            value = part[item][~np.isfinite(part[item])].flat[0]
            raise InputError(name, f"{value} in item {first + item}", "finite numbers")


def targets(network: Network, values: Any, loss: LossName) -> Targets:
    """Labels or wanted outputs as NumPy's, or `InputError` for some that the loss does not take."""
    dtypes = ("int64", "int32", "uint8", "float32", "float64")
    array: Targets = library_of("targets", values).on_host("targets", values, dtypes)
    outputs = network.output_shape[0]
    if array.dtype.kind == "f":
        if not loss.endswith("squared_error") or array.shape[1:] != (outputs,):
            found = f"{array.dtype}{list(array.shape)} for {loss}"
            expected = f"integer labels, or for a squared error numbers[n, {outputs}]"
            raise InputError("targets", found, expected)
        _check_finite("targets", array)
        return array
    if array.ndim != 1 or not len(array):
        raise InputError("targets", f"{array.dtype}{list(array.shape)}", "one label of each item")
    classes = max(2, outputs)
    if array.max() >= classes or array.min() < 0:
        found = array.max() if array.max() >= classes else array.min()
        raise InputError("targets", f"a label of {found}", f"labels below {classes}, 0 at least")
    return array


def numbers(network: Network, part: Data, dtype: str) -> Array:
    """The network's input from some data, in the dtype of training."""
    if part.dtype == np.uint8:
        return network.prepare(part.astype(np.uint8, copy=False)).astype(dtype, copy=False)
    return part.astype(dtype, copy=False)
