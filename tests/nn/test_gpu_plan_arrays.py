"""Plans on a real GPU with arrays that lie there, and with large ones of the host."""

from __future__ import annotations

import functools
import gc
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import rooftile
from rooftile.devices import cuda
from rooftile.nn import gpu_plan, load
from rooftile.ops.problem import numpy_dtype

pytestmark = pytest.mark.gpu

BATCH = 96
DTYPES = ("float32", "float16", "bfloat16", "uint8")
PRECISIONS = ("ieee", "fp16", "bf16")


@pytest.fixture(autouse=True)
def device(cuda_device):
    return cuda.open_device()


@pytest.fixture
def torch(device):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: the caller's library")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    return torch


@pytest.fixture
def cupy(device):
    return pytest.importorskip("cupy", reason="CuPy is not installed: the caller's library")


@functools.cache
def plan_of(model="lenet5", precision="ieee", batch=BATCH):
    return load(model).plan(batch=batch, precision=precision, device="cuda")


def images(count, dtype="float32", model="lenet5", seed=0):
    rng, shape = np.random.default_rng(seed), (count, *load(model).input_shape)
    if dtype == "uint8":
        return rng.integers(0, 256, shape, np.uint8)
    return rng.standard_normal(shape, np.float32).astype(numpy_dtype(dtype))


def tensor(torch, array, where="cuda"):
    """The array's bits as a tensor."""
    if array.dtype == numpy_dtype("bfloat16"):
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16).to(where)
    return torch.from_numpy(array).to(where)


def host(scores):
    """A tensor's bits as NumPy's array."""
    there = scores.cpu()
    if str(there.dtype) == "torch.bfloat16":
        return there.view(__import__("torch").int16).numpy().view(numpy_dtype("bfloat16"))
    return there.numpy()


def assert_same_bits(found, expected):
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.view(np.uint8), expected.view(np.uint8))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("model", ["lenet5", "mnist8"])
def test_torch_the_bits_of_numpys_arrays(model, dtype, precision, torch):
    plan = plan_of(model, precision)
    for count in (BATCH, 1, 37):
        x = images(count, dtype, model, count)
        expected, given = plan(x), tensor(torch, x)
        scores = plan(given)
        assert scores.device == given.device
        assert_same_bits(host(scores), expected)
        out = torch.full_like(scores, torch.nan)
        address = out.data_ptr()
        assert plan(given, out=out) is out
        assert out.data_ptr() == address
        assert_same_bits(host(out), expected)
        assert_same_bits(host(given), x)
        assert_same_bits(host(plan(tensor(torch, x, "cpu"))), expected)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("model", ["lenet5", "mnist8"])
def test_narrow_images_have_the_scores_of_wide_ones(model, dtype, precision):
    x = images(BATCH, dtype, model)
    plan = plan_of(model, precision)
    expected = plan(x.astype(np.float32))
    unit = {"float16": 2.0**-11, "bfloat16": 2.0**-8}[dtype]
    # Layers may sum in another order where they read 16 bits.
    error = np.abs(plan(x).astype(np.float32) - expected)
    assert (error <= 2 * unit * np.abs(expected).max()).all()


@pytest.mark.parametrize("batch", [1, 3, 10])
@pytest.mark.parametrize("dtype", DTYPES)
def test_torch_more_images_than_a_batch(dtype, batch, torch):
    plan, x = plan_of("mnist8", "ieee", batch), images(23, dtype, "mnist8")
    found, expected = host(plan(tensor(torch, x))), plan(x)
    assert found.dtype == expected.dtype
    unit = 2.0 ** -{"float16": 10, "bfloat16": 7}.get(dtype, 20)
    np.testing.assert_allclose(
        found.astype(np.float32), expected.astype(np.float32), rtol=unit, atol=1e-4
    )


