from __future__ import annotations

import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from rooftile.errors import InputError
from rooftile.nn import ConvLayer, LinearLayer, Network, Pixels, load
from rooftile.ops import Conv2d, Linear, Pool


def small() -> Network:
    layers = (ConvLayer("conv1", 2, 3, padding=1, activation="relu", pool=Pool.of("max", 2)),
              LinearLayer("linear1", 3))  # fmt: skip
    return Network("small", (1, 6, 6), layers)


@st.composite
def networks(draw):
    """Convolutions that fit, then linear layers."""
    size, layers = draw(st.integers(8, 20)), []
    for index in range(draw(st.integers(0, 3))):
        pool = draw(st.sampled_from([None, Pool.of("max", 2), Pool.of("average", 2, 1)]))
        layers.append(ConvLayer(f"c{index}", draw(st.integers(1, 4)), draw(st.integers(1, 2)),
                                padding=draw(st.integers(1, 2)), pool=pool))  # fmt: skip
    linears = draw(st.integers(0 if layers else 1, 2))
    layers += [LinearLayer(f"l{i}", draw(st.integers(1, 9)), "relu") for i in range(linears)]
    return Network("any", (draw(st.integers(1, 3)), size, size + 1), tuple(layers))


@given(network=networks(), batch=st.integers(1, 50))
def test_each_problem_takes_what_the_one_before_gives(network, batch):
    problems = network.problems(batch)
    assert [name for name, _ in problems] == [layer.name for layer in network.layers]
    assert problems[0][1].batch == batch
    first = (batch, *network.input_shape)
    for given_shape, (_, problem) in zip(
        [first, *(p.output_shape for _, p in problems)], problems, strict=False
    ):
        assert math.prod(given_shape) == math.prod(problem.input_shape)
        assert problem.input_shape[0] == batch
    assert problems[-1][1].output_shape == (batch, *network.output_shape)


@given(network=networks(), seed=st.integers(0, 2**63))
@settings(max_examples=30)
def test_a_saved_network_loads_with_every_bit(network, seed, tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "any.safetensors"
    trained = network.with_parameters(network.initialise(seed).parameters, {"seed": str(seed)})
    trained.save(path)
    loaded = network.load(path)
    assert loaded.metadata == {"seed": str(seed), "model": "any"}
    assert loaded.parameters.keys() == network.parameter_shapes.keys()
    for key, value in trained.parameters.items():
        np.testing.assert_array_equal(loaded.parameters[key], value)
    assert list(path.parent.iterdir()) == [path]


def test_problems_carry_the_layers_settings():
    (_, conv), (_, linear) = small().problems(5)
    assert conv == Conv2d(5, 1, 6, 6, 2, (3, 3), (1, 1), (1, 1), "relu", Pool.of("max", 2))
    assert linear == Linear(5, 18, 3)


def test_initial_weights_have_the_variance_of_he():
    network = Network("wide", (8, 9, 9), (ConvLayer("conv1", 64, 9), LinearLayer("linear1", 400)))
    parameters = network.initialise(1, "he").parameters
    assert parameters["conv1.weights"].std() == pytest.approx(math.sqrt(2 / 648), rel=0.02)
    assert parameters["linear1.weights"].std() == pytest.approx(math.sqrt(2 / 64), rel=0.02)
    assert not parameters["conv1.bias"].any()


def test_a_seed_gives_its_weights_and_no_other():
    one, same, other = (small().initialise(seed).parameters for seed in (4, 4, 5))
    np.testing.assert_array_equal(one["conv1.weights"], same["conv1.weights"])
    assert not np.array_equal(one["conv1.weights"], other["conv1.weights"])


def test_a_seed_below_zero_is_refused():
    with pytest.raises(InputError, match="seed: got -1"):
        small().initialise(-1)


def test_parameters_of_a_layer_come_in_its_problems_order():
    network = small().initialise(0)
    weights, bias = network.parameters_of("linear1")
    assert weights is network.parameters["linear1.weights"]
    assert bias is network.parameters["linear1.bias"]
    with pytest.raises(InputError, match=r"'conv9'.*conv1"):
        network.parameters_of("conv9")
    with pytest.raises(InputError, match="without parameters"):
        small().parameters_of("conv1")


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ((), "at least one layer"),
        ((LinearLayer("a", 2), LinearLayer("a", 2)), "each with its own name"),
        ((ConvLayer("a", 2, 7),), "at most the image"),
        ((ConvLayer("a", 2, 3, pool=Pool.of("max", 5)),), "at most the image"),
        ((LinearLayer("a", 2), ConvLayer("b", 2, 1)), "layer b: .*images"),
    ],
)
def test_layers_that_do_not_fit_are_refused(layers, message):
    with pytest.raises(InputError, match=message):
        Network("bad", (1, 6, 6), layers)


