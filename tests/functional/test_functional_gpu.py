"""PyTorch's and CuPy's arrays on a real GPU: no copy, the caller's stream, the caller's GPU."""

from __future__ import annotations

import ctypes
import gc
import threading
from dataclasses import replace

import numpy as np
import pytest

import rooftile
from rooftile.devices import cuda
from rooftile.devices.cuda import driver
from rooftile.errors import InputError
from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verify import assert_close
from rooftile.ops import ERROR_MODELS, Conv2d, Linear, Pool, Pool2d, Softmax
from rooftile.ops.patterns.matmul import Matmul
from rooftile.runtime.selection.choice import choose
from rooftile.strategies import ladder

pytestmark = pytest.mark.gpu

PROBLEM = Conv2d(3, 2, 40, 44, 6, (3, 3), padding=(1, 1), activation="relu", pool=Pool.of("max", 2))
ONE_CHANNEL = Conv2d(64, 1, 86, 86, 4, (7, 7), activation="relu", pool=Pool.of("max", 2))
GENERATOR = np.random.default_rng(0)
USED_MEMORY = 7
"""CU_MEMPOOL_ATTR_USED_MEM_CURRENT."""


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


def inputs(problem):
    shapes = (problem.input_shape, *problem.parameter_shapes.values())
    return [GENERATOR.standard_normal(shape, np.float32) for shape in shapes]


def conv(problem, x, weights, bias=None, **options):
    pool = problem.pool and (problem.pool.kind, problem.pool.window, problem.pool.stride)
    return rooftile.conv2d(
        x, weights, bias, stride=problem.stride, padding=problem.padding,
        activation=problem.activation, pool=pool, **options,
    )  # fmt: skip


def strategies(problem):
    return [r.name for r in ladder("conv2d", "cuda") if r.why_not(problem) is None]


CASES = [
    pytest.param(problem, name, id=f"{name}-{problem.channels}")
    for problem in (PROBLEM, ONE_CHANNEL)
    for name in strategies(problem)
]


@pytest.mark.parametrize(("problem", "name"), CASES)
def test_torch_every_rung_with_weights_that_change(problem, name, torch):
    precision = next(r for r in ladder("conv2d", "cuda") if r.name == name).precision
    for _ in range(2):
        arrays = inputs(problem)
        tensors = [torch.from_numpy(a).cuda() for a in arrays]
        y = conv(problem, *tensors, strategy=name, precision=precision)
        assert (y.device, y.dtype) == (tensors[0].device, torch.float32)
        assert_close(problem, y.cpu().numpy(), *arrays, precision=precision)


def test_torch_weights_changed_in_place(torch):
    x, weights, bias = inputs(ONE_CHANNEL)
    tensors = [torch.from_numpy(a).cuda() for a in (x, weights, bias)]
    first = conv(ONE_CHANNEL, *tensors)
    tensors[1].mul_(-1)
    second = conv(ONE_CHANNEL, *tensors)
    assert_close(ONE_CHANNEL, first.cpu().numpy(), x, weights, bias)
    assert_close(ONE_CHANNEL, second.cpu().numpy(), x, -weights, bias)


@pytest.mark.parametrize("operation", ["pool2d", "linear", "matmul", "softmax"])
def test_torch_the_other_operations(operation, torch):
    problem = {
        "pool2d": Pool2d(3, 2, 12, 13, Pool.of("max", 2)),
        "linear": Linear(5, 70, 33, "relu"),
        "matmul": Linear(5, 70, 33),
        "softmax": Softmax(5, 33),
    }[operation]
    try:
        choose(problem, "ieee", "cuda")
    except rooftile.UnsupportedProblem as error:
        pytest.skip(str(error))
    arrays = inputs(problem)
    if operation == "matmul":
        arrays[2][:] = 0
    x, *parameters = [torch.from_numpy(a).cuda() for a in arrays]
    y = {
        "pool2d": lambda: rooftile.pool2d(x, "max", 2),
        "linear": lambda: rooftile.linear(x, *parameters, activation="relu"),
        "matmul": lambda: rooftile.matmul(x.T.contiguous(), parameters[0].T, transpose_a=True),
        "softmax": lambda: rooftile.softmax(x),
    }[operation]()
    assert_close(problem, y.cpu().numpy(), *arrays)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("sizes", [(1, 264, 72), (7, 75, 33), (64, 520, 130), (1000, 1000, 1000)])
