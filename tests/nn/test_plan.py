"""Plans: the same scores for every batch size and strategy, buffers, threads, bad input."""

from __future__ import annotations

import multiprocessing
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rooftile
from rooftile.lab.judge.verify import assert_close
from rooftile.nn import ConvLayer, LinearLayer, Network, Pixels, architecture, load
from rooftile.nn.cpu_plan import CpuPlan
from rooftile.nn.data import prepare
from rooftile.nn.plan import Plan
from rooftile.ops import Float32, Pool
from rooftile.ops.problem import numpy_dtype
from rooftile.strategies import ladder

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


SHORT = Network(
    "short", SMALL.input_shape, (SMALL.layers[0], LinearLayer("linear1", 7))
).initialise(3)


def images(count: int, network: Network = SMALL, seed: int = 0) -> Float32:
    return np.random.default_rng(seed).standard_normal((count, *network.input_shape), np.float32)


def assert_layers_close(network: Network, x: Float32, scores: Float32) -> None:
    """Every layer's reference on the previous one's, the last against ``scores``."""
    problems = network.problems(len(x))
    for name, problem in problems[:-1]:
        x = problem.reference(x.reshape(problem.input_shape), *network.parameters_of(name))
        x = x.astype(np.float32)
    name, last = problems[-1]
    # Earlier layers' errors come on top of the last one's own: the budget of `fast`.
    parameters = network.parameters_of(name)
    assert_close(last, scores, x.reshape(last.input_shape), *parameters, precision="fast")


@pytest.mark.parametrize("precision", ["ieee", "fast"])
@pytest.mark.parametrize("model", ["lenet5", "mnist8"])
def test_built_in_networks_against_the_reference(model: str, precision: Any) -> None:
    network = architecture(model).initialise(1)
    x = images(9, network)
    assert_layers_close(network, x, network.plan(batch=9, precision=precision)(x))


@pytest.mark.parametrize("batch", [1, 2, 5, 8, 64])
def test_scores_do_not_depend_on_the_batch(batch: int) -> None:
    x = images(21)
    expected = CpuPlan(SMALL, 21)(x)
    np.testing.assert_array_equal(CpuPlan(SMALL, batch)(x), expected)


@pytest.mark.parametrize("rung", [rung.name for rung in ladder("conv2d")])
def test_any_strategy_can_be_asked_for(rung: str) -> None:
    strategy = next(s for s in ladder("conv2d") if s.name == rung)
    problem = dict(SHORT.problems(4))["conv1"]
    if strategy.why_not(problem) is not None:
        with pytest.raises(rooftile.UnsupportedProblem, match=rung):
            CpuPlan(SHORT, 4, "fast", strategies={"conv1": rung})
        return
    plan = CpuPlan(SHORT, 4, "fast", strategies={"conv1": rung})
    assert plan.strategies["conv1"] == rung
    assert_layers_close(SHORT, images(6), plan(images(6)))


def test_results_go_into_out_and_inputs_stay_as_they_are() -> None:
    x = images(11)
    before, out = x.copy(), np.full((11, 7), np.nan, np.float32)
    plan = CpuPlan(SMALL, 4)
    assert plan(x, out=out) is out
    np.testing.assert_array_equal(out, plan(x))
    np.testing.assert_array_equal(x, before)


def test_a_strided_view_gives_the_same_scores() -> None:
    x = images(8)
    view = np.ascontiguousarray(x[..., ::-1])[..., ::-1]
    np.testing.assert_array_equal(CpuPlan(SMALL, 8)(view), CpuPlan(SMALL, 8)(x))


def test_two_threads_share_a_plan() -> None:
    plan, x = CpuPlan(SMALL, 8), [images(30, seed=k) for k in range(4)]
    expected = [plan(part) for part in x]
    results: dict[int, Float32] = {}

    def work(k: int) -> None:
        for _ in range(20):
            results[k] = plan(x[k])

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for k, scores in enumerate(expected):
        np.testing.assert_array_equal(results[k], scores)


def _in_child(plan: Plan, x: Float32, expected: Float32) -> None:
    np.testing.assert_array_equal(plan(x), expected)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_uses_its_parents_plan() -> None:
    plan, x = CpuPlan(SMALL, 8), images(20)
    expected = plan(x)
    child = multiprocessing.get_context("fork").Process(target=_in_child, args=(plan, x, expected))
    child.start()
    child.join(120)
    assert child.exitcode == 0


def test_predict_takes_the_largest_score() -> None:
    x = images(5)
    labels = SMALL.predict(x)
    np.testing.assert_array_equal(labels, SMALL.plan(batch=5)(x).argmax(axis=1))
    assert SMALL.predict(x[:1])[0] == labels[0]


@pytest.mark.parametrize(
    "bad",
    [
        images(3).astype(np.float64),
        images(3)[:, :1],
        images(3)[0],
        np.zeros((3, 2, 20, 17), np.float32),
        [[1.0]],
    ],
)
def test_wrong_images_are_refused_by_name(bad: Any) -> None:
    with pytest.raises(rooftile.InputError, match="images"):
        CpuPlan(SMALL, 4)(bad)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"batch": 0}, "batch"),
        ({"batch": 4, "precision": "fp8"}, "precision"),
        ({"batch": 4, "threads": 0}, "threads"),
        ({"batch": 4, "strategies": {"conv9": "loops"}}, "strategies"),
        ({"batch": 4, "strategies": {"conv1": "magic"}}, "strategy"),
        ({"batch": 4, "device": "tpu"}, "device"),
    ],
)
def test_wrong_arguments_are_refused_by_name(arguments: Any, named: str) -> None:
    with pytest.raises(rooftile.InputError, match=named):
        SMALL.plan(**arguments)