@pytest.mark.parametrize("shape", [(6, 6), (1, 6, 6, 1), (0, 6, 6), (1, 6, 2.5)])
def test_the_shape_of_images_is_checked(shape):
    with pytest.raises(InputError, match=r"input_shape|channels|width"):
        Network("bad", shape, (LinearLayer("a", 2),))


def test_what_is_no_layer_is_refused():
    with pytest.raises(InputError, match="layers: got 3"):
        Network("bad", (1, 6, 6), (LinearLayer("a", 2), 3))


def broken(change) -> dict[str, np.ndarray]:
    parameters = dict(small().initialise(0).parameters)
    change(parameters)
    return parameters


BROKEN = {
    "conv1.bias.*missing": broken(lambda p: p.pop("conv1.bias")),
    "conv9.bias.*too many": broken(lambda p: p.update({"conv9.bias": np.zeros(2, np.float32)})),
    r"linear1.weights: got float32\[3, 17\]": broken(
        lambda p: p.update({"linear1.weights": np.zeros((3, 17), np.float32)})
    ),
    r"conv1.bias: got float64\[2\]": broken(lambda p: p.update({"conv1.bias": np.zeros(2)})),
    "linear1.bias: got NaN": broken(
        lambda p: p.update({"linear1.bias": np.array([0, np.nan, 1], np.float32)})
    ),
    "conv1.bias: got NaN or infinity": broken(
        lambda p: p.update({"conv1.bias": np.array([0, np.inf], np.float32)})
    ),
}


@pytest.mark.parametrize("message", BROKEN)
def test_parameters_that_do_not_fit_are_refused(message):
    for build in (small().with_parameters, lambda p: Network("s", (1, 6, 6), small().layers, p)):
        with pytest.raises(InputError, match=message):
            build(BROKEN[message])


@pytest.mark.parametrize("message", BROKEN)
def test_a_file_that_does_not_fit_is_named(message, tmp_path):
    path = tmp_path / "broken.safetensors"
    save_file(BROKEN[message], path)
    with pytest.raises(InputError, match=f"{path}.*{message}"):
        small().load(path)


@pytest.mark.parametrize("content", [b"", b"no safetensors file", b"\xff" * 100])
def test_an_unreadable_file_is_named(content, tmp_path):
    path = tmp_path / "broken.safetensors"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"{path}.*unreadable"):
        small().load(path)
    with pytest.raises(InputError, match="no such file"):
        small().load(tmp_path / "missing")


def test_a_truncated_file_is_refused(tmp_path):
    path = tmp_path / "small.safetensors"
    small().initialise(0).save(path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=f"{path}.*unreadable"):
        small().load(path)


def test_a_network_without_parameters_is_not_saved(tmp_path):
    with pytest.raises(InputError, match="without parameters"):
        small().save(tmp_path / "nothing")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: LinearLayer("a", 0), "outputs"),
        (lambda: ConvLayer("a", 0, 3), "maps"),
        (lambda: ConvLayer("a", 1, 0), "mask"),
        (lambda: ConvLayer("a", 1, 3, padding=-1), "padding"),
        (lambda: ConvLayer("a", 1, 3, pool=("median", 2)), "pool"),
        (lambda: ConvLayer("a", 1, 3, activation="magic"), "activation"),
    ],
)
def test_a_layer_of_impossible_sizes_is_refused_when_it_is_made(make, named):
    with pytest.raises(InputError, match=named):
        make()


def test_a_pool_is_written_as_conv2d_takes_it():
    assert ConvLayer("a", 1, 3, pool=("max", 2)) == ConvLayer("a", 1, 3, pool=Pool.of("max", 2))


def colourful():
    """A network of our own, of colour images that are not square."""
    layers = (
        ConvLayer("first", 3, 3, padding=1, activation="relu", pool=("average", 3, 2, "tanh")),
        LinearLayer("last", 4),
    )
    return Network("colourful", (3, 7, 9), layers, pixels=Pixels((0.5, 0.4, 0.3), (0.2, 0.2, 0.1)))


