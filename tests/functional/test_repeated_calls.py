"""Calls that repeat one before, on a device that only notes: what they launch, what they refuse."""

from __future__ import annotations

import copy
import sys
from collections import deque

import numpy as np
import pytest

import rooftile
from rooftile.devices import cuda
from rooftile.devices.cuda import graph_launches
from rooftile.runtime import arguments
from rooftile.runtime.calls import fast_path, workspace
from rooftile.runtime.calls import gpu as execution
from rooftile.runtime.selection import choice
from rooftile.strategies.binding.execution import Workspace
from tests.support import fake_cuda

STREAM = 7


@pytest.fixture
def device(monkeypatch):
    device = fake_cuda.Device()
    for name in ("lent_device", "open_device"):
        monkeypatch.setattr(cuda, name, lambda index=0: device)
    monkeypatch.setattr(choice, "kept", {})
    monkeypatch.setattr(execution, "executables", {})
    return device


@pytest.fixture
def cupy(device, monkeypatch):
    module = fake_cuda.library(device)
    module.current = STREAM
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@pytest.fixture
def longs(monkeypatch):
    """How many calls went the long way."""
    seen = []
    take = arguments.Arguments.take

    def counted(self, name, *rest, **options):
        seen.append(name)
        return take(self, name, *rest, **options)

    monkeypatch.setattr(arguments.Arguments, "take", counted)
    return seen


def arguments_of(launch):
    return launch[1][1]


def test_the_second_call_launches_on_the_new_arrays(cupy, device, longs):
    problem = (2, 3, 12, 20), (5, 3, 3, 4)
    first = rooftile.conv2d(*map(cupy.ndarray, problem), strategy="im2col_register")
    kernels = [details[0] for _, details in device.of("launch")]
    device.log.clear()
    longs.clear()
    x, weights = map(cupy.ndarray, problem)
    y = rooftile.conv2d(x, weights, strategy="im2col_register")
    assert not longs
    assert y is not first
    assert y.shape == first.shape
    assert [details[0] for _, details in device.of("launch")] == kernels
    assert {stream for stream, _ in device.of("launch")} == {STREAM}
    rearrange, conv2d = map(arguments_of, device.of("launch"))
    assert rearrange[0] == weights.data.ptr
    assert {x.data.ptr, y.data.ptr} <= set(conv2d)


@pytest.mark.parametrize("overlaps", [False, True])
def test_a_launch_that_overlaps_is_no_graph(overlaps, cupy, device, monkeypatch):
    """Where nothing is packed: then the GPU's time counts."""
    replayed = []
    monkeypatch.setattr(
        graph_launches.GraphLaunches, "start", lambda _, *given: replayed.append(given)
    )
    monkeypatch.setattr(fake_cuda.Launches, "overlaps", overlaps)

    def repeat(function, *shapes):
        replayed.clear()
        for _ in range(2):
            function(*map(cupy.ndarray, shapes))
        return len(replayed)

    assert repeat(rooftile.matmul, (16, 24), (24, 40)) == (0 if overlaps else 1)
    assert repeat(rooftile.linear, (16, 24), (40, 24)) == 1


def test_small_temporaries_stay_with_their_stream(cupy, device):
    def call(stream):
        cupy.current = stream
        x, weights = cupy.ndarray((2, 3, 12, 20)), cupy.ndarray((5, 3, 3, 4))
        device.log.clear()
        rooftile.conv2d(x, weights, strategy="im2col_register")
        return len(device.of("alloc"))

    assert [call(stream) for stream in (7, 7, 7, 8, 8, 7)] == [2, 2, 1, 2, 1, 1]
    device.is_capturing_now = True
    assert call(7) == 2


def test_large_temporaries_are_made_anew(cupy, device, monkeypatch):
    def call():
        x, weights = cupy.ndarray((2, 3, 12, 20)), cupy.ndarray((5, 3, 3, 4))
        device.log.clear()
        rooftile.conv2d(x, weights, strategy="im2col_register")
        return len(device.of("alloc"))

    monkeypatch.setattr(workspace, "MOST", 1)
    assert [call() for _ in range(3)] == [2, 2, 2]


def test_calls_together_keep_a_few_large_temporaries(monkeypatch):
    made = []

    def call(rooms_of, stream=7):
        before = len(made)
        room = rooms_of.kept.get(stream) or rooms_of.keep(stream)
        assert room[1] == [made[room[0]], made[room[0]] + 8]
        return len(made) - before

    def rooms_for(nbytes):
        def make():
            made.append(1000 * len(made))
            return len(made) - 1, made[-1]

        return workspace.StreamWorkspaces(make, Workspace({}, (0, 8), nbytes))

    monkeypatch.setattr(workspace, "kept_workspaces", deque())
    monkeypatch.setattr(workspace, "LARGE", 10)
    monkeypatch.setattr(workspace, "MOST", 100)
    small, one, two, three = map(rooms_for, (10, 40, 60, 50))
    assert not rooms_for(101).are_kept
    assert [call(which) for which in (small, one, two, one, two)] == [1, 1, 1, 0, 0]
    # A third one takes the room of the first, and needs a part of the second's.
    assert [call(which) for which in (three, three, small, one, two)] == [1, 0, 0, 1, 1]


def test_what_a_graph_captured_serves_no_later_call(cupy, device, longs):
    def call():
        x, mask = cupy.ndarray((1000,)), cupy.ndarray((5,))
        device.log.clear()
        longs.clear()
        rooftile.conv1d(x, mask, strategy="constant")
        return ["turn begins" in [what for what, *_ in device.log], bool(longs)]

    assert [call(), call()] == [[True, True], [True, False]]
    device.is_capturing_now = True
    assert call() == [False, True]
    device.is_capturing_now = False
    assert call() == [True, False]


