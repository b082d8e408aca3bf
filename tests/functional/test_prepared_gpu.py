"""Prepared operations and one-shot calls on a GPU: streams, threads, graphs, new parameters."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

import rooftile

OPTIONS = {"padding": 1, "activation": "relu", "pool": ("max", 2)}
STRATEGIES = (
    {},
    {"strategy": "constant"},
    {"strategy": "winograd", "precision": "fast"},
    {"strategy": "implicit_gemm_fp16", "precision": "fp16"},
)
IDS = ["chosen", "constant", "winograd", "implicit_gemm_fp16"]


@pytest.fixture
def torch(cuda_device):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no GPU")
    return torch


def values(torch, *shape, seed=0):
    generator = torch.Generator("cuda").manual_seed(seed)
    return torch.randn(shape, device="cuda", generator=generator)


@pytest.fixture
def parameters(torch):
    return values(torch, 32, 16, 3, 3, seed=1), values(torch, 32, seed=2)


@pytest.mark.parametrize("options", STRATEGIES, ids=IDS)
def test_it_has_the_bits_of_the_function(torch, parameters, options):
    conv = rooftile.Conv2d(*parameters, **OPTIONS, **options)
    for shape in ((2, 16, 12, 20), (1, 16, 12, 20), (7, 16, 12, 20), (2, 16, 9, 8)):
        x = values(torch, *shape)
        expected = rooftile.conv2d(x, *parameters, **OPTIONS, **options)
        y, out = conv(x), torch.full_like(expected, float("nan"))
        assert conv(x, out=out) is out
        assert torch.equal(y, expected)
        assert torch.equal(out, expected)


def test_linear_has_the_bits_of_the_function(torch):
    weights, bias = values(torch, 33, 70, seed=1), values(torch, 33, seed=2)
    layer = rooftile.Linear(weights, bias, activation="tanh")
    for batch in (3, 1, 300):
        x = values(torch, batch, 70)
        assert torch.equal(layer(x), rooftile.linear(x, weights, bias, activation="tanh"))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_linear_keeps_leading_axes(torch, dtype):
    kind = getattr(torch, dtype)
    weights, bias = values(torch, 33, 70, seed=1), values(torch, 33, seed=2)
    layer = rooftile.Linear(weights, bias)
    for leading in ((), (2, 3), (2, 1, 3, 2), (0,), (2, 0)):
        x = values(torch, *leading, 70).to(kind)
        expected = rooftile.linear(x, weights, bias)
        out = torch.full_like(expected, float("nan"))
        for _ in range(2):
            assert torch.equal(layer(x), expected)
            assert layer(x, out=out) is out
            assert torch.equal(out, expected)
            assert torch.equal(layer(x.reshape(-1, 70)), expected.reshape(-1, 33))


def test_float64_stays_on_the_cpu(torch):
    with pytest.raises(rooftile.InputError, match="float64 on a GPU"):
        rooftile.Linear(values(torch, 33, 70).double())
    held = rooftile.Linear(values(torch, 33, 70).double().cpu(), device="cuda")
    with pytest.raises(rooftile.UnsupportedProblem, match="float64"):
        held(torch.zeros(2, 70, dtype=torch.float64))


@pytest.mark.parametrize("options", STRATEGIES, ids=IDS)
def test_parameters_are_copied_and_update_gives_others(torch, parameters, options):
    x, (weights, bias) = values(torch, 4, 16, 12, 20), parameters
    conv = rooftile.Conv2d(*parameters, **OPTIONS, **options)
    expected = conv(x).clone()
    other = weights.flip(0).contiguous()
    expected_of_other = rooftile.conv2d(x, other, **OPTIONS, **options)
    weights.zero_()
    bias.zero_()
    assert torch.equal(conv(x), expected)
    conv.update(other)
    assert torch.equal(conv(x), expected_of_other)


@pytest.mark.parametrize("options", STRATEGIES, ids=IDS)
def test_one_shot_and_prepared_calls_in_a_graph(torch, parameters, options):
    x, (weights, bias) = values(torch, 4, 16, 12, 20), parameters
    conv = rooftile.Conv2d(weights, bias, **OPTIONS, **options)

    def both():
        return conv(x), rooftile.conv2d(x, weights, bias, **OPTIONS, **options)

    both()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        prepared, once = both()
    for seed in (5, 6):
        x.copy_(values(torch, *x.shape, seed=seed))
        weights.copy_(values(torch, *weights.shape, seed=seed))
        # Another call between replays must not change what the graph finds in constant memory.
        rooftile.conv2d(x, values(torch, *weights.shape, seed=9), bias, **OPTIONS, **options)
        conv.update(weights, bias)
        graph.replay()
        expected = rooftile.conv2d(x, weights, bias, **OPTIONS, **options)
        assert torch.equal(once, expected)
        assert torch.equal(prepared, expected)


@pytest.mark.parametrize("options", STRATEGIES, ids=IDS)
def test_memory_that_comes_again_is_read_anew(torch, parameters, options):
    """Such calls start as a graph, which must see what is in the memory now, on any stream."""
    x, (weights, bias) = values(torch, 4, 16, 12, 20), parameters
    conv = rooftile.Conv2d(weights, bias, **OPTIONS, **options)
    out, other_out = torch.empty_like(conv(x)), torch.empty_like(conv(x))
    streams = [torch.cuda.current_stream(), torch.cuda.Stream()]
    for seed in range(10):
        given = values(torch, *x.shape, seed=seed)
        expected = rooftile.conv2d(given, weights.clone(), bias.clone(), **OPTIONS, **options)
        torch.cuda.synchronize()
        with torch.cuda.stream(streams[seed // 5]):
            x.copy_(given)
            conv(x, out=out)
            rooftile.conv2d(x, weights, bias, out=other_out, **OPTIONS, **options)
            assert torch.equal(out, expected)
            assert torch.equal(other_out, expected)
        if seed % 3 == 2:
            weights.mul_(0.5)
            conv.update(weights, bias)


def test_cupy_captures_calls(cuda_device):
    cupy = pytest.importorskip("cupy")
    x, weights = (
        cupy.random.rand(4, 16, 12, 20, dtype="f4"),
        cupy.random.rand(32, 16, 3, 3, dtype="f4"),
    )
    out, other = (cupy.empty((4, 32, 6, 10), "f4") for _ in range(2))
    conv = rooftile.Conv2d(weights, **OPTIONS)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        for _ in range(2):
            conv(x, out=out)
            rooftile.conv2d(x, weights, out=other, **OPTIONS)
        stream.begin_capture()
        conv(x, out=out)
        rooftile.conv2d(x, weights, out=other, **OPTIONS)
        graph = stream.end_capture()
        x[...] = cupy.random.rand(*x.shape, dtype="f4")
        graph.launch(stream)
        stream.synchronize()
        expected = rooftile.conv2d(x, weights, **OPTIONS)
    assert cupy.array_equal(out, expected)
    assert cupy.array_equal(other, expected)


@pytest.mark.parametrize("options", STRATEGIES, ids=IDS)
def test_eight_threads_on_four_streams(torch, parameters, options):
    weights, bias = parameters
    conv = rooftile.Conv2d(weights, bias, **OPTIONS, **options)
    xs = [values(torch, 1 + n % 5, 16, 12 + n % 3, 20, seed=n) for n in range(16)]
    others = [values(torch, *weights.shape, seed=100 + n) for n in range(16)]
    streams = [torch.cuda.Stream() for _ in range(4)]
    torch.cuda.synchronize()

    def work(n):
        with torch.cuda.stream(streams[n % 4]):
            found = [
                (conv(xs[k]), rooftile.conv2d(xs[k], others[k], bias, **OPTIONS, **options))
                for k in ((n + step) % 16 for step in range(16))
            ]
        streams[n % 4].synchronize()
        return found

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(32)))
    expected = [
        (conv(x), rooftile.conv2d(x, other, bias, **OPTIONS, **options))
        for x, other in zip(xs, others, strict=True)
    ]
    for n, found in enumerate(results):
        for step, pair in enumerate(found):
            for y, right in zip(pair, expected[(n + step) % 16], strict=True):
                assert torch.equal(y, right)


def test_what_is_wrong_is_named(torch, parameters):
    weights, bias = parameters
    conv = rooftile.Conv2d(weights, bias)
    x = values(torch, 2, 16, 12, 20)
    for argument, call in (
        ("x", lambda: conv(x.cpu())),
        ("x", lambda: conv(x.double())),
        ("x", lambda: conv(x.clone().requires_grad_())),
        ("weights", lambda: conv.update(weights.cpu(), bias.cpu())),
        ("bias", lambda: rooftile.Conv2d(weights, bias.cpu())),
        ("device", lambda: rooftile.Conv2d(weights, bias, device="cpu")),
        ("out", lambda: conv(x, out=torch.empty(1, device="cuda"))),
    ):
        with pytest.raises(rooftile.InputError) as caught:
            call()
        assert caught.value.argument == argument
    graph, other = torch.cuda.CUDAGraph(), values(torch, 3, 16, 50, 50)
    with (
        pytest.raises(rooftile.UnsupportedProblem, match="once before the capture"),
        torch.cuda.graph(graph),
    ):
        conv(other)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_channels_last_in_and_out(torch, parameters, dtype):
    kind, (weights, bias) = getattr(torch, dtype), parameters
    x = values(torch, 3, 16, 12, 20).to(kind)
    last = x.to(memory_format=torch.channels_last)
    turned = weights.to(memory_format=torch.channels_last)
    expected = rooftile.conv2d(x, weights, bias, **OPTIONS)
    for call in (
        lambda: rooftile.conv2d(last, turned, bias, **OPTIONS),
        lambda: rooftile.Conv2d(turned, bias, **OPTIONS)(last),
    ):
        y = call()
        assert y.dtype == kind
        assert y.is_contiguous(memory_format=torch.channels_last)
        assert torch.equal(y, expected)
    pooled = rooftile.pool2d(last, "max", 2)
    assert pooled.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(pooled, rooftile.pool2d(x, "max", 2))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_has_the_same_bits_and_parameters_of_its_own(torch, parameters, copied):
    x, conv = values(torch, 2, 16, 12, 20), rooftile.Conv2d(*parameters, **OPTIONS)
    expected = conv(x).clone()
    made = copied(conv)
    assert torch.equal(made(x), expected)
    made.update(2 * parameters[0])
    assert torch.equal(conv(x), expected)
    assert not torch.equal(made(x), expected)