def test_a_file_carries_its_architecture(tmp_path):
    network = colourful().initialise(1)
    network.save(tmp_path / "mine.safetensors")
    loaded = load(tmp_path / "mine.safetensors")
    assert (loaded.name, loaded.layers, loaded.input_shape, loaded.pixels) == (
        network.name, network.layers, network.input_shape, network.pixels,
    )  # fmt: skip
    x = np.random.default_rng(0).integers(0, 256, (5, 3, 12, 10), np.uint8)
    np.testing.assert_array_equal(
        loaded.predict(loaded.prepare(x)), network.predict(network.prepare(x))
    )


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"input_shape": [1, 2]}', '{"input_shape": [1, 9, 9], "layers": [{}]}']
)
def test_an_architecture_that_cannot_be_read_is_named(tmp_path, text):
    path = tmp_path / "mine.safetensors"
    save_file(dict(small().initialise(0).parameters), path, {"architecture": text})
    with pytest.raises(InputError, match=f"{path}.*architecture"):
        load(path)


def test_parameters_in_16_bits_are_those_rounded(tmp_path):
    network, path = colourful().initialise(1), tmp_path / "half.safetensors"
    network.save(path, float16=["last.weights"])
    loaded = load(path)
    rounded = network.parameters["last.weights"].astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(loaded.parameters["last.weights"], rounded)
    first = network.parameters["first.weights"]
    np.testing.assert_array_equal(loaded.parameters["first.weights"], first)
    with pytest.raises(InputError, match="float16: got 'nothing'"):
        network.save(path, float16=["nothing"])
    large = {key: value * 1e6 for key, value in network.parameters.items()}
    with pytest.raises(InputError, match=r"first\.weights with"):
        network.with_parameters(large).save(path, float16=["first.weights"])


def test_a_summary_a_person_can_read():
    lines = colourful().summary().splitlines()
    assert lines[2].split("  ") == [
        "first", "convolution 3 x 3, padding 1, relu, average pool 3 x 3", "3 x 3 x 4", "84",
    ]  # fmt: skip
    assert lines[-1].split() == ["total", "232"]
    shapes = "3 x 7 x 9 -> first (3 x 3 x 4) -> last (4), 232 parameters"
    assert repr(colourful()) == f"<Network colourful: {shapes}>"
    plan = colourful().initialise(1).plan(batch=2)
    ways = "first {first}, last {last}".format(**plan.strategies)
    assert repr(plan) == f"<CpuPlan of colourful: batch 2, ieee, cpu; {ways}>"
    assert plan.summary().splitlines()[-1].split("  ")[-1] == plan.strategies["last"]


def test_images_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="images"):
        colourful().prepare(np.zeros((2, 8, 8), np.uint8))
    colour = Network("no pixels", (3, 6, 6), (LinearLayer("a", 2),))
    with pytest.raises(InputError, match="pixels"):
        colour.prepare(np.zeros((2, 3, 8, 8), np.uint8))


class Tensor:
    """What PyTorch's tensor of the CPU answers, for where PyTorch is not installed."""

    is_cuda, is_cpu, layout = False, True, "strided"

    def __init__(self, array, requires_grad=False):
        self.array, self.requires_grad = array, requires_grad
        self.dtype, self.shape = f"torch.{array.dtype}", array.shape

    def detach(self):
        return Tensor(self.array)

    def resolve_neg(self):
        return self

    def numpy(self):
        assert not self.requires_grad
        return self.array


@pytest.fixture
def tensor(monkeypatch):
    """Makes a tensor of an array."""
    try:
        import torch
    except ImportError:
        names = ("float32", "float16", "bfloat16", "float64", "int32", "int64", "uint8", "bool")
        torch = SimpleNamespace(
            Tensor=Tensor, strided="strided", _C=SimpleNamespace(_cuda_getCurrentRawStream=None),
            is_grad_enabled=lambda: True, **{name: f"torch.{name}" for name in names},
        )  # fmt: skip
        monkeypatch.setitem(sys.modules, "torch", torch)
        return Tensor
    return lambda array, grad=False: torch.from_numpy(array).requires_grad_(grad)


def test_parameters_may_be_tensors(tensor):
    network = small().initialise(0)
    given = {name: tensor(value, True) for name, value in network.parameters.items()}
    taken = small().with_parameters(given)
    for name, value in network.parameters.items():
        np.testing.assert_array_equal(taken.parameters[name], value)
        assert isinstance(taken.parameters[name], np.ndarray)
    given["linear1.bias"] = tensor(np.zeros(3))
    with pytest.raises(InputError, match=r"linear1\.bias.*float64.*float32"):
        small().with_parameters(given)