@pytest.mark.parametrize(("transpose_a", "transpose_b"), [(False, False), (True, True)])
def test_torch_matmul_of_16_bits(sizes, dtype, transpose_a, transpose_b, torch):
    """Called twice, as a repeated call starts the same launches."""
    rows, inner, columns = sizes
    problem = Matmul(rows, inner, columns, transpose_a, transpose_b)
    kind, precision = getattr(torch, dtype), {"float16": "fp16", "bfloat16": "bf16"}[dtype]
    for seed in (1, 2):
        a, b = (torch.from_numpy(array).cuda().to(kind) for array in problem.random(seed))
        y = rooftile.matmul(
            a, b, transpose_a=transpose_a, transpose_b=transpose_b, precision=precision
        )
        assert y.dtype == kind
        given = [array.float().cpu().numpy() for array in (a, b)]
        model = replace(ERROR_MODELS[precision], results=precision)
        Expected(problem, *given).judge(y.float().cpu().numpy(), model).raise_if_wrong()


def test_torch_out_and_views(torch):
    arrays = inputs(PROBLEM)
    x, weights, bias = [torch.from_numpy(a).cuda() for a in arrays]
    out = torch.full(PROBLEM.output_shape, torch.nan, device="cuda")
    address = out.data_ptr()
    assert conv(PROBLEM, x, weights, bias, out=out) is out
    assert out.data_ptr() == address
    assert_close(PROBLEM, out.cpu().numpy(), *arrays)
    shifted = torch.empty(x.numel() + 1, device="cuda")[1:].view(x.shape).copy_(x)
    assert shifted.data_ptr() % 16 == 4
    for view in (x.contiguous(memory_format=torch.channels_last), shifted):
        y = conv(PROBLEM, view, weights, bias)
        assert_close(PROBLEM, y.cpu().numpy(), *arrays)


@pytest.mark.parametrize("name", ["im2col_register", "constant", "fft"])
def test_torch_order_on_a_stream_that_is_busy(name, torch):
    # The inputs are written behind a long wait on the same stream: a call that did not keep its
    # order would read what was there before.
    arrays = inputs(PROBLEM)
    hosts = [torch.from_numpy(a).pin_memory() for a in arrays]
    precision = "fast" if name == "fft" else "ieee"
    tensors = [torch.full_like(h, torch.nan, device="cuda") for h in hosts]
    conv(PROBLEM, *tensors, strategy=name, precision=precision)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(1_000_000_000)
        for tensor, host in zip(tensors, hosts, strict=True):
            tensor.copy_(host, non_blocking=True)
        y = conv(PROBLEM, *tensors, strategy=name, precision=precision)
        if name == "im2col_register":
            assert not stream.query(), "the call waited for the stream"
        # Given back and taken at once by the allocator: the order of the stream must protect it.
        del tensors
        torch.full(PROBLEM.input_shape, torch.nan, device="cuda")
        copy = y.to("cpu", non_blocking=True)
    stream.synchronize()
    assert_close(PROBLEM, copy.numpy(), *arrays, precision=precision)


@pytest.mark.parametrize("name", ["direct_tile", "constant", "im2col"])
def test_torch_two_streams_do_not_disturb_each_other(name, torch):
    streams = [torch.cuda.Stream() for _ in range(2)]
    arrays = [inputs(ONE_CHANNEL) for _ in streams]
    tensors = [[torch.from_numpy(a).cuda() for a in given] for given in arrays]
    torch.cuda.synchronize()
    results = []
    for _ in range(20):
        for stream, given in zip(streams, tensors, strict=True):
            with torch.cuda.stream(stream):
                results.append(conv(ONE_CHANNEL, *given, strategy=name))
    torch.cuda.synchronize()
    for number, y in enumerate(results):
        assert torch.equal(y, results[number % 2])
    for y, given in zip(results[:2], arrays, strict=True):
        assert_close(ONE_CHANNEL, y.cpu().numpy(), *given)


