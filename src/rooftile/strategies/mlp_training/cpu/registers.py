"""`registers`: every loop written out, every weight a variable of its own.

A step has no index and no branch left, and the compiler knows which weights are used together:
they stay in registers, or at fixed places of the stack, from step to step.
"""

from __future__ import annotations

from rooftile.devices.cpu.emit import Writer
from rooftile.ops.gradients.mlp_training import MlpTraining
from rooftile.strategies.mlp_training.cpu._base import (
    FUNCTIONS,
    HEAD,
    OneThread,
    slope_of,
    value_of,
)

_MOST = 400
"""More weights would be a text that takes seconds to compile."""


class Registers(OneThread):
    """Takes up to 400 weights."""

    name = "registers"
    summary = "every loop written out, every weight a variable of its own"
    flags = "contract"

    def limits(self, problem: MlpTraining) -> str | None:
        count = problem.starts[-1]
        return f"{count} weights, at most {_MOST}" if count > _MOST else None

    def text(self, problem: MlpTraining) -> str:
        to, p = Writer(), problem
        places = [(f"w{k}_{j}_{i}", place) for k, j, i, place in _weights(p)]
        with to.block(HEAD):
            to.line(*(f"{name} = weights[{place}]" for name, place in places))
            with to.block("for epoch in range(sizes[0]):"):
                to.line("total = REAL(0.0)", "rate = rates[epoch]")
                with to.block("for s in range(sizes[1]):"):
                    to.line("row = order[epoch * sizes[1] + s]")
                    _sample(to, p)
                to.line("losses[epoch] = total / REAL(sizes[1])")
            to.line(*(f"trained[{place}] = {name}" for name, place in places))
        return FUNCTIONS + to.text()


def _weights(p: MlpTraining) -> list[tuple[int, int, int, int]]:
    """Layer, neuron, input (the last one is the bias) and place of every weight."""
    sizes = p.sizes_in_a_row
    return [
        (k, j, i, p.starts[k] + j * (sizes[k] + 1) + i)
        for k, neurons in enumerate(p.layers.counts)
        for j in range(neurons)
        for i in range(sizes[k] + 1)
    ]


def _sample(to: Writer, p: MlpTraining) -> None:
    to.line(*(f"a0_{i} = x[row * {p.features} + {i}]" for i in range(p.features)))
    layers, sizes = list(enumerate(p.layers.activations)), p.sizes_in_a_row
    for k, name in layers:
        _forward(to, k, name, sizes[k], sizes[k + 1])
    last = len(layers)
    for j in range(sizes[-1]):
        to.line(f"e{last}_{j} = a{last}_{j} - targets[row * {sizes[-1]} + {j}]")
        to.line(f"total += REAL(0.5) * e{last}_{j} * e{last}_{j}")
    for k, name in reversed(layers):
        _backward(to, k, name, sizes[k], sizes[k + 1])


def _forward(to: Writer, k: int, name: str, inputs: int, neurons: int) -> None:
    for j in range(neurons):
        terms = [f"w{k}_{j}_{inputs}", *(f"w{k}_{j}_{i} * a{k}_{i}" for i in range(inputs))]
        to.line(f"z{k}_{j} = {' + '.join(terms)}")
    if name != "softmax":
        for j in range(neurons):
            to.line(f"a{k + 1}_{j} = {value_of(name, f'z{k}_{j}')}")
        return
    to.line(f"most = z{k}_0")
    to.line(*(f"most = np.where(z{k}_{j} > most, z{k}_{j}, most)" for j in range(1, neurons)))
    to.line(*(f"a{k + 1}_{j} = math.exp(z{k}_{j} - most)" for j in range(neurons)))
    to.line(f"share = REAL(1.0) / ({' + '.join(f'a{k + 1}_{j}' for j in range(neurons))})")
    to.line(*(f"a{k + 1}_{j} = a{k + 1}_{j} * share" for j in range(neurons)))


def _backward(to: Writer, k: int, name: str, inputs: int, neurons: int) -> None:
    """From ``e``, the gradient after the activation, to ``d`` before it, and the step."""
    if name == "softmax":
        to.line("sum = " + " + ".join(f"e{k + 1}_{j} * a{k + 1}_{j}" for j in range(neurons)))
        to.line(*(f"d{j} = a{k + 1}_{j} * (e{k + 1}_{j} - sum)" for j in range(neurons)))
    else:
        for j in range(neurons):
            slope = slope_of(name, f"z{k}_{j}", f"a{k + 1}_{j}")
            to.line(f"d{j} = e{k + 1}_{j} * ({slope})")
    if k > 0:
        for i in range(inputs):
            terms = (f"w{k}_{j}_{i} * d{j}" for j in range(neurons))
            to.line(f"e{k}_{i} = {' + '.join(terms)}")
    for j in range(neurons):
        to.line(f"move = rate * d{j}")
        to.line(*(f"w{k}_{j}_{i} -= move * a{k}_{i}" for i in range(inputs)))
        to.line(f"w{k}_{j}_{inputs} -= move")


STRATEGY = Registers()