def test_torch_views_and_a_missing_channel(torch):
    plan, x = plan_of(), images(9, "uint8")
    given, expected = tensor(torch, x), plan(x)
    assert_same_bits(host(plan(given[:, 0])), expected)
    assert_same_bits(host(plan(given[3:])), plan(x[3:]))
    assert_same_bits(host(plan(given.transpose(2, 3))), plan(x.transpose(0, 1, 3, 2)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_torch_order_on_a_stream_that_is_busy(dtype, torch):
    # The images are written behind a long wait on the same stream.
    plan, x = plan_of(), images(BATCH, dtype)
    expected, there = plan(x), tensor(torch, x, "cpu").pin_memory()
    given = torch.zeros_like(there, device="cuda")
    plan(given)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(1_000_000_000)
        given.copy_(there, non_blocking=True)
        scores = plan(given)
        assert not stream.query(), "the call waited for the stream"
        copy = scores.to("cpu", non_blocking=True)
        # Memory between the layers, given back to the allocator: the stream's order protects it.
        torch.full((BATCH, 4, 40, 40), torch.nan, device="cuda")
    stream.synchronize()
    assert_same_bits(host(copy), expected)


def test_torch_threads_with_streams_of_their_own(torch):
    plan = plan_of("mnist8")
    arrays = [images(BATCH - k, "float32", "mnist8", k) for k in range(4)]
    expected = [plan(x) for x in arrays]
    results, failures = {}, []

    def work(k):
        try:
            stream, given = torch.cuda.Stream(), tensor(torch, arrays[k])
            torch.cuda.synchronize()
            with torch.cuda.stream(stream):
                found = [plan(given) for _ in range(50)]
                results[k] = [host(scores) for scores in (found[0], found[24], found[-1])]
            results[k].append(plan(arrays[k]))
        except Exception as error:
            failures.append(error)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures
    for k, scores in enumerate(expected):
        for found in results[k]:
            assert_same_bits(found, scores)


@pytest.mark.parametrize("precision", ["ieee", "fp16"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("model", ["lenet5", "mnist8"])
def test_torch_in_a_graph_with_new_images(model, dtype, precision, torch):
    plan = plan_of(model, precision)
    given = tensor(torch, images(BATCH, dtype, model))
    plan(given)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scores = plan(given)
    for seed in (1, 2):
        x = images(BATCH, dtype, model, seed)
        given.copy_(tensor(torch, x))
        graph.replay()
        # Calls beside the graph's replays do not disturb them.
        plan(tensor(torch, images(BATCH, dtype, model, 9)))
        torch.cuda.synchronize()
        assert_same_bits(host(scores), plan(x))


def test_torch_a_graph_of_what_has_not_run_is_refused(torch):
    plan = load("mnist8").plan(batch=4, device="cuda")
    given = tensor(torch, images(4, "uint8", "mnist8"))
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        # A kernel of PyTorch's own, so that the graph is not empty.
        given.clone()
        with pytest.raises(rooftile.UnsupportedProblem, match="same call once before"):
            plan(given)


def test_torch_copies_nothing(torch):
    plan, given = plan_of(), tensor(torch, images(BATCH))
    plan(given)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        plan(given)
        torch.cuda.synchronize()
    names = [event.name for event in profile.events()]
    if not any("conv2d" in name for name in names):
        pytest.skip(f"PyTorch's profiler sees no kernels here: {names}")
    assert not [name for name in names if "memcpy" in name.lower()], names


@pytest.mark.parametrize("count", [BATCH, 2500])
def test_torch_temporaries_are_kept_once_or_go_with_the_call(count, torch):
    # Those of 2,500 images are more than all streams together keep.
    plan, given = plan_of(batch=count), torch.zeros(count, 1, 86, 86, device="cuda")
    out = plan(given)
    gc.collect()
    before = torch.cuda.memory_allocated()
    plan(given, out=out)
    after = torch.cuda.memory_allocated()
    assert after == before or count == BATCH
    for _ in range(3):
        plan(given, out=out)
    assert torch.cuda.memory_allocated() == after


def test_torch_refused(torch):
    plan, x = plan_of(), images(5)
    given = tensor(torch, x)
    out = torch.empty((5, 10), device="cuda")
    for argument, call in (
        ("images", lambda: plan(given.double())),
        ("images", lambda: plan(given[:, :, 1:])),
        ("images", lambda: plan(given.clone().requires_grad_())),
        ("images", lambda: load("lenet5").plan(batch=5)(given)),
        ("out", lambda: plan(given, out=out.cpu())),
        ("out", lambda: plan(given, out=np.empty((5, 10), np.float32))),
        ("out", lambda: plan(given, out=out.half())),
        ("out", lambda: plan(given, out=out[:4])),
        ("out", lambda: plan(given, out=torch.empty((10, 5), device="cuda").T)),
        ("out", lambda: plan(x, out=out)),
    ):
        with pytest.raises(rooftile.InputError) as caught:
            call()
        assert caught.value.argument == argument


def test_torch_on_the_second_gpu(torch):
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU: this needs two")
    plan, x = load("mnist8").plan(batch=8, device="cuda:1"), images(8, model="mnist8")
    given = tensor(torch, x, "cuda:1")
    assert torch.cuda.current_device() == 0
    scores = plan(given)
    assert (torch.cuda.current_device(), scores.device) == (0, given.device)
    assert_same_bits(host(scores), plan(x))
    with pytest.raises(rooftile.InputError, match="cuda:0"):
        plan(given.to("cuda:0"))


@pytest.mark.parametrize("precision", ["ieee", "fp16"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8"])
def test_cupy_the_bits_of_numpys_arrays(dtype, precision, cupy):
    plan, x = plan_of("mnist8", precision), images(BATCH, dtype, "mnist8")
    expected, given = plan(x), cupy.asarray(x)
    for stream in (cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)):
        cupy.cuda.Device().synchronize()
        with stream:
            scores = plan(given)
            out = cupy.empty_like(scores)
            assert plan(given, out=out) is out
            assert_same_bits(scores.get(), expected)
            assert_same_bits(out.get(), expected)


def test_cupy_in_a_graph_with_new_images(cupy):
    plan, stream = plan_of("mnist8"), cupy.cuda.Stream(non_blocking=True)
    with stream:
        given = cupy.asarray(images(BATCH, model="mnist8"))
        plan(given)
        stream.synchronize()
        stream.begin_capture()
        scores = plan(given)
        graph = stream.end_capture()
        for seed in (1, 2):
            x = images(BATCH, model="mnist8", seed=seed)
            given.set(x)
            # What the pool gives to others is none of the graph's memory.
            filled = [cupy.full((BATCH, 8, 28, 28), cupy.nan) for _ in range(3)]
            graph.launch(stream)
            stream.synchronize()
            assert all(bool(cupy.isnan(array).all()) for array in filled)
            assert_same_bits(scores.get(), plan(x))


def test_arrays_with_the_interface_alone(torch):
    plan, x = plan_of(), images(BATCH)
    given, out = tensor(torch, x), torch.empty((BATCH, 10), device="cuda")
    torch.cuda.synchronize()
    alone = [
        SimpleNamespace(__cuda_array_interface__=t.__cuda_array_interface__) for t in (given, out)
    ]
    assert plan(alone[0], out=alone[1]) is alone[1]
    torch.cuda.synchronize()
    assert_same_bits(host(out), plan(x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_jax(dtype):
    jax = pytest.importorskip("jax", reason="JAX is not installed: the caller's library")
    plan, x = plan_of(), images(BATCH, dtype)
    given = jax.numpy.asarray(x)
    if given.devices().pop().platform == "cpu":
        pytest.skip("this JAX has no CUDA")
    assert_same_bits(np.asarray(plan(given)), plan(x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("page_locked", [False, True])
def test_segments_have_the_bits_of_a_plan_for_as_many_images(dtype, page_locked, monkeypatch):
    count, plan = 1001, load("lenet5").plan(batch=1001, device="cuda")
    given = images(count, dtype)
    if page_locked:
        x = plan.stream.pinned(given.shape, given.dtype)
        x[...] = given
    else:
        x = given
    segment = gpu_plan.evenly(count, gpu_plan.SEGMENT_BYTES // x[0].nbytes)
    assert segment == count or count % segment
    streamed = [plan(x) for _ in range(3)]
    out = np.empty_like(streamed[0])
    assert plan(x, out=out) is out
    monkeypatch.setattr(gpu_plan, "STREAMED_BYTES", 2**40)
    own = load("lenet5").plan(batch=segment, device="cuda")
    expected = np.concatenate([own(x[k : k + segment]) for k in range(0, count, segment)])
    for scores in (*streamed, out):
        assert_same_bits(scores, expected)
    assert_same_bits(x, given)


@pytest.mark.parametrize("model", ["lenet5", "mnist8"])
def test_calls_that_come_again_have_the_bits_of_the_first(model, torch):
    """Where addresses come again the launches start as a graph, on any stream."""
    plan = plan_of(model, batch=4)
    x, out = tensor(torch, images(4, model=model)), None
    streams = [torch.cuda.current_stream(), torch.cuda.Stream()]
    for seed in range(8):
        given = images(4, model=model, seed=seed)
        expected = plan(given)
        with torch.cuda.stream(streams[seed // 4]):
            x.copy_(torch.from_numpy(given))
            out = plan(x) if out is None else plan(x, out=out)
            assert_same_bits(host(out), expected)
