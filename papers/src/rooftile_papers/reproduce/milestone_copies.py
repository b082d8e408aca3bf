"""A layer of the milestone report with its copies: all in one stream, and slices in four."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rooftile.devices.cuda.streams import own_stream, pinned
from rooftile.ops import Float32
from rooftile_papers.reproduce.fused_products import Product, variants
from rooftile_papers.reproduce.milestone_layers import MeasuredLayer
from rooftile_papers.reproduce.timed import measured

_REPEATS = 3


def measure_with_copies(one: MeasuredLayer) -> None:
    """Milliseconds of the host's clock from the first copy in until the last result is there, from
    page-locked memory, which copies need to overlap, and from the report's pageable memory."""
    fused, staged = (Product(one.layer, name, variants()[name]) for name in ("baseline", "streams"))
    for product in (fused, staged):
        product.compile(one.gpu, one.weights)
    shape = one.batch, one.layer.maps, one.layer.out, one.layer.out
    for kind in ("page-locked", "pageable"):
        if kind == "page-locked":
            x = pinned(one.gpu, one.x.shape, np.float32)
            result = pinned(one.gpu, shape, np.float32)
            x[...] = one.x
        else:
            x, result = one.x, np.empty(shape, np.float32)
        calls = {
            "one stream": partial(_whole, one, fused, x, result),
            "four streams": partial(_in_slices, one, staged, x, result),
        }
        found: list[Float32] = []
        for name, call in calls.items():
            result[...] = np.nan
            call()
            found.append(np.array(result[:: max(1, one.batch // 64)]))
            times = [_milliseconds(call) for _ in range(_REPEATS)]
            label = f"{one.label}, {kind} memory, {name}, copies included"
            one.log.measured.append(measured(label, times, "whole layers"))
        alike = bool(np.allclose(found[0], found[1], rtol=1e-4, atol=1e-4))
        one.log.check(f"{one.label}, {kind} memory: streams give the same", alike)


def _whole(one: MeasuredLayer, product: Product, x: Float32, result: Float32) -> None:
    stream: Any = own_stream(one.gpu)
    stream.copy_in(x, one.memory[0])
    product.start(one.memory, one.layer.out**2, one.batch)
    stream.copy_out(one.memory[2], result)
    one.gpu.synchronise()


def _in_slices(one: MeasuredLayer, product: Product, x: Float32, result: Float32) -> None:
    gpu, slices = one.gpu, one.slices
    for number, stream in enumerate(slices.streams):
        first, images = slices.slices[number]
        given, made = x[first : first + images], result[first : first + images]
        stream.copy_in(given, gpu.part(one.memory[0], first * x[0].nbytes, given.nbytes))
        with gpu.on(stream.address):
            for stage in slices.stages(number, product, one.memory).values():
                stage()
        stream.copy_out(gpu.part(one.memory[2], first * result[0].nbytes, made.nbytes), made)
    gpu.synchronise()


def _milliseconds(call: Callable[[], None]) -> float:
    began = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - began)
