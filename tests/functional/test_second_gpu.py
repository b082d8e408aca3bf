"""A machine's second GPU: arrays that lie there are computed on there, whichever GPU is current.

Both GPUs must give the same bits, so they are of one kind.  What a library keeps for a GPU (code,
the shared memory that a kernel was granted, constant memory, streams) must be kept for each.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

import rooftile
from rooftile.devices.select import describe_gpu
from rooftile.nn import architecture
from rooftile.nn.training import TrainingOptions, train

pytestmark = pytest.mark.gpu

HALVES = ("float16", "bfloat16")
CONV = {"activation": "relu", "pool": ("max", 2)}
CALLS = {
    "conv2d, direct": (rooftile.conv2d, ((64, 1, 86, 86), (4, 1, 7, 7), (4,)), CONV),
    "conv2d, pool folded": (
        rooftile.conv2d,
        ((64, 1, 86, 86), (4, 1, 7, 7), (4,)),
        {**CONV, "precision": "fp16"},
    ),
    "conv2d, products": (
        rooftile.conv2d,
        ((8, 64, 28, 28), (64, 64, 3, 3), (64,)),
        {"padding": 1, "precision": "tf32"},
    ),
    "conv2d, transforms": (
        rooftile.conv2d,
        ((4, 32, 40, 40), (32, 32, 3, 3)),
        {"precision": "fast"},
    ),
    "matmul": (rooftile.matmul, ((300, 512), (512, 320)), {}),
    "matmul, few rows": (rooftile.matmul, ((64, 4096), (4096, 512)), {}),
    "matmul, tf32": (rooftile.matmul, ((512, 512), (512, 512)), {"precision": "tf32"}),
    "linear": (rooftile.linear, ((300, 1024), (128, 1024), (128,)), {"activation": "relu"}),
    "softmax": (rooftile.softmax, ((300, 1000),), {}),
    "pool2d": (rooftile.pool2d, ((8, 4, 80, 80),), {"kind": "average", "window": 2}),
    "conv1d": (rooftile.conv1d, ((100_000,), (5,)), {}),
    "conv3d": (rooftile.conv3d, ((40, 40, 40), (3, 3, 3)), {}),
    "transpose": (rooftile.transpose, ((1000, 600),), {}),
    "add": (rooftile.add, ((100_000,), (100_000,)), {}),
    "reduce": (rooftile.reduce, ((1_000_000,),), {}),
    "scan": (rooftile.scan, ((1_000_000,),), {}),
    "sort": (rooftile.sort, ((300_000,),), {}),
    "histogram": (
        rooftile.histogram,
        ((300_000,),),
        {"bins": 64, "range": (-4.0, 4.0)},
    ),
}


@pytest.fixture
def torch(cuda_device):
    torch = pytest.importorskip("torch")
    if torch.cuda.device_count() < 2:
        pytest.skip(f"{torch.cuda.device_count()} GPU: this needs two")
    first, second = (describe_gpu("cuda", index).name for index in (0, 1))
    if first != second:
        pytest.skip(f"{first} and {second}: this needs two of one kind")
    yield torch
    assert torch.cuda.current_device() == 0


def drawn(torch, shapes, dtype="float32"):
    """The same numbers on both GPUs."""
    generator = np.random.default_rng(len(shapes))
    arrays = [generator.standard_normal(shape, np.float32) for shape in shapes]
    tensors = [torch.from_numpy(array).to(getattr(torch, dtype)) for array in arrays]
    return [[tensor.to(f"cuda:{index}") for tensor in tensors] for index in (0, 1)]


def each(found):
    return found if isinstance(found, tuple) else (found,)


def check(torch, call, first, second):
    """Arrays of the second GPU give what those of the first give, there, twice."""
    expected = each(call(*first))
    for _ in range(2):
        results = each(call(*second))
        for y, right in zip(results, expected, strict=True):
            assert y.device.index == 1
            assert torch.equal(y.cpu(), right.cpu())


@pytest.mark.parametrize(("function", "shapes", "options"), CALLS.values(), ids=CALLS)
def test_the_same_bits_where_the_arrays_lie(torch, function, shapes, options):
    check(torch, lambda *arrays: function(*arrays, **options), *drawn(torch, shapes))


@pytest.mark.parametrize("dtype", HALVES)
def test_arrays_of_16_bits(torch, dtype):
    check(torch, rooftile.matmul, *drawn(torch, ((512, 512), (512, 512)), dtype))
    check(torch, rooftile.softmax, *drawn(torch, ((64, 100),), dtype))


def test_prepared_operations_and_plans_stay_where_they_were_made(torch):
    first, second = drawn(torch, ((64, 1, 86, 86), (4, 1, 7, 7), (4,)))
    here, there = (rooftile.Conv2d(*arrays[1:], **CONV) for arrays in (first, second))
    y = there(second[0])
    assert y.device.index == 1
    assert torch.equal(y.cpu(), here(first[0]).cpu())
    with pytest.raises(rooftile.InputError, match="cuda:1") as caught:
        there(first[0])
    assert caught.value.argument == "x"
    plans = [rooftile.load("lenet5").plan(batch=64, device=f"cuda:{index}") for index in (0, 1)]
    scores = plans[1](second[0])
    assert scores.device.index == 1
    assert torch.equal(scores.cpu(), plans[0](first[0]).cpu())
    with pytest.raises(rooftile.InputError, match="cuda:0"):
        plans[1](first[0])


def test_numpys_arrays_by_the_device_named(torch):
    a, b = (np.random.default_rng(k).standard_normal((300, 300), np.float32) for k in (1, 2))
    found = [rooftile.matmul(a, b, device=f"cuda:{index}") for index in (0, 1)]
    assert np.array_equal(*found)


def test_a_graph_of_the_second_gpu(torch):
    shapes = ((64, 1, 86, 86), (4, 1, 7, 7), (4,))
    (_, (x, weights, bias)) = drawn(torch, shapes)
    expected = rooftile.conv2d(x, weights, bias, **CONV)
    with torch.cuda.device(1):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = rooftile.conv2d(x, weights, bias, **CONV)
        y.fill_(float("nan"))
        graph.replay()
    assert torch.equal(y, expected)


def test_threads_on_both_gpus_at_once(torch):
    shapes = ((16, 64, 28, 28), (64, 64, 3, 3), (64,))
    arrays = drawn(torch, shapes)
    expected = rooftile.conv2d(*arrays[0], padding=1).cpu()
    wrong, barrier = [], threading.Barrier(8)

    def calls(number):
        given = arrays[number % 2]
        conv = rooftile.Conv2d(*given[1:], padding=1)
        barrier.wait()
        for _ in range(20):
            found = rooftile.conv2d(*given, padding=1), conv(given[0])
            there = all(y.device.index == number % 2 for y in found)
            if not there or not all(torch.equal(y.cpu(), expected) for y in found):
                wrong.append(number)

    threads = [threading.Thread(target=calls, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_cupys_arrays(torch):
    cupy = pytest.importorskip("cupy")
    x = np.random.default_rng(0).standard_normal(100_000, np.float32)
    expected = rooftile.scan(x, device="cuda:0")
    with cupy.cuda.Device(1):
        there = cupy.asarray(x)
    found = rooftile.scan(there)
    assert found.device.id == 1
    assert np.array_equal(found.get(), expected)


def test_a_training_has_the_same_bits_there(torch):
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (256, 28, 28), dtype=np.uint8)
    labels = generator.integers(0, 10, 256)
    options = TrainingOptions(epochs=2, batch=64, seed=3)
    first, second = (
        train(architecture("lenet5"), images, labels, options, device=f"cuda:{index}")
        for index in (0, 1)
    )
    for name, values in first.parameters.items():
        assert np.array_equal(values, second.parameters[name]), name
