"""Time training steps on the CPU beside PyTorch's, eager and compiled, in turns in one process.

    python benchmarks/training_cpu.py [--keep]

A step is forward, loss, backward and SGD with momentum, on every core.  Before it is timed, its
gradients are compared with PyTorch's in float64; nobody is timed while another's threads spin.
``--keep`` puts the record of this processor beside the others and writes the page.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import training_page
from pages import own_name
from training_steps import torch_network

from rooftile import nn
from rooftile.devices import cpu
from rooftile.lab.measure.environment import environment
from rooftile.lab.measure.records import plain
from rooftile.nn.training.model import Model
from rooftile.nn.training.optimisers import optimiser
from rooftile.nn.training.options import TrainingOptions
from rooftile.runtime.timing.host import interleaved

CASES = (("lenet5", 64), ("lenet5", 256), ("mnist8", 64))
_SECONDS = 5.0
"""About so long each contender of a case has turns."""
_MOST_OFF = 1e-4
"""Of a gradient's norm."""
_COMPARED = 64
"""Images of a batch: of more, a sum in float32 makes another element of some window the largest,
where a gradient jumps."""

Step = Callable[[], object]


def our_step(network: nn.Network, x: Any, labels: Any) -> Step:
    """Our step."""
    options = TrainingOptions(batch=len(x), optimizer="sgd", learning_rate=1e-4)
    parameters = {key: value.copy() for key, value in network.parameters.items()}
    rule, model = optimiser(options, parameters), Model(network, cpu.cores())

    def step() -> None:
        _, gradients = model.loss_and_gradients(parameters, x, labels)
        rule.step(parameters, gradients, options.learning_rate)

    return step


def farthest(network: nn.Network, x: Any, labels: Any) -> float:
    """How far our gradient is off PyTorch's in float64, of its norm; of all parameters the most."""
    module, model = torch_network(network).double(), Model(network, cpu.cores())
    scores = module(torch.tensor(x, dtype=torch.float64))
    torch.nn.functional.cross_entropy(scores, torch.tensor(labels)).backward()
    found = model.loss_and_gradients(network.parameters, x, labels)[1]
    right = zip(network.parameter_shapes, module.parameters(), strict=True)
    exact = {key: parameter.grad.numpy() for key, parameter in right}
    return max(
        float(np.linalg.norm(found[key] - g) / np.linalg.norm(g)) for key, g in exact.items()
    )


def torch_step(network: nn.Network, x: Any, labels: Any, compiled: bool) -> Step:
    """PyTorch's step."""
    module = torch_network(network)
    images, right = torch.tensor(x), torch.tensor(labels)
    update = torch.optim.SGD(module.parameters(), lr=1e-4, momentum=0.9, foreach=True)
    forward = torch.compile(module) if compiled else module

    def step() -> None:
        update.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(forward(images), right).backward()
        update.step()

    return step


def measured(name: str, batch: int) -> dict[str, Any]:
    """A case's row: milliseconds of each contender, in turns."""
    network, generator = nn.architecture(name).initialise(0), np.random.default_rng(0)
    x = generator.standard_normal((batch, *network.input_shape), np.float32)
    labels = generator.integers(0, 10, batch)
    off = farthest(network, x[:_COMPARED], labels[:_COMPARED])
    if not off < _MOST_OFF:
        raise SystemExit(f"{name}, batch {batch}: gradients are {off:.2g} off")
    steps = {
        "ours": our_step(network, x, labels),
        "eager": torch_step(network, x, labels, compiled=False),
        "compiled": torch_step(network, x, labels, compiled=True),
    }
    times = interleaved(steps, seconds=_SECONDS)
    row: dict[str, Any] = {"network": name, "batch": batch, "off": off, "n": times["ours"].n}
    for who, found in times.items():
        row[f"{who}_ms"] = {"min": found.min, "median": found.median}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(cpu.cores())
    rows = []
    for name, batch in CASES:
        rows.append(measured(name, batch))
        print(rows[-1], flush=True)
    if arguments.keep:
        about = {**dataclasses.asdict(environment()), "torch": torch.__version__}
        path = training_page.RESULTS / own_name(training_page.CPU, about["cpu"])
        training_page.keep(path, plain({"environment": about, "rows": rows}))


if __name__ == "__main__":
    main()
