"""What calls ask tensors of PyTorch, by a module that stands for it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import rooftile
from rooftile.ops.array import DTYPES
from rooftile.runtime.arrays.torch import Torch

FLOAT32, FLOAT16, STRIDED, SPARSE = object(), object(), object(), object()


class Tensor:
    """As it lies on a GPU: whatever may be special about one is an argument."""

    is_cuda, is_cpu, shape = True, False, (2, 3)

    def __init__(self, dtype=FLOAT32, layout=STRIDED, gpu=0, address=4096, **special):
        self.dtype, self.layout, self._gpu, self._address = dtype, layout, gpu, address
        self.requires_grad = special.get("requires_grad", False)
        self._contiguous, self._negated = special.get("contiguous", True), special.get("neg", False)

    def get_device(self):
        return self._gpu

    def is_contiguous(self):
        if self.layout is not STRIDED:
            raise RuntimeError("sparse tensors do not have is_contiguous")
        return self._contiguous

    def is_neg(self):
        return self._negated

    def data_ptr(self):
        return self._address


def module(*, strided: bool = True, records: bool = True):
    """A module like PyTorch; ``made`` notes what was asked for memory."""
    made = []
    guards = SimpleNamespace()
    if strided:
        guards._empty_strided_cuda = lambda *asked: made.append(asked) or Tensor(address=8192)
    return SimpleNamespace(
        float32=FLOAT32, float16=FLOAT16, strided=STRIDED, made=made, Tensor=Tensor,
        is_grad_enabled=lambda: records,
        device=lambda kind, number: (kind, number),
        empty=lambda shape, **asked: made.append((shape, asked)) or Tensor(address=8192),
        _C=SimpleNamespace(_dynamo=SimpleNamespace(guards=guards)),
    )  # fmt: skip


def library(**options):
    torch = Torch(module(**options))
    torch.kinds.add(Tensor)
    return torch


@pytest.mark.parametrize("name", DTYPES)
def test_a_tensor_may_have_every_dtype(name):
    dtypes = {one: object() for one in DTYPES}
    torch = SimpleNamespace(
        **dtypes, _C=SimpleNamespace(), strided=STRIDED, is_grad_enabled=lambda: True
    )
    seen = Torch(torch).on_gpu("x", Tensor(dtype=dtypes[name]), 0, DTYPES)
    assert (seen.dtype, seen.address) == (name, 4096)


def test_plain_tensors_give_their_addresses():
    read = library().reader(0, [FLOAT32, FLOAT16, FLOAT32], [0, 2, 3])
    addresses = [None, 1, None, 7]
    assert read((Tensor(), Tensor(dtype=FLOAT16, address=64), None), addresses)
    assert addresses == [4096, 1, 64, 7]


@pytest.mark.parametrize(
    "special",
    [
        {"dtype": FLOAT16},
        {"layout": SPARSE},
        {"gpu": 1},
        {"gpu": -1},
        {"address": 4096 + 4},
        {"contiguous": False},
        {"neg": True},
        {"requires_grad": True},
    ],
)
def test_a_special_tensor_goes_the_long_way(special):
    read = library().reader(0, [FLOAT32, FLOAT32], [0, 1])
    assert read((Tensor(), Tensor()), [None, None])
    assert not read((Tensor(), Tensor(**special)), [None, None])
    one = library().reader(0, [FLOAT32], [1])
    addresses = [None, None]
    assert not one((Tensor(**special),), addresses)
    assert addresses == [None, None]
    assert one((Tensor(),), addresses)
    assert addresses == [None, 4096]


@pytest.mark.parametrize(
    "other", [np.zeros(3, np.float32), [1.0], None, object()], ids=lambda one: type(one).__name__
)
def test_what_is_no_tensor_is_not_taken_for_one(other):
    """A call with tensors that was made before would write into an array of NumPy."""
    seen = library().seen_by_numpy(other)
    assert seen is not None
    assert not isinstance(seen, np.ndarray)


def test_a_subclass_goes_the_long_way():
    subclass = type("Subclass", (Tensor,), {})
    assert not library().reader(0, [FLOAT32], [0])((subclass(),), [None])


def test_a_gradient_that_nobody_records_does_not_matter():
    needs = Tensor(requires_grad=True)
    assert library(records=False).reader(0, [FLOAT32], [0])((needs,), [None])
    with pytest.raises(rooftile.InputError, match="gradient") as refusal:
        library()._check("weights", needs, ("float32",))
    assert refusal.value.argument == "weights"


def test_results_are_made_as_compiled_code_makes_them():
    torch = library()
    made, address = torch.maker((2, 3, 5), 0, FLOAT16)()
    assert isinstance(made, Tensor)
    assert address == 8192
    assert torch._torch.made == [((2, 3, 5), (15, 5, 1), FLOAT16)]


def test_results_are_made_without_what_compiled_code_has():
    torch = library(strided=False)
    _, address = torch.maker((2, 3), 1)()
    assert address == 8192
    assert torch._torch.made == [((2, 3), {"dtype": FLOAT32, "device": ("cuda", 1)})]