def test_torch_from_threads_that_have_no_gpu_yet(torch):
    arrays = inputs(PROBLEM)
    tensors = [torch.from_numpy(a).cuda() for a in arrays]
    torch.cuda.synchronize()
    results, failures = [], []

    def call(number):
        try:
            name = ("im2col_register", "constant", "naive")[number % 3]
            results.append(conv(PROBLEM, *tensors, strategy=name))
            results.append(torch.from_numpy(conv(PROBLEM, *arrays, device="cuda")))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    torch.cuda.synchronize()
    for y in results:
        assert_close(PROBLEM, y.cpu().numpy(), *arrays)


def test_memory_is_given_back_in_a_thread_that_has_no_gpu(device):
    def used():
        number = ctypes.c_int(device.description.index)
        pool = ctypes.c_void_p(driver.answer("cuDeviceGetMemPool", ctypes.c_void_p, number))
        found = ctypes.c_uint64()
        driver.call("cuMemPoolGetAttribute", pool, USED_MEMORY, ctypes.byref(found))
        return found.value

    def convolve():
        for name in ("im2col_register", "constant", "im2col"):
            conv(PROBLEM, *arrays, strategy=name, device="cuda")

    def in_a_thread():
        thread = threading.Thread(target=convolve)
        thread.start()
        thread.join()
        gc.collect()
        device.synchronise()

    arrays = inputs(PROBLEM)
    in_a_thread()
    before = used()
    in_a_thread()
    assert used() == before


def test_torch_copies_nothing(torch):
    arrays = inputs(PROBLEM)
    tensors = [torch.from_numpy(a).cuda() for a in arrays]
    conv(PROBLEM, *tensors, strategy="im2col_register")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        y = conv(PROBLEM, *tensors, strategy="im2col_register")
        torch.cuda.synchronize()
    names = [event.name for event in profile.events()]
    if not any("conv2d" in name for name in names):
        pytest.skip(f"PyTorch's profiler sees no kernels here: {names}")
    assert not [name for name in names if "memcpy" in name.lower()], names
    assert y.data_ptr() not in [t.data_ptr() for t in tensors]


def test_torch_in_a_graph(torch):
    arrays = inputs(PROBLEM)
    x, weights, bias = [torch.from_numpy(a).cuda() for a in arrays]
    name = "im2col_register"
    conv(PROBLEM, x, weights, bias, strategy=name)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = conv(PROBLEM, x, weights, bias, strategy=name)
    fresh, changed = inputs(PROBLEM)[:2]
    x.copy_(torch.from_numpy(fresh))
    weights.copy_(torch.from_numpy(changed))
    graph.replay()
    torch.cuda.synchronize()
    assert_close(PROBLEM, y.cpu().numpy(), fresh, changed, arrays[2])


def test_torch_in_a_graph_what_is_not_compiled_is_refused(torch):
    # No other test has computed this.
    problem = Conv2d(3, 5, 17, 13, 7, (3, 3))
    x, weights, bias = [torch.from_numpy(a).cuda() for a in inputs(problem)]
    torch.cuda.synchronize()

    def captured(**options):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            # A kernel of PyTorch's own, so that the graph is not empty.
            x.clone()
            with pytest.raises(rooftile.UnsupportedProblem, match="graph is being captured"):
                conv(problem, x, weights, bias, **options)

    captured(strategy="naive")


def test_torch_temporaries_go_with_the_call(torch):
    tensors = [torch.from_numpy(a).cuda() for a in inputs(ONE_CHANNEL)]
    out = torch.empty(ONE_CHANNEL.output_shape, device="cuda")
    for name in strategies(ONE_CHANNEL):
        precision = next(r for r in ladder("conv2d", "cuda") if r.name == name).precision
        conv(ONE_CHANNEL, *tensors, strategy=name, precision=precision, out=out)
        # Repeated calls on one stream keep small ones: as many as the first of them.
        conv(ONE_CHANNEL, *tensors, strategy=name, precision=precision, out=out)
        gc.collect()
        before = torch.cuda.memory_allocated()
        for _ in range(3):
            conv(ONE_CHANNEL, *tensors, strategy=name, precision=precision, out=out)
        assert torch.cuda.memory_allocated() == before, name


