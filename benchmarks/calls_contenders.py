"""Everybody who computes a case on a GPU: our calls and PyTorch's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from calls_cases import Case
from calls_check import Check
from calls_clock import Call, Contender

import rooftile
from rooftile.devices import cuda
from rooftile.devices.cuda.streams import own_stream, pinned
from rooftile.lab.measure.peers.torch_module import torch_module
from rooftile.nn import architecture
from rooftile.ops import AnyArray, Conv2d, Linear

Make = Callable[[], Contender]

COPY = "pinned copy alone"
"""Below the time of this copy no call with NumPy's arrays can be."""


def makers(case: Case, check: Check) -> Iterator[tuple[str, Make]]:
    """Each contender by name, and what makes it, which may raise.  PyTorch's begin with torch."""
    import torch

    dtype = getattr(torch, case.dtype)
    tensors = [torch.from_numpy(np.ascontiguousarray(a)).to("cuda", dtype) for a in check.arrays]
    x = check.whole(tensors[0]).contiguous()
    if case.model:
        yield from _plans(case, check, x)
    elif case.kind == "matmul":
        product = partial(rooftile.matmul, precision=case.precision)
        yield "call", lambda: Contender(partial(product, x, tensors[1]))
    else:
        yield from _layers(case, x, tensors[1:])
    yield "torch eager", lambda: Contender(_torch_call(case, check, tensors, x, None))
    for mode in case.compiled:
        name = "torch compile" if mode == "default" else f"torch {mode}"
        yield name, partial(_compiled, case, check, tensors, x, mode)


def _layers(case: Case, x: Any, parameters: list[Any]) -> Iterator[tuple[str, Make]]:
    problem = case.problem
    assert isinstance(problem, Conv2d | Linear)
    options: dict[str, Any] = {"activation": problem.activation, "precision": case.precision}
    function: Callable[..., object] = rooftile.linear
    made: Callable[..., Any] = rooftile.Linear
    if isinstance(problem, Conv2d):
        options |= {"stride": problem.stride, "padding": problem.padding, "pool": problem.pool}
        function, made = rooftile.conv2d, rooftile.Conv2d
    call = partial(function, x, *parameters, **options)
    yield "call", lambda: Contender(call)
    yield "prepared", lambda: Contender(partial(made(*parameters, **options), x))


def _plans(case: Case, check: Check, x: Any) -> Iterator[tuple[str, Make]]:
    shape = architecture(case.model)
    parameters = dict(zip(shape.parameter_shapes, check.arrays[1:], strict=True))
    batch = case.problem.batch_size
    assert batch is not None
    plan = shape.with_parameters(parameters).plan(
        batch=batch, precision=case.precision, device="cuda"
    )
    images = check.whole(check.arrays[0])
    yield "plan, PyTorch", lambda: Contender(partial(plan, x))
    yield "plan, CuPy", lambda: Contender(partial(plan, _of_cupy(images)))
    yield "plan, NumPy", lambda: Contender(partial(plan, images), waits=True)
    yield COPY, lambda: Contender(_copy(images), waits=True)


def _of_cupy(images: AnyArray) -> Any:
    import cupy

    return cupy.asarray(images)


def _copy(images: AnyArray) -> Call:
    """The copy of images from page-locked memory, and the wait for it."""
    device = cuda.open_device()
    with device.on():
        stream, to = own_stream(device), device.upload(images)
        source = pinned(device, images.shape, images.dtype)
    source[...] = images

    def copied() -> None:
        with device.on():
            stream.copy_in(source, to)
            stream.synchronise()

    return copied


def _torch_call(
    case: Case, check: Check, tensors: list[Any], x: Any, mode: str | None
) -> Callable[[], object]:
    """PyTorch's block, compiled in a mode or eager (None)."""
    import torch

    module: Any = torch.matmul
    inputs = [x]
    if case.kind == "matmul":
        inputs.append(tensors[1])
    else:
        module = torch_module(case.problem, check.arrays[1:]).to("cuda", x.dtype)
    if mode is not None:
        target = (lambda a, b: torch.matmul(a, b)) if case.kind == "matmul" else module
        module = torch.compile(target, mode=mode, dynamic=False)
    return partial(module, *inputs)


def _compiled(case: Case, check: Check, tensors: list[Any], x: Any, mode: str) -> Contender:
    call = _torch_call(case, check, tensors, x, mode)
    # The first compiles, the next capture graphs where the mode has them.
    for _ in range(4):
        call()
    return Contender(call)


def judged(contender: Contender, check: Check, theirs: bool) -> str | None:
    """Why a contender's result is wrong; None where it is right.

    Its first result is overwritten with NaN and given back, so that the next one, which most often
    lies in the same memory, is not taken for written where it was not.
    """
    made: Any = contender.call()
    if hasattr(made, "fill_"):
        made.fill_(float("nan"))
    else:
        made.fill(np.nan)
    del made
    made = contender.call()
    taken: Any = check.take(made)
    if hasattr(taken, "get"):
        taken = taken.get()
    elif not isinstance(taken, np.ndarray):
        taken = taken.float().cpu().numpy()
    return check.why_wrong(taken, theirs)