@pytest.mark.parametrize("out", [np.zeros((3, 6), np.float32), np.zeros((3, 7)), None])
def test_a_wrong_out_is_refused(out: Any) -> None:
    plan, x = CpuPlan(SMALL, 4), images(3)
    wrong = np.zeros((7, 3), np.float32).T if out is None else out
    with pytest.raises(rooftile.InputError, match="out"):
        plan(x, out=wrong)


def test_tensors_of_the_cpu() -> None:
    torch = pytest.importorskip("torch")
    plan, x = CpuPlan(SMALL, 4), images(6)
    given, expected = torch.from_numpy(x), torch.from_numpy(plan(x))
    assert torch.equal(plan(given), expected)
    out = torch.empty_like(expected)
    assert plan(given, out=out) is out
    assert torch.equal(out, expected)
    for named, call in (
        ("images", lambda: plan(given.double())),
        ("images", lambda: plan(given[:, :, 1:])),
        ("images", lambda: plan(given.clone().requires_grad_())),
        ("out", lambda: plan(given, out=out.numpy())),
        ("out", lambda: plan(x, out=out)),
        ("out", lambda: plan(given, out=out[:5])),
    ):
        with pytest.raises(rooftile.InputError) as caught:
            call()
        assert caught.value.argument == named


NARROW = ("float16", "bfloat16")


@pytest.mark.parametrize("dtype", NARROW)
def test_16_bit_images_are_computed_in_float32(dtype: str) -> None:
    x = images(11).astype(numpy_dtype(dtype))
    plan = CpuPlan(SMALL, 4)
    expected = plan(x.astype(np.float32)).astype(x.dtype)
    scores = plan(x)
    assert scores.dtype == x.dtype
    np.testing.assert_array_equal(scores, expected)
    out = np.empty((11, 7), x.dtype)
    assert plan(x, out=out) is out
    np.testing.assert_array_equal(out, expected)
    with pytest.raises(rooftile.InputError, match="out"):
        plan(x, out=np.empty((11, 7), np.float32))


def test_scores_beyond_float16_are_infinite() -> None:
    network = Network("large", (1, 2, 2), (LinearLayer("linear1", 3),))
    large = network.with_parameters(
        {
            "linear1.weights": np.full((3, 4), 60000, np.float32),
            "linear1.bias": np.zeros(3, np.float32),
        }
    )
    x = np.ones((2, 1, 2, 2), np.float16)
    np.testing.assert_array_equal(large.plan(batch=2)(x), np.full((2, 3), np.inf, np.float16))


def test_pixels_are_prepared_as_the_network_says() -> None:
    network = replace(SMALL, pixels=Pixels((0.4, 0.5), (0.2, 0.3)))
    pixels = np.random.default_rng(0).integers(0, 256, (9, 2, 20, 18), np.uint8)
    x = pixels.astype(np.float32)
    Pixels((0.4, 0.5), (0.2, 0.3)).standardise(x)
    plan = network.plan(batch=4)
    scores = plan(pixels)
    assert scores.dtype == np.float32
    np.testing.assert_array_equal(scores, plan(x))
    with pytest.raises(rooftile.InputError, match="uint8"):
        SMALL.plan(batch=4)(pixels)


def test_pixels_of_one_channel_need_no_axis_for_it() -> None:
    network = load("mnist8")
    pixels = np.random.default_rng(0).integers(0, 256, (5, 28, 28), np.uint8)
    plan = network.plan(batch=4)
    expected = plan(prepare(pixels, 28))
    np.testing.assert_array_equal(plan(pixels), expected)
    np.testing.assert_array_equal(plan(pixels[:, None]), expected)
    with pytest.raises(rooftile.InputError, match="images"):
        plan(pixels.astype(np.float32))


def test_out_over_the_images_is_refused() -> None:
    plan, memory = CpuPlan(SMALL, 4), np.zeros(3 * 720, np.float32)
    with pytest.raises(rooftile.InputError, match="overlaps"):
        plan(memory.reshape(3, 2, 20, 18), out=memory[:21].reshape(3, 7))


@pytest.mark.parametrize("dtype", ["uint8", *NARROW])
def test_tensors_of_other_dtypes(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    network = replace(SMALL, pixels=Pixels())
    plan, kind = network.plan(batch=4), getattr(torch, dtype)
    given = torch.randint(0, 256, (6, 2, 20, 18)).to(kind)
    scores = plan(given)
    assert scores.dtype == (torch.float32 if dtype == "uint8" else kind)
    x = given.float()
    if dtype == "uint8":
        Pixels().standardise(x.numpy())
    expected = plan(x).to(scores.dtype)
    assert torch.equal(scores, expected)
    out = torch.empty_like(expected)
    assert plan(given, out=out) is out
    assert torch.equal(out, expected)
    strided = given.transpose(2, 3).contiguous().transpose(2, 3)
    assert torch.equal(plan(strided), expected)
    if dtype != "uint8":
        with pytest.raises(rooftile.InputError, match="no_grad") as caught:
            plan(given.requires_grad_())
        assert caught.value.argument == "images"


@pytest.mark.parametrize("dtype", ["uint8", "float32", *NARROW])
def test_arrays_of_jax(dtype: str) -> None:
    jax = pytest.importorskip("jax")
    network = replace(SMALL, pixels=Pixels())
    plan = network.plan(batch=4)
    given = np.random.default_rng(0).integers(0, 256, (6, 2, 20, 18)).astype(numpy_dtype(dtype))
    scores = plan(jax.numpy.asarray(given))
    assert isinstance(scores, jax.Array)
    np.testing.assert_array_equal(np.asarray(scores), plan(given))


def test_a_network_without_weights_has_no_plan() -> None:
    with pytest.raises(rooftile.InputError, match="without parameters"):
        architecture("lenet5").plan(batch=2)
