"""The public functions on arrays in a GPU's memory: a device that only notes stands for it."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import rooftile
from rooftile.devices import cuda
from rooftile.devices.cuda import exchange
from rooftile.runtime.calls import gpu as execution
from rooftile.runtime.selection import choice
from tests.support import fake_cuda
from tests.support.fake_cuda import OWN, Array
from tests.support.some_gpu import some_gpu

LEGACY = 1


@pytest.fixture
def device(monkeypatch):
    """A GPU that computes nothing; arrays know theirs by their attribute."""
    device = fake_cuda.Device()
    monkeypatch.setattr(cuda, "open_device", lambda index=0: device)
    monkeypatch.setattr(cuda, "lent_device", lambda index=0: device)
    monkeypatch.setattr(choice, "kept", {})
    monkeypatch.setattr(execution, "executables", {})
    monkeypatch.setattr(exchange, "device_of", fake_cuda.gpus.__getitem__)
    return device


@pytest.fixture
def cupy(device, monkeypatch):
    """A library like CuPy that is imported and whose arrays are on the device."""
    module = fake_cuda.library(device)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def images(**changes):
    return Array(**{"shape": (2, 3, 12, 20), **changes})


def masks(**changes):
    return Array(**{"shape": (5, 3, 3, 4), **changes})


def result(**changes):
    return Array(**{"shape": (2, 5, 10, 17), **changes})


def conv(x, weights, bias=None, *, strategy="naive", **options):
    return rooftile.conv2d(x, weights, bias, strategy=strategy, **options)


def launches(device):
    return [(stream, kernel, arguments) for stream, (kernel, arguments) in device.of("launch")]


def test_the_kernel_gets_the_arrays_own_memory(device):
    x, weights, bias, out = images(stream=7), masks(), Array((5,)), result()
    assert conv(x, weights, bias, out=out) is out
    ((stream, kernel, arguments),) = launches(device)
    assert (stream, kernel) == (7, "naive")
    assert arguments[:4] == (x.address, weights.address, bias.address, out.address)
    assert not device.of("copy_in")
    assert not device.of("copy_out")


def test_arrays_without_a_stream_use_the_default_one(device):
    conv(images(), masks(), out=result())
    assert [stream for stream, *_ in launches(device)] == [LEGACY]


def test_the_stream_waits_for_those_that_other_arguments_name(device):
    conv(images(stream=7), masks(stream=8), Array((5,), stream=7), out=result(stream=9))
    assert device.of("after_stream") == [(7, 8), (7, 9)]


def test_compilation_and_what_it_uploads_are_on_the_devices_own_stream(device):
    conv(images(stream=7), masks(), out=result(), strategy="im2col_register")
    assert {stream for stream, _ in device.of("compile") + device.of("upload")} == {OWN}
    assert [kernel for _, kernel, _ in launches(device)] == ["rearrange", "im2col_register"]
    assert {stream for stream, *_ in launches(device)} == {7}


def test_a_second_call_compiles_nothing(device):
    for batch in (5, 8, 6):
        x, out = images(shape=(batch, 3, 12, 20)), result(shape=(batch, 5, 10, 17))
        conv(x, masks(), out=out, strategy="im2col")
    assert len(device.of("compile")) == 1


def test_calls_on_two_streams_take_turns_with_constant_memory(device):
    for stream in (7, 8):
        conv(images(stream=stream), masks(), out=result(), strategy="constant")
    log = [(what, stream) for what, stream, _ in device.log if stream in (7, 8)]
    work = ["turn begins", "fill_constant", "launch", "turn ends"]
    assert log == [(what, stream) for stream in (7, 8) for what in work]


def test_without_constant_memory_streams_do_not_wait(device):
    for stream in (7, 8):
        conv(images(stream=stream), masks(), out=result(), strategy="im2col")
    assert not device.of("turn begins")


@pytest.mark.parametrize("strategy", ["fft", "winograd"])
def test_weights_that_are_transformed_stay_on_the_gpu(strategy, device):
    out = result(shape=(2, 5, 10, 18))
    conv(images(stream=7), masks(shape=(5, 3, 3, 3)), out=out, strategy=strategy, precision="fast")
    assert not device.of("copy_out")
    assert launches(device)[0][:2] == (7, f"{strategy}_transform_weights")
    assert {stream for stream, *_ in launches(device)} == {7}


def test_constant_memory_is_filled_with_what_a_kernel_has_rounded(device):
    # So many FLOPs that it pays to fill it.
    x, out = images(shape=(8000, 1, 12, 20), stream=7), result(shape=(8000, 4, 10, 18))
    conv(x, masks(shape=(4, 1, 3, 3)), out=out, strategy="direct_tile_fp16", precision="fp16")
    work = [entry for entry in device.log if entry[0] in ("launch", "fill_constant")]
    assert {stream for _, stream, _ in work} == {7}
    made = [details[0] if what == "launch" else what for what, _, details in work]
    assert made == [
        "rearrange", "direct_tile_round_weights", "fill_constant", "direct_tile",
    ]  # fmt: skip


BAD = {
    "no out": ("out", lambda: conv(images(), masks())),
    "weights of NumPy": ("weights", lambda: conv(images(), np.zeros((5, 3, 3, 4), np.float32))),
    "x of NumPy": ("weights", lambda: conv(np.zeros((2, 3, 12, 20), np.float32), masks())),
    "another GPU": ("weights", lambda: conv(images(), masks(gpu=1))),
    "out on another GPU": ("out", lambda: conv(images(), masks(), out=result(gpu=1))),
    "out of NumPy": ("out", lambda: conv(images(), masks(), out=np.zeros((2, 5, 10, 17)))),
    "dtype": ("x", lambda: conv(images(typestr="<i4"), masks())),
    "float64": ("weights", lambda: conv(images(typestr="<f8"), masks())),
    "dtype of out": ("out", lambda: conv(images(), masks(), out=result(typestr="<f2"))),
    "rank": ("x", lambda: conv(images(shape=(3, 12, 20)), masks())),
    "empty": ("x", lambda: conv(images(shape=(2, 3, 0, 20)), masks())),
    "channels": ("weights", lambda: conv(images(), masks(shape=(5, 2, 3, 4)))),
    "bias": ("bias", lambda: conv(images(), masks(), Array((4,)))),
    "gaps": ("x", lambda: conv(images(strides=(5760, 960, 80, 8)), masks())),
    "broadcast": ("x", lambda: conv(images(strides=(0, 960, 80, 4)), masks())),
    "unaligned": ("x", lambda: conv(images(address=2**20 + 4), masks())),
    "shape of out": ("out", lambda: conv(images(), masks(), out=result(shape=(2, 5, 10, 16)))),
    "read-only out": ("out", lambda: conv(images(), masks(), out=result(read_only=True))),
    "out with gaps": ("out", lambda: conv(images(), masks(), out=result(strides=(4, 4, 4, 4)))),
    "unaligned out": ("out", lambda: conv(images(), masks(), out=result(address=2**20 + 4))),
    "out over x": (
        "out",
        lambda: conv(images(address=2**20), masks(), out=result(address=2**20 + 64)),
    ),
    # What only has the interface cannot be copied either.
    "matmul of b with gaps": (
        "b",
        lambda: rooftile.matmul(
            Array((4, 7)), Array((7, 6), strides=(48, 4)), out=Array((4, 6))
        ),
    ),
    "the CPU": ("device", lambda: conv(images(), masks(), device="cpu")),
    "OpenCL": ("device", lambda: conv(images(), masks(), device="opencl")),
    "a GPU that it is not on": ("device", lambda: conv(images(), masks(), device="cuda:1")),
    "no device": ("device", lambda: conv(images(), masks(), device="tpu")),
}  # fmt: skip


@pytest.mark.parametrize(("argument", "call"), BAD.values(), ids=BAD)
def test_bad_input_names_the_argument_and_starts_nothing(argument, call, device):
    with pytest.raises(rooftile.InputError) as caught:
        call()
    assert caught.value.argument == argument
    assert not device.of("launch")


def test_cuda_without_a_number_is_the_gpu_of_the_arrays(device):
    device.description = replace(device.description, index=1)
    out = result(gpu=1)
    for name in ("cuda", "cuda:1", None):
        assert conv(images(gpu=1), masks(gpu=1), out=out, device=name) is out
    with pytest.raises(rooftile.InputError, match="cuda:1"):
        conv(images(gpu=1), masks(gpu=1), out=out, device="cuda:0")


def test_a_graph_takes_what_was_called_before(cupy, device):
    cupy.current = 7

    def call(strategy, **options):
        x, weights = cupy.ndarray((2, 3, 12, 20)), cupy.ndarray((5, 3, 3, 4))
        conv(x, weights, strategy=strategy, **options)

    device.is_capturing_now = True
    with pytest.raises(rooftile.UnsupportedProblem, match="same call once before"):
        call("im2col_register")
    assert not device.log
    device.is_capturing_now = False
    call("im2col_register")
    call("constant")
    call("fft", precision="fast")
    device.is_capturing_now = True
    device.log.clear()
    call("im2col_register")
    call("fft", precision="fast")
    assert {(what, stream) for what, stream, _ in device.log} == {("alloc", 7), ("launch", 7)}
    device.log.clear()
    call("constant")
    # A replay has constant memory of its own, and waits for no other call.
    assert [what for what, *_ in device.log if "turn" in what or what == "compile"] == ["compile"]
    with pytest.raises(rooftile.UnsupportedProblem, match="PyTorch or CuPy"):
        conv(images(stream=7), masks(), out=result())


@pytest.mark.parametrize(("current", "stream"), [(0, LEGACY), (2, 2), (4711, 4711)])
def test_a_library_gives_stream_result_and_temporaries(cupy, device, current, stream):
    cupy.current = current
    x, weights = cupy.ndarray((2, 3, 12, 20)), cupy.ndarray((5, 3, 3, 4))
    y = conv(x, weights, strategy="im2col")
    assert type(y) is cupy.ndarray
    assert y.shape == (2, 5, 10, 17)
    assert {at for at, *_ in launches(device)} == {stream}
    assert launches(device)[-1][2][2] == y.data.ptr
    assert len(device.of("alloc")) == 2
    assert not device.of("allocate")


def test_a_librarys_view_is_copied_by_the_library(cupy, device):
    weights = cupy.ndarray((5, 3, 3, 4))
    gaps = cupy.ndarray((2, 3, 12, 20), contiguous=False)
    unaligned = cupy.ndarray((2, 3, 12, 20), address=2**20 + 4)
    for x in (gaps, unaligned):
        device.log.clear()
        conv(x, weights)
        assert [copied for _, copied in device.of("copy")] == [x]
        assert launches(device)[-1][2][0] not in (x.data.ptr, None)


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_matmul_of_matrices_in_either_order_copies_nothing(transpose_a, transpose_b, device):
    a, b, out = ((7, 4), (6, 7), (4, 6)) if transpose_a else ((4, 7), (6, 7), (4, 6))
    b = b if transpose_b else b[::-1]
    a, b, out = Array(a), Array(b), Array(out)
    made = rooftile.matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, out=out)
    assert made is out
    assert launches(device)
    assert not device.of("copy")


@pytest.mark.parametrize(
    ("rows", "strategy", "expected"),
    [(4, "few_rows_fp16", "few_rows_strips"), (70, "own_terms_fp16", "own_terms")],
)
def test_matmul_takes_and_makes_16_bits_without_conversions(rows, strategy, expected, device):
    options = {"precision": "fp16", "strategy": strategy}
    kind = {"typestr": "<f2"}
    a, b, out = Array((rows, 72), **kind), Array((72, 64), **kind), Array((rows, 64), **kind)
    assert rooftile.matmul(a, b, out=out, **options) is out
    assert [kernel for _, kernel, _ in launches(device)] == [expected]
    # Beside a matrix of float32, one of 16 bits becomes float32 too.
    device.log.clear()
    rooftile.matmul(a, Array((72, 64)), out=out, **options)
    assert [kernel for _, kernel, _ in launches(device)] == ["convert", expected]


HALF = {"typestr": "<f2"}


@pytest.mark.parametrize(
    ("rows", "kinds", "options", "expected"),
    [
        (9, ({}, {}), {}, "bulk_tf32"),
        (64, ({}, {}), {"precision": "bf16"}, "bulk_tf32"),
        (64, ({}, {}), {"transpose_b": True}, "bulk_tf32"),
        (1, ({}, {}), {}, "bulk_tf32"),
        # Rows that pay for a pass.
        (4096, ({}, {}), {}, "bulk_fp16"),
        (4096, ({}, {}), {"precision": "bf16"}, "bulk_bf16"),
        (512, (HALF, HALF), {}, "bulk_fp16"),
        (512, ({}, HALF), {}, "bulk_fp16"),
        (512, ({}, {}), {"strategy": "bulk_fp16"}, "bulk_fp16"),
        (512, ({}, {}), {"precision": "ieee"}, "bulk_ieee"),
        # Lines of both that are terms, of which the rung turns one before.
        (512, ({}, {}), {"transpose_a": True}, "bulk_fp16"),
        (512, ({}, {}), {"on": "sm_80"}, "mma_fp16"),
    ],
)
def test_matmul_of_float32_in_16_bits_is_at_tf32_where_that_is_faster(
    rows, kinds, options, expected, device, monkeypatch
):
    options = {"precision": "fp16", **options}
    device.description = some_gpu(options.pop("on", "sm_90")).description
    chosen = []

    def run(given, choice, inputs, parameters, outputs):
        chosen.append(choice.strategy.name)
        return outputs

    monkeypatch.setattr(execution, "run_on_gpu", run)
    turned_a, turned_b = (options.get(f"transpose_{name}", False) for name in "ab")
    a = Array((1024, rows) if turned_a else (rows, 1024), **kinds[0])
    b = Array((2048, 1024) if turned_b else (1024, 2048), **kinds[1])
    rooftile.matmul(a, b, out=Array((rows, 2048), **kinds[0]), **options)
    assert chosen == [expected]


def test_a_librarys_arrays_do_not_mix_with_others(cupy, device):
    x = cupy.ndarray((2, 3, 12, 20))
    with pytest.raises(rooftile.InputError, match=r"expected a cupy\.ndarray"):
        conv(x, masks())
    with pytest.raises(rooftile.InputError, match="float64"):
        conv(x, cupy.ndarray((5, 3, 3, 4), dtype=np.float64))
    with pytest.raises(rooftile.InputError, match="cuda:1"):
        conv(x, cupy.ndarray((5, 3, 3, 4), gpu=1))
