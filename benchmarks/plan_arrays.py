"""What a plan's call costs with arrays of NumPy, PyTorch and CuPy, on one NVIDIA GPU.

    python benchmarks/plan_arrays.py [--precision fp16] [--dtype float16]

For each network, batch and kind of array it prints, in microseconds, the medians of the host's time
of a call, which on a GPU's arrays only starts the work, and of a call until its scores are there.
For NumPy both are one, and beside it stands the time of the copy of such images from page-locked
memory alone, below which no call can be.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from rooftile.devices import cuda
from rooftile.devices.cuda.streams import own_stream, pinned
from rooftile.nn import Plan, load
from rooftile.ops import AnyArray
from rooftile.ops.problem import numpy_dtype

BATCHES = (1, 100, 10_000)
_SECONDS, _MOST = 1.0, 300

Case = Callable[[AnyArray], tuple[Any, Callable[[], object]]]
"""Makes images of NumPy's another library's, and says what waits for the GPU."""


def median_us(call: Callable[[], object], after: Callable[[], object]) -> tuple[float, float]:
    """Medians of a call alone, and with what waits for it."""
    for _ in range(3):
        call()
        after()
    alone, whole = list[float](), list[float]()
    end = time.perf_counter() + _SECONDS
    while len(whole) < _MOST and (time.perf_counter() < end or len(whole) < 5):
        start = time.perf_counter()
        call()
        returned = time.perf_counter()
        after()
        alone.append(1e6 * (returned - start))
        whole.append(1e6 * (time.perf_counter() - start))
    return statistics.median(alone), statistics.median(whole)


def torch_case(x: AnyArray) -> tuple[Any, Callable[[], object]]:
    """The images as a tensor, and what waits for the GPU."""
    import torch

    if x.dtype == numpy_dtype("bfloat16"):
        return torch.from_numpy(x.view(np.int16)).view(
            torch.bfloat16
        ).cuda(), torch.cuda.synchronize
    return torch.from_numpy(x).cuda(), torch.cuda.synchronize


def cupy_case(x: AnyArray) -> tuple[Any, Callable[[], object]]:
    """The images as CuPy's, and what waits for the GPU."""
    import cupy  # type: ignore[import-not-found]

    return cupy.asarray(x), cupy.cuda.Device().synchronize


def numpy_case(x: AnyArray) -> tuple[Any, Callable[[], object]]:
    """The images in pageable memory; a call waits itself."""
    return x, lambda: None


CASES: dict[str, Case] = {"torch": torch_case, "cupy": cupy_case, "numpy": numpy_case}


def copy_us(x: AnyArray) -> float:
    """The copy of the images from page-locked memory."""
    device = cuda.open_device()
    with device.on():
        stream, source, to = own_stream(device), pinned(device, x.shape, x.dtype), device.upload(x)
        source[...] = x
        return median_us(lambda: stream.copy_in(source, to), stream.synchronise)[1]


def on_host(scores: Any) -> AnyArray:
    """Scores of any kind as float32 of NumPy's."""
    if hasattr(scores, "get"):
        scores = scores.get()
    elif not isinstance(scores, np.ndarray):
        scores = scores.float().cpu().numpy()
    return np.asarray(scores).astype(np.float32)


def measured(plan: Plan, case: Case, x: AnyArray, expected: AnyArray) -> tuple[float, float]:
    """See `median_us`; the scores are compared with those of NumPy's images first."""
    images, wait = case(x)
    scores = plan(images)
    wait()
    most = 1e-2 * float(np.abs(expected).max())
    np.testing.assert_allclose(on_host(scores), expected, rtol=1e-2, atol=most)
    return median_us(partial(plan, images), wait)


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--precision", default="ieee")
    parser.add_argument("--dtype", default="float32")
    given = parser.parse_args()
    print(f"{'model':8} {'batch':>6} {'arrays':8} {'host us':>10} {'whole us':>10} {'copy us':>10}")
    for model, batch in product(("lenet5", "mnist8"), BATCHES):
        network = load(model)
        plan = network.plan(batch=batch, precision=given.precision, device="cuda")
        numbers = np.random.default_rng(0).integers(0, 256, (batch, *network.input_shape), np.uint8)
        x = numbers.astype(numpy_dtype(given.dtype))
        expected = on_host(plan(x))
        for name, case in CASES.items():
            row = f"{model:8} {batch:6} {name:8}"
            try:
                alone, whole = measured(plan, case, x, expected)
            except ImportError as error:
                print(row, error)
                continue
            copy = f"{copy_us(x):10.1f}" if name == "numpy" else ""
            print(f"{row} {alone:10.1f} {whole:10.1f} {copy}", flush=True)


if __name__ == "__main__":
    main()