def test_torch_arrays_on_two_gpus(torch):
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU: this needs two")
    arrays = inputs(PROBLEM)
    there = [torch.from_numpy(a).to("cuda:1") for a in arrays]
    assert torch.cuda.current_device() == 0
    y = conv(PROBLEM, *there)
    assert torch.cuda.current_device() == 0
    assert y.device == there[0].device
    assert_close(PROBLEM, y.cpu().numpy(), *arrays)
    with pytest.raises(InputError, match="cuda:1"):
        conv(PROBLEM, there[0], there[1].to("cuda:0"), there[2])


def test_torch_refused(torch):
    x, weights, bias = [torch.from_numpy(a).cuda() for a in inputs(PROBLEM)]
    for argument, call in (
        ("weights", lambda: conv(PROBLEM, x, weights.cpu(), bias)),
        ("weights", lambda: conv(PROBLEM, x, weights.cpu().numpy(), bias)),
        ("weights", lambda: conv(PROBLEM, x.cpu(), weights, bias, device="cuda")),
        ("weights", lambda: conv(PROBLEM, x.double(), weights, bias)),
        ("weights", lambda: conv(PROBLEM, x.half(), weights.bfloat16(), bias)),
        ("precision", lambda: conv(PROBLEM, x.half(), weights, bias, precision="bf16")),
        ("weights", lambda: conv(PROBLEM, x, weights.requires_grad_(), bias)),
        ("device", lambda: conv(PROBLEM, x, weights.detach(), bias, device="cpu")),
        ("out", lambda: rooftile.conv2d(x, weights.detach()[:2, :, :1, :1], out=x)),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.argument == argument


def test_cupy(cupy):
    arrays = inputs(PROBLEM)
    x, weights, bias = map(cupy.asarray, arrays)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.get_current_stream().synchronize()
    for name in ("im2col_register", "constant", None):
        with stream:
            y = conv(PROBLEM, x, weights, bias, strategy=name)
        stream.synchronize()
        assert isinstance(y, cupy.ndarray)
        assert_close(PROBLEM, cupy.asnumpy(y), *arrays)
    fortran = cupy.asfortranarray(x)
    out = cupy.full(PROBLEM.output_shape, cupy.nan, cupy.float32)
    assert conv(PROBLEM, fortran, weights, bias, out=out) is out
    assert_close(PROBLEM, cupy.asnumpy(out), *arrays)


def test_an_array_with_the_interface_alone(torch):
    class Lent:
        def __init__(self, tensor):
            self.tensor = tensor
            self.__cuda_array_interface__ = tensor.__cuda_array_interface__

    arrays = inputs(PROBLEM)
    lent = [Lent(torch.from_numpy(a).cuda()) for a in arrays]
    out = Lent(torch.full(PROBLEM.output_shape, torch.nan, device="cuda"))
    assert conv(PROBLEM, *lent, out=out) is out
    torch.cuda.synchronize()
    assert_close(PROBLEM, out.tensor.cpu().numpy(), *arrays)
    with pytest.raises(InputError, match="out"):
        conv(PROBLEM, *lent)


def test_dlpack_in_and_out(device, torch):
    # What JAX's arrays go through, with PyTorch in its place.
    from rooftile.devices.cuda.exchange import allocate_for_export, exported, of_dlpack

    tensor = torch.arange(24, dtype=torch.float32, device="cuda").view(2, 3, 4)
    seen = of_dlpack("x", tensor, 0)
    assert (seen.address, seen.shape, seen.ready) == (tensor.data_ptr(), (2, 3, 4), True)
    assert not of_dlpack("x", tensor.transpose(0, 2), 0).contiguous
    with device.on():
        memory = allocate_for_export(device, (2, 3, 4))
        device.copy_in(np.arange(24, dtype=np.float32), memory.address)
    back = torch.from_dlpack(exported(memory))
    assert back.data_ptr() == memory.address
    assert torch.equal(back, tensor)
    del memory
    gc.collect()
    assert torch.equal(back, tensor)


def test_jax():
    jax = pytest.importorskip("jax", reason="JAX is not installed: the caller's library")
    if jax.default_backend() != "gpu":
        pytest.skip("this JAX has no CUDA")
    arrays = inputs(PROBLEM)
    for _ in range(3):
        y = conv(PROBLEM, *map(jax.numpy.asarray, arrays))
        assert isinstance(y, jax.Array)
        assert_close(PROBLEM, np.asarray(y + 0), *arrays)
