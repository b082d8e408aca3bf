"""A name that nobody knows is refused with the nearest one that there is."""

from __future__ import annotations

import numpy as np
import pytest

import rooftile
from rooftile.cli import main
from rooftile.errors import InputError, did_you_mean, unknown
from rooftile.nn import LinearLayer, Network
from rooftile.nn.training import TrainingOptions
from rooftile.ops.registry import operation
from rooftile.strategies import strategy

X = np.ones((1, 1, 8, 8), np.float32)
MASK = np.ones((1, 1, 3, 3), np.float32)
NETWORK = Network([LinearLayer("hidden", 2)], 2).initialise(0)


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: rooftile.conv2d(X, MASK, activation="rleu"), "relu"),
        (lambda: rooftile.conv2d(X, MASK, strategy="lops"), "loops"),
        (lambda: rooftile.conv2d(X, MASK, device="cudda"), "cuda"),
        (lambda: rooftile.load("lenet"), "lenet5"),
        (lambda: operation("conv2"), "conv2d"),
        (lambda: LinearLayer("a", 1, "Sigmoid"), "sigmoid"),
        (lambda: TrainingOptions(optimizer="adamw"), "adam"),
        (lambda: TrainingOptions(schedule="cosin"), "cosine"),
        (lambda: TrainingOptions(loss="crossentropy"), "cross_entropy"),
        (lambda: NETWORK.parameters_of("hiden"), "hidden"),
        (lambda: NETWORK.plan(strategies={"hiden": "loops"}), "hidden"),
        (lambda: NETWORK.plan(strategies={"hidden": "block"}), "blocked"),
    ],
)
def test_python_names_the_nearest(call, meant):
    with pytest.raises(InputError, match=f"did you mean {meant!r}"):
        call()


def test_a_strategy_of_another_device_is_said_to_be_there():
    with pytest.raises(InputError, match="or 'tiled' on cuda"):
        rooftile.matmul(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32), strategy="tiled")
    with pytest.raises(InputError, match="or 'loops' on cpu"):
        strategy("matmul", "loops", "cuda")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["clmb", "conv2d"], "climb"),
        (["train", "mlp", "--optimzer", "sgd"], "--optimizer"),
        (["run", "lenet5", "--precision", "iee"], "ieee"),
        (["completion", "bsh"], "bash"),
    ],
)
def test_the_command_line_names_the_nearest(words, meant, capsys):
    with pytest.raises(SystemExit):
        main(words)
    assert f"did you mean {meant!r}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["climb", "conv2"], "conv2d"),
        (["climb", "conv2d", "--shape", "lenet-conv"], "lenet-conv"),
        (["climb", "conv2d", "--strategy", "regster_tile"], "register_tile"),
        (["run", "mnist"], "mnist8"),
        (["reproduce", "conv1"], "conv1d"),
    ],
)
def test_so_do_commands(words, meant, capsys):
    assert main(words) == 2
    assert f"did you mean '{meant}" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["xyzzy", 3, None, b"relu", ["relu"], ""])
def test_nothing_near_is_said_where_nothing_is(name):
    assert did_you_mean(name, ["relu", "tanh"]) == ""
    assert "did you mean" not in str(unknown("activation", name, ["relu", "tanh"]))
