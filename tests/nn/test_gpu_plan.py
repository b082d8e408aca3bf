"""Plans on GPUs: the CPU's predictions, partial batches, graphs, buffers, threads, bad input."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rooftile
from rooftile.nn import ConvLayer, LinearLayer, Network, Pixels, load
from rooftile.nn.data import load_images, prepare
from rooftile.nn.gpu_plan import GpuPlan
from rooftile.nn.plan import Plan
from rooftile.ops import Float32, Pool
from rooftile.ops.problem import numpy_dtype
from rooftile.runtime.selection.choice import decide

SMALL = Network(
    "small",
    (2, 20, 18),
    (
        ConvLayer("conv1", 3, 3, padding=1, activation="relu", pool=Pool.of("max", 2)),
        ConvLayer("conv2", 5, 5, activation="tanh"),
        LinearLayer("linear1", 19, "sigmoid"),
        LinearLayer("linear2", 7),
    ),
).initialise(3)


@pytest.fixture(scope="module")
def name(device: Any) -> str:
    return f"{device.description.kind}:{device.description.index}"


def images(count: int, seed: int = 0) -> Float32:
    return np.random.default_rng(seed).standard_normal((count, *SMALL.input_shape), np.float32)


def assert_same(scores: Float32, expected: Float32) -> None:
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)


def test_predictions_are_the_cpus(name: str) -> None:
    check_predictions("lenet5", name, 100)


@pytest.mark.usefixtures("optimised")
def test_predictions_of_optimised_texts_are_the_cpus(name: str) -> None:
    check_predictions("mnist8", name, 300)


def check_predictions(model: str, name: str, count: int) -> None:
    network = load(model)
    test = load_images("test", limit=count)
    x = prepare(test.images, network.input_shape[1])
    expected = network.predict(x)
    np.testing.assert_array_equal(network.predict(x, device=name), expected)
    assert (expected == test.labels).mean() > 0.8
    # One image has a plan, and strategies, of its own.
    for k in range(3):
        assert network.predict(x[k : k + 1], device=name) == expected[k]


@pytest.mark.parametrize(
    ("model", "first"),
    [("lenet5", {"front", "pool_folded"}), ("mnist8", {"direct_tile", "gathered_gemm"})],
    ids=["lenet5", "mnist8"],
)
@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_narrow_precisions_keep_the_scores(
    precision: Any, model: str, first: set[str], cuda_device: Any
) -> None:
    network = load(model)
    x = prepare(load_images("test", limit=300).images, network.input_shape[1])
    plan, cpu = network.plan(batch=128, precision=precision, device="cuda"), network.plan()
    assert next(iter(plan.strategies.values())).removesuffix(f"_{precision}") in first
    expected, scores = cpu(x), plan(x)
    # Weights, images and one layer's results keep 11 or 8 bits.
    unit = {"fp16": 2.0**-11, "bf16": 2.0**-8}[precision]
    error = np.linalg.norm(scores - expected) / np.linalg.norm(expected)
    assert unit / 100 < error < 4 * unit
    assert (scores.argmax(1) == expected.argmax(1)).mean() > 1 - 8 * unit


@pytest.mark.parametrize("batch", [1, 4, 9, 64])
def test_any_number_of_images_through_any_batch(batch: int, name: str) -> None:
    # The CPU's scores are the same for every batch.
    plan, cpu = SMALL.plan(batch=batch, device=name), SMALL.plan(batch=4)
    assert isinstance(plan, GpuPlan)
    # Often enough that whole batches come from a graph, with other sizes between them.
    for seed, count in enumerate((21, 1, batch, 21, batch + 1, 3)):
        assert_same(plan(images(count, seed)), cpu(images(count, seed)))


def test_both_plans_have_one_interface(name: str) -> None:
    for plan in (SMALL.plan(batch=4), SMALL.plan(batch=4, device=name)):
        assert isinstance(plan, Plan)
        assert list(plan.strategies) == [layer.name for layer in SMALL.layers]
        assert (plan.batch, plan.precision) == (4, "ieee")
    assert plan.device == name


def test_strategies_follow_the_batch_and_can_be_named(name: str) -> None:
    for batch in (1, 1025):
        picked = decide(dict(SMALL.problems(batch))["linear1"], "ieee", name).strategy.name
        assert SMALL.plan(batch=batch, device=name).strategies["linear1"] == picked
    named = {"conv1": "naive", "linear2": "tiled"}
    plan = SMALL.plan(batch=4, device=name, strategies=named)
    assert {key: plan.strategies[key] for key in named} == named
    assert_same(plan(images(6)), SMALL.plan(batch=4)(images(6)))


def test_layers_with_constant_memory_keep_their_own_weights(name: str) -> None:
    layers = tuple(ConvLayer(f"conv{k}", 2, 3, padding=1) for k in range(3))
    twins = Network("twins", (2, 9, 9), layers).initialise(5)
    constant = dict.fromkeys((layer.name for layer in layers), "constant")
    plan = twins.plan(batch=2, device=name, strategies=constant)
    x = np.random.default_rng(1).standard_normal((5, 2, 9, 9), np.float32)
    for _ in range(2):
        assert_same(plan(x), twins.plan(batch=2)(x))


def test_results_go_into_out_and_inputs_stay_as_they_are(name: str) -> None:
    x = images(11)
    before, out = x.copy(), np.full((11, 7), np.nan, np.float32)
    plan = SMALL.plan(batch=4, device=name)
    assert plan(x, out=out) is out
    np.testing.assert_array_equal(out, plan(x))
    np.testing.assert_array_equal(x, before)


def test_a_strided_view_gives_the_same_scores(name: str) -> None:
    x = images(8)
    view = np.ascontiguousarray(x[..., ::-1])[..., ::-1]
    plan = SMALL.plan(batch=8, device=name)
    np.testing.assert_array_equal(plan(view), plan(x))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_images_and_scores(dtype: str, name: str) -> None:
    plan = SMALL.plan(batch=4, device=name)
    # Often enough that whole batches come from a graph, between those of another dtype.
    for seed, count in enumerate((9, 4, 1)):
        x = images(count, seed).astype(numpy_dtype(dtype))
        expected = plan(x.astype(np.float32)).astype(x.dtype)
        scores = plan(x)
        assert scores.dtype == x.dtype
        np.testing.assert_array_equal(scores, expected)


def test_pixels_are_prepared_as_the_network_says(name: str) -> None:
    network = replace(SMALL, pixels=Pixels((0.4, 0.5), (0.2, 0.3)))
    pixels = np.random.default_rng(0).integers(0, 256, (9, 2, 20, 18), np.uint8)
    x = pixels.astype(np.float32)
    Pixels((0.4, 0.5), (0.2, 0.3)).standardise(x)
    plan = network.plan(batch=4, device=name)
    np.testing.assert_array_equal(plan(pixels), plan(x))
    with pytest.raises(rooftile.InputError, match="uint8"):
        SMALL.plan(batch=4, device=name)(pixels)


def test_nothing_is_allocated_after_the_plan_is_made(name: str, monkeypatch: Any) -> None:
    plan, x = SMALL.plan(batch=4, device=name), images(11)
    expected = plan(x)

    def refuse(nbytes: int) -> None:
        raise AssertionError(f"{nbytes} bytes allocated")

    monkeypatch.setattr(plan._gpu, "allocate", refuse)
    np.testing.assert_array_equal(plan(x), expected)


def test_threads_share_a_plan(name: str) -> None:
    plan, x = SMALL.plan(batch=8, device=name), [images(30, seed=k) for k in range(3)]
    expected = [plan(part) for part in x]
    results: dict[int, Float32] = {}

    def work(k: int) -> None:
        for _ in range(5):
            results[k] = plan(x[k])

    workers = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for k, scores in enumerate(expected):
        np.testing.assert_array_equal(results[k], scores)


@pytest.mark.parametrize(
    "bad", [images(3).astype(np.float64), images(3)[:, :1], images(3)[0], [[1.0]]]
)
def test_wrong_images_are_refused_by_name(bad: Any, name: str) -> None:
    plan = SMALL.plan(batch=4, device=name)
    with pytest.raises(rooftile.InputError, match="images"):
        plan(bad)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"threads": 2}, "threads"),
        ({"batch": 0}, "batch"),
        ({"strategies": {"conv9": "naive"}}, "strategies"),
        ({"strategies": {"linear1": "blocked"}}, "warp_rows"),
    ],
)
def test_wrong_arguments_are_refused_by_name(arguments: Any, named: str, name: str) -> None:
    with pytest.raises(rooftile.InputError, match=named):
        SMALL.plan(**{"batch": 4, "device": name, **arguments})


def test_a_number_beyond_the_devices_is_refused(name: str) -> None:
    beyond = f"{name.partition(':')[0]}:99"
    with pytest.raises(rooftile.InputError, match=beyond):
        SMALL.plan(device=beyond)


def test_a_missing_device_says_what_was_looked_for(no_cuda: None) -> None:
    for call in (
        lambda: SMALL.plan(device="cuda"),
        lambda: SMALL.predict(images(2), device="cuda"),
    ):
        with pytest.raises(rooftile.DeviceMissing, match="driver"):
            call()
