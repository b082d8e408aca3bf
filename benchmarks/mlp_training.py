"""Time the rungs of `mlp_training` beside a C program and PyTorch, in turns on one thread.

    python benchmarks/mlp_training.py --data train.csv [--write]

The C program is ``mlp_training.c``, compiled by the compiler that is there, as a Makefile without
options does and with -O3.  PyTorch takes a step a row with `torch.optim.SGD`, where it is there.
``--write`` keeps the record and writes the page.
"""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import importlib.util
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlp_page
import numpy as np

from rooftile.devices import cpu
from rooftile.lab.measure.environment import environment
from rooftile.nn.data import Standardisation, read_csv
from rooftile.ops import AnyArray
from rooftile.ops.gradients.mlp_training import NAMED, MlpTraining
from rooftile.strategies import ladder

_NAMES = ("none", "relu", "sigmoid", "tanh", "softplus", "softmax", "gelu")
"""The activations in the order of the C program's ``enum``."""
Call = Callable[[], AnyArray]
ROUNDS = 5
LONG, SHORT, SHORTEST = 100, 1, 1
"""Epochs of what is timed: of compiled loops, of threads that wait for each other, of PyTorch."""


def given(path: Path, problem: MlpTraining, dtype: str) -> list[AnyArray]:
    """The table standardised, a rate of 0.01, and random weights and orders."""
    table = read_csv(path)
    x = Standardisation.of(table.features)(table.features)
    _, _, order, rates, weights = problem.random(0)
    arrays = [x, table.labels[:, None], order, np.full_like(rates, 0.01), weights]
    return [a if a.dtype == np.int32 else a.astype(dtype) for a in arrays]


def rung_call(rung: Any, problem: MlpTraining, arrays: list[AnyArray]) -> Call:
    bound = rung.bind(problem, (), cpu.open_device(1))
    trained = np.empty_like(arrays[-1])
    losses = np.empty(problem.epochs, trained.dtype)

    def call() -> AnyArray:
        bound(*arrays, trained, losses)
        return trained

    return call


def c_call(problem: MlpTraining, arrays: list[AnyArray], options: list[str], folder: Path) -> Call:
    library = folder / f"mlp{'-'.join(options)}.so"
    source = Path(__file__).with_name("mlp_training.c")
    words = ["cc", "-shared", "-fPIC", "-o", str(library), str(source), *options, "-lm"]
    subprocess.run(words, check=True)
    train = ctypes.CDLL(str(library)).train
    sizes = np.array(problem.sizes_in_a_row, np.int32)
    names = np.array([_NAMES.index(a) for a in problem.layers.activations], np.int32)
    counts = (problem.rows, problem.epochs, len(names))

    def call() -> AnyArray:
        weights = arrays[-1].copy()
        places = [ctypes.c_void_p(a.ctypes.data) for a in (*arrays[:-1], weights, sizes, names)]
        train(*places[:5], *counts, *places[5:])
        return weights

    return call


def torch_call(problem: MlpTraining, arrays: list[AnyArray]) -> Call:
    import torch

    torch.set_num_threads(1)
    kinds: dict[str, Any] = {
        "softmax": lambda: torch.nn.Softmax(-1), "relu": torch.nn.ReLU, "tanh": torch.nn.Tanh,
        "sigmoid": torch.nn.Sigmoid,
    }  # fmt: skip
    x, targets, order, _, weights = arrays
    inputs, wanted = torch.from_numpy(x), torch.from_numpy(targets)
    layers: list[Any] = []
    for (matrix, bias), name in zip(
        problem.parts(weights), problem.layers.activations, strict=True
    ):
        linear = torch.nn.Linear(matrix.shape[1], len(bias))
        linear.weight.data[:] = torch.from_numpy(matrix)
        linear.bias.data[:] = torch.from_numpy(bias)
        layers += [linear, kinds[name]()]
    net = torch.nn.Sequential(*layers)
    start = [p.detach().clone() for p in net.parameters()]
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01)

    def call() -> AnyArray:
        for own, first in zip(net.parameters(), start, strict=True):
            own.data[:] = first
        for row in order[: problem.epochs].reshape(-1):
            optimiser.zero_grad()
            loss = ((net(inputs[row]) - wanted[row]) ** 2).sum() / 2
            loss.backward()
            optimiser.step()
        return weights_of(net)

    def weights_of(net: Any) -> AnyArray:
        found = [layer for layer in net if hasattr(layer, "weight")]
        blocks = [np.c_[m.weight.detach().numpy(), m.bias.detach().numpy()] for m in found]
        return np.concatenate([block.reshape(-1) for block in blocks])

    return call


def contenders(path: Path, folder: Path) -> dict[str, tuple[Call, int, str]]:
    """Everybody's call, its epochs and its dtype."""
    found: dict[str, tuple[Call, int, str]] = {}
    deck = NAMED["banknote"]
    for dtype in ("float32", "float64"):
        for rung in ladder("mlp_training"):
            epochs = SHORT if rung.name.startswith("threads") else LONG
            problem = dataclasses.replace(deck, epochs=epochs, dtype=dtype)
            if rung.why_not(problem) is None:
                call = rung_call(rung, problem, given(path, problem, dtype))
                found[f"{rung.name}, {dtype}"] = call, epochs, dtype
    exact = dataclasses.replace(deck, epochs=LONG, dtype="float64")
    if shutil.which("cc"):
        for options in (["-O0"], ["-O3", "-march=native"]):
            call = c_call(exact, given(path, exact, "float64"), options, folder)
            found[f"C program {' '.join(options)}"] = call, LONG, "float64"
    if importlib.util.find_spec("torch"):
        short = dataclasses.replace(deck, epochs=SHORTEST)
        found["PyTorch, float32"] = (
            torch_call(short, given(path, short, "float32")), SHORTEST, "float32",
        )  # fmt: skip
    return found


def measure(path: Path) -> dict[str, Any]:
    """The best time of everybody, in turns, and how far their weights are from float64's."""
    deck = NAMED["banknote"]
    exact = {
        epochs: dataclasses.replace(deck, epochs=epochs, dtype="float64")
        for epochs in {LONG, SHORT, SHORTEST}
    }
    wanted = {
        epochs: problem.reference(*given(path, problem, "float64"))[0]
        for epochs, problem in exact.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        calls = contenders(path, Path(folder))
        off = {
            name: float(np.abs(call() - wanted[epochs]).max())
            for name, (call, epochs, _) in calls.items()
        }
        best = dict.fromkeys(calls, float("inf"))
        for _ in range(ROUNDS):
            for name, (call, _, _) in calls.items():
                start = time.perf_counter()
                call()
                best[name] = min(best[name], time.perf_counter() - start)
    steps = {name: epochs * deck.rows for name, (_, epochs, _) in calls.items()}
    rows = [
        {"name": name, "ns_a_step": 1e9 * best[name] / steps[name], "off": off[name],
         "epochs": steps[name] // deck.rows}
        for name in calls
    ]  # fmt: skip
    return {"environment": dataclasses.asdict(environment()), "rows": rows, "steps": deck.rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    record = measure(arguments.data)
    for row in record["rows"]:
        print(f"{row['name']:30} {row['ns_a_step']:12.1f} ns a step, weights off {row['off']:.2g}")
    if arguments.write:
        mlp_page.keep(record)


if __name__ == "__main__":
    main()
