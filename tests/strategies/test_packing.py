"""Parameters in the order that kernels read them: found by numbers, brought there by a kernel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rooftile.devices.cuda import compile_cubin
from rooftile.devices.cuda.compile import cuda_core
from rooftile.errors import DeviceMissing
from rooftile.lab.judge.verify import random_inputs
from rooftile.ops import Conv2d
from rooftile.ops.problem import numpy_dtype
from rooftile.strategies import strategy
from rooftile.strategies.binding import packing as packing_room
from rooftile.strategies.binding.packing import FORMATS, GIVEN, Form, Packing, places_of

from .test_executable import cases

ROOM = Path(packing_room.__file__).parents[1]
CASES = [case for case in cases("opencl", "cuda") if case.values[1].parameter_arrays]


def packed(rung, problem):
    """What NumPy packs, and the parameters by name."""
    _, *parameters = random_inputs(problem, 3)
    named = {a.name: p for a, p in zip(problem.parameter_arrays, parameters, strict=True)}
    return rung.packed(problem, named, rung.config(problem)), named


@pytest.mark.parametrize(("rung", "problem"), CASES)
def test_a_rung_packs_its_weights_without_calculating(rung, problem):
    expected, named = packed(rung, problem)
    found = places_of(rung, problem, rung.config(problem))
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        source, places = named[found[name].parameter].ravel(), found[name].places
        taken = source if places is None else np.where(places < 0, np.float32(0), source[places])
        np.testing.assert_array_equal(taken, values.ravel())


@pytest.mark.parametrize(("rung", "problem"), CASES)
def test_numbers_of_weights_are_kept_exactly(rung, problem):
    # float32 would confuse the weights from the 16,777,217th on.
    large = np.int32(2**24 + 1)
    numbers = {a.name: np.full(a.shape, large) for a in problem.parameter_arrays}
    for values in rung.packed(problem, numbers, rung.config(problem)).values():
        assert set(np.unique(values)) <= {0, large}


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("name", ["naive", "constant", "im2col_register", "direct_tile"])
def test_the_device_packs_as_numpy_does(name, dtype, device):
    rung, problem = strategy("conv2d", name, "opencl"), Conv2d(2, 3, 12, 21, 5, (3, 5))
    _, named = packed(rung, problem)
    forms = {GIVEN + parameter: Form(dtype) for parameter in named}
    compiled = rung.compile(problem, device)
    packing = Packing(compiled, forms)
    # What is not moved is the caller's own memory, unless it is converted beside what is.
    moved, narrow = name not in ("naive", "constant"), dtype != "float32"
    converted = f"{GIVEN}bias in float32"
    assert packing.arrays.keys() == {
        *(["weights"] if moved else []), *([converted] if moved and narrow else [])
    }  # fmt: skip
    if moved and narrow:
        assert not packing.forms
        named = {key: values.astype(numpy_dtype(dtype)) for key, values in named.items()}
    else:
        assert packing.forms.keys() == forms.keys() - ({GIVEN + "weights"} if moved else set())
    as_float32 = {key: values.astype(np.float32) for key, values in named.items()}
    expected = rung.packed(problem, as_float32, compiled.config)
    expected[converted] = as_float32["bias"]
    memory = [device.upload(np.full(c, np.nan, np.float32)) for c in packing.arrays.values()]
    names = [*(array.name for array in packing.parameters), *packing.arrays]
    given = [device.upload(values) for values in named.values()]
    device.launches(packing.work, names).start([*given, *memory])
    for name, there in zip(packing.arrays, memory, strict=True):
        found = np.empty(expected[name].shape, np.float32)
        device.copy_out(there, found)
        np.testing.assert_array_equal(found, expected[name])


def test_an_array_of_two_parameters_is_refused():
    class Mixing(type(strategy("conv2d", "naive", "opencl"))):
        def packed(self, problem, parameters, config):
            return {"all": np.concatenate([p.ravel() for p in parameters.values()])}

    with pytest.raises(ValueError, match="all is packed from several parameters"):
        places_of(Mixing(), Conv2d(1, 1, 4, 4, 2, (3, 3)), {})


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90", "sm_100"])
def test_the_rearranging_kernel_compiles(architecture):
    try:
        cuda_core()
    except DeviceMissing as error:
        pytest.skip(str(error))
    for dtype in FORMATS.values():
        assert compile_cubin(packing_room._text(), {"FROM": dtype}, architecture, [ROOM])


def test_weights_with_channels_last_are_not_read_as_they_come(device):
    rung, problem = strategy("conv2d", "direct_tile", "opencl"), Conv2d(2, 3, 12, 21, 5, (3, 5))
    forms = {GIVEN + "weights": Form("float16", channels_last=True)}
    assert Packing(rung.compile(problem, device), forms).forms == forms