def test_what_is_not_plain_goes_the_long_way(cupy, device, longs):
    def call(x=None, weights=None, **options):
        longs.clear()
        rooftile.conv2d(
            x or cupy.ndarray((2, 3, 12, 20)), weights or cupy.ndarray((5, 3, 3, 4)), **options
        )
        return bool(longs)

    assert [call(), call()] == [True, False]
    assert call(x=cupy.ndarray((2, 3, 12, 20), contiguous=False))
    assert call(x=cupy.ndarray((2, 3, 12, 20), address=2**20 + 4))
    assert call(x=cupy.ndarray((3, 3, 12, 20)))
    assert call(padding=1)
    assert not call()
    with pytest.raises(rooftile.InputError, match="weights"):
        call(weights=cupy.ndarray((5, 3, 3, 4), gpu=1))
    with pytest.raises(rooftile.InputError, match="float64"):
        call(weights=cupy.ndarray((5, 3, 3, 4), dtype=np.float64))
    with pytest.raises(rooftile.InputError, match="stride"):
        call(stride=True)
    x = cupy.ndarray((2, 3, 12, 20))
    with pytest.raises(rooftile.InputError, match="overlaps"):
        call(x=x, out=cupy.ndarray((2, 5, 10, 17), address=x.data.ptr + 64))


def test_only_so_many_calls_are_kept(cupy, monkeypatch, longs):
    monkeypatch.setattr(fast_path, "MOST_KEPT", 1)
    for _ in range(2):
        for rows in (3, 4):
            longs.clear()
            rooftile.softmax(cupy.ndarray((rows, 10)), strategy="naive")
            assert longs


def test_a_prepared_operation_packs_once_and_again_after_an_update(cupy, device, longs):
    weights = cupy.ndarray((5, 3, 3, 4))
    conv = rooftile.Conv2d(weights, strategy="im2col_register")
    device.log.clear()

    def call(**options):
        device.log.clear()
        longs.clear()
        y = conv(cupy.ndarray((2, 3, 12, 20)), **options)
        assert y.shape == (2, 5, 10, 17)
        return [details[0] for _, details in device.of("launch")], bool(longs)

    (pack, compute), taken = call()
    assert taken
    assert pack == "rearrange"
    # Parameters stay, and so do the launches: on another stream too, and with an output.
    assert [call(), call()] == [([compute], False)] * 2
    cupy.current = 8
    assert call(out=cupy.ndarray((2, 5, 10, 17))) == ([compute], False)
    assert {stream for stream, _ in device.of("launch")} == {8}
    device.log.clear()
    conv.update(cupy.ndarray((5, 3, 3, 4)), cupy.ndarray((5,)))
    assert [details[0] for _, details in device.of("launch")] == [pack]
    assert call() == ([compute], False)
    # A copy begins with parameters from the CPU's memory, without a kernel.
    device.log.clear()
    copied = copy.copy(conv)
    assert [what for what, *_ in device.log if what.startswith("copy")] == ["copy_out"] * 2 + [
        "copy_in"
    ] * 2
    assert copied(cupy.ndarray((2, 3, 12, 20))).shape == (2, 5, 10, 17)
    # Another shape has kernels of its own, which pack for themselves; a graph needs them before.
    device.is_capturing_now = True
    with pytest.raises(rooftile.UnsupportedProblem, match="captured"):
        conv(cupy.ndarray((2, 3, 13, 20)))
    assert call()[0] == [compute]


def test_a_call_that_spells_its_defaults_out_repeats_one_that_does_not(longs):
    x, weights = (np.random.default_rng(k).standard_normal((9, 9), np.float32) for k in (1, 2))
    expected = rooftile.linear(x, weights)
    fast = rooftile.linear(x, weights, activation="relu")
    longs.clear()
    for options in (
        {"precision": "ieee"},
        {"strategy": None, "precision": "ieee", "activation": "none"},
        {"activation": "relu", "precision": "ieee"},
        {"precision": "ieee", "activation": "relu"},
    ):
        for _ in range(2):
            y = rooftile.linear(x, weights, **options)
            assert np.array_equal(y, fast if "relu" in options.values() else expected)
    assert not longs
    # False is no default of an option that is a number, whatever it is equal to.
    y = rooftile.conv2d(x[None, None], weights[None, None, :3, :3].copy())
    with pytest.raises(rooftile.InputError, match="padding"):
        rooftile.conv2d(x[None, None], weights[None, None, :3, :3].copy(), padding=False)
    assert y.shape == (1, 1, 7, 7)


def test_a_view_of_a_transpose_repeats_the_call_with_what_it_is_a_view_of(longs):
    a, b = (np.random.default_rng(k).standard_normal((9, 9), np.float32) for k in (1, 2))
    wide = np.repeat(b, 2, axis=1)[:, ::2]
    expected = {}
    for name, call in {
        "b": lambda: rooftile.matmul(a, b),
        "a turned": lambda: rooftile.matmul(a, b, transpose_a=True),
        "both turned": lambda: rooftile.matmul(a, b, transpose_a=True, transpose_b=True),
        "vector": lambda: rooftile.matvec(a, b[0], transpose=True),
    }.items():
        expected[name] = call()
    for name, call in {
        "b": lambda: rooftile.matmul(a, b.T, transpose_b=True),
        "a turned": lambda: rooftile.matmul(a.T, b),
        "both turned": lambda: rooftile.matmul(a.T, b.T),
        "vector": lambda: rooftile.matvec(a.T, b[0]),
    }.items():
        for _ in range(2):
            longs.clear()
            assert np.array_equal(call(), expected[name]), name
        assert not longs, name
    for _ in range(2):
        longs.clear()
        assert np.array_equal(rooftile.matmul(a, wide), expected["b"])
    assert longs
