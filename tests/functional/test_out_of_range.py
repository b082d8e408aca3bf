"""Integers out of their range end in an error or by the stated rule, and never end the process."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rooftile
from rooftile.errors import InputError
from rooftile.functional import _integers
from rooftile.ops import Pool
from rooftile.ops.layers.conv2d import Conv2d

from . import integers_out_of_range

WITHOUT = {
    "activation_gradient", "add", "argreduce", "argsort", "axpy", "box_blur", "cg", "conv1d",
    "conv2d", "conv3d", "equalize", "grayscale", "identify", "linear", "linear_gradient", "load",
    "matmul", "matvec", "partition", "pool2d", "pool2d_gradient", "pool2d_winners", "reduce",
    "rotate", "scale", "scan", "separable", "softmax", "softmax_gradient", "sort_pairs", "spmm",
    "spmv", "stencil", "to_packets", "transpose", "unique",
}  # fmt: skip
"""Functions none of whose arrays says where something is."""


def test_every_public_function_is_known():
    public = {name for name in rooftile.__all__ if inspect.isfunction(getattr(rooftile, name))}
    assert public == WITHOUT | set(integers_out_of_range.CASES)


def test_no_integer_ends_the_process():
    program = Path(integers_out_of_range.__file__)
    command = [sys.executable, str(program), "7", "12"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (lines[-1:], done.stderr[-2000:])
    assert lines[-1] == "done"
    refused = {line.split()[0] for line in lines if " refused " in line and line[-2:] != " 0"}
    assert refused >= set(integers_out_of_range.CASES) - {"histogram", "compact", "sort"}


def test_labels_and_places_are_named():
    scores = np.zeros((3, 4), np.float32)
    for wrong in (10**8, 7, -1, 2**31 - 1):
        with pytest.raises(
            InputError, match=rf"labels\[1\]: got {wrong}; expected a class, 0 to 3"
        ):
            rooftile.softmax_cross_entropy(scores, np.array([0, wrong, 3], np.int32))
        with pytest.raises(InputError, match=rf"targets\[1\]: got {wrong}"):
            rooftile.loss_gradient(scores, np.array([0, wrong, 3], np.int32), "missed")
    with pytest.raises(InputError, match=r"targets\[0\]: got 2; expected a class, 0 to 1"):
        rooftile.loss_gradient(scores[:1, :1], np.array([2]), "sigmoid_cross_entropy")
    images, dy = np.ones((1, 1, 8, 8), np.float32), np.ones((1, 1, 3, 3), np.float32)
    where = np.full((1, 1, 3, 3), 10**8, np.int32)
    expected = r"where\[0, 0, 0, 0\]: got 100000000; expected row \* 6 \+ column"
    with pytest.raises(InputError, match=expected):
        rooftile.conv2d_weights_gradient(images, dy, 3, where=where, pool=("max", 2))
    with pytest.raises(InputError, match=expected):
        rooftile.conv2d_input_gradient(
            dy, images[..., :3, :3], (8, 8), where=where, pool=("max", 2)
        )
    # In the image, but in the window beside its own.
    where[...] = rooftile.pool2d_winners(images[..., :6, :6], 2)[1]
    where[0, 0, 1, 1] -= 2
    with pytest.raises(InputError, match=r"where\[0, 0, 1, 1\]"):
        rooftile.conv2d_weights_gradient(images, dy, 3, where=where, pool=("max", 2))


def test_places_on_a_gpu_are_brought_into_their_windows(opencl_device):
    layer = Conv2d(2, 1, 9, 11, 3, (3, 3), pool=Pool.of("max", (2, 3), (2, 2)))
    generator = np.random.default_rng(0)
    (high, wide), (down, right) = layer.pool.window, layer.pool.stride
    width = layer.conv_size[1]
    where = generator.choice(integers_out_of_range.WILD, layer.output_shape).astype(np.int32)
    where[0, 0, 0, :2] = 1, right + wide - 1
    with opencl_device.on():
        given, made = opencl_device.upload(where), opencl_device.allocate(where.nbytes)
        _integers.launch_nearest(opencl_device, layer, given, made)
        found = np.empty_like(where)
        opencl_device.copy_out(made, found)
    row, column = np.divmod(found, width)
    row -= np.arange(where.shape[2])[:, None] * down
    column -= np.arange(where.shape[3]) * right
    assert ((row >= 0) & (row < high) & (column >= 0) & (column < wide)).all()
    assert (found[0, 0, 0, :2] == where[0, 0, 0, :2]).all()
