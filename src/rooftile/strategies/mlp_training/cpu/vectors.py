"""Steps whose vectors hold the neurons of a layer, a lane each."""

from __future__ import annotations

import numpy as np

from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native.vector import lanes as widest
from rooftile.ops.activation import ACTIVATIONS
from rooftile.ops.gradients.mlp_training import MlpTraining
from rooftile.strategies.mlp_training.cpu._base import HEAD, OneThread

_NARROW = 8
"""Lanes where they suffice: the latencies of narrow vectors are shorter."""
_MOST = 64
"""Vectors of weights; more would only go to the stack and back."""


def _shut(name: str) -> bool:
    """True if an activation of zero is not zero."""
    return name == "softmax" or ACTIVATIONS[name].value(np.zeros(1))[0] != 0


class LaneANeuron(OneThread):
    """float32, layers no wider than a vector.

    A layer's weights lie in registers twice: as columns, a vector for each input with a lane a
    neuron, for the way forward, and as rows, a vector for each neuron with a lane an input, for
    the way back. Both are changed by the same products, so no sum over lanes is needed but
    softmax's.

    Lanes without a neuron have weights of zero; where an activation would make something else of
    zero, their bias is minus infinity, and the value is zero again.
    """

    takes = frozenset()

    ahead: bool
    """True if the first layer's sums are made for the next row before the weights are known."""

    def limits(self, problem: MlpTraining) -> str | None:
        if problem.dtype != "float32":
            return f"{problem.dtype}: vectors are of float32"
        for name in problem.layers.activations:
            if name != "softmax" and not ACTIVATIONS[name].vector:
                return f"{name}: there is no such function of vectors"
        wide = max(problem.layers.counts)
        if wide > widest():
            return f"a layer of {wide} neurons, at most {widest()}"
        count = sum(problem.sizes_in_a_row) + sum(problem.layers.counts[1:])
        return f"{count} vectors of weights, at most {_MOST}" if count > _MOST else None

    def lanes(self, problem: MlpTraining) -> int:
        """As few as hold a layer."""
        return _NARROW if max(problem.layers.counts) <= _NARROW else widest()

    def text(self, problem: MlpTraining) -> str:
        return _Vectors(problem, self.lanes(problem), self.ahead).text()


class _Vectors:
    """Writes the kernel. ``c{k}_{i}`` are columns of a layer, the last one its bias, ``r{k}_{j}``
    rows, ``s{k}_{i}`` an input in every lane, ``a{k}`` the inputs as a vector."""

    def __init__(self, problem: MlpTraining, lanes: int, ahead: bool) -> None:
        self._p, self._lanes, self._ahead, self._to = problem, lanes, ahead, Writer()
        self._layers = list(enumerate(problem.layers.activations))

    def text(self) -> str:
        """The whole text."""
        to, p = self._to, self._p
        with to.block(HEAD):
            to.line(f"buffer = np.empty({self._lanes}, np.float32)")
            to.line("one = splat(float32(1.0))", "zero = splat(float32(0.0))")
            for k, _ in self._layers:
                self._load(k)
            to.line("count = sizes[0] * sizes[1]")
            if self._ahead:
                to.line(f"base = order[0] * {p.features}")
                to.line(*(f"n{i} = splat_at(x, base + {i})" for i in range(p.features)))
                to.line(f"ready = {self._sum('c0', 'n', p.features)}")
            with to.block("for epoch in range(sizes[0]):"):
                to.line("minus_rate = splat(-rates[epoch])", "total = zero")
                with to.block("for s in range(sizes[1]):"):
                    self._sample()
                to.line("losses[epoch] = float32(0.5) * last_of(summed(total)) / float32(sizes[1])")
            for k, _ in self._layers:
                self._keep(k)
        return to.text()

    def _load(self, k: int) -> None:
        to, p = self._to, self._p
        inputs, neurons, start = p.sizes_in_a_row[k], p.layers.counts[k], p.starts[k]
        for i in range(inputs + 1):
            shut = i == inputs and _shut(p.layers.activations[k])
            to.line(f"store(buffer, 0, splat({'float32(-np.inf)' if shut else 'float32(0.0)'}))")
            for j in range(neurons):
                to.line(f"buffer[{j}] = weights[{start + j * (inputs + 1) + i}]")
            to.line(f"c{k}_{i} = load(buffer, 0)")
        if k > 0:
            for j in range(neurons):
                place = start + j * (inputs + 1)
                to.line(f"r{k}_{j} = load_part(weights, {place}, {inputs})")

    def _keep(self, k: int) -> None:
        to, p = self._to, self._p
        inputs, neurons, start = p.sizes_in_a_row[k], p.layers.counts[k], p.starts[k]
        for i in range(inputs + 1):
            to.line(f"store(buffer, 0, c{k}_{i})")
            for j in range(neurons):
                to.line(f"trained[{start + j * (inputs + 1) + i}] = buffer[{j}]")

    def _sum(self, columns: str, inputs: str, count: int) -> str:
        """Bias and products, in two sums: each product waits for half of the others."""
        first, second = f"{columns}_{count}", ""
        for i in range(count):
            term = f"{inputs}{i}, {columns}_{i}"
            if i % 2 == 0:
                first = f"fma({term}, {first})"
            else:
                second = f"fma({term}, {second})" if second else f"multiply({term})"
        return f"add({first}, {second})" if second else first

    def _sample(self) -> None:
        to, p = self._to, self._p
        outputs = p.layers.counts[-1]
        to.line("at = epoch * sizes[1] + s", "row = order[at]", f"base = row * {p.features}")
        if self._ahead:
            self._look_ahead()
        else:
            to.line(*(f"s0_{i} = splat_at(x, base + {i})" for i in range(p.features)))
        for k, name in self._layers:
            self._forward(k, name)
        to.line(f"wanted = load_part(targets, row * {outputs}, {outputs})")
        to.line(f"e = subtract(a{len(self._layers)}, wanted)", "total = fma(e, e, total)")
        for k, name in reversed(self._layers):
            self._backward(k, name)

    def _look_ahead(self) -> None:
        """The next row's sums with the weights as they are, and what their step will change."""
        to, features = self._to, self._p.features
        to.line(*(f"s0_{i} = n{i}" for i in range(features)), "z0 = ready")
        to.line(f"base = order[min(at + 1, count - 1)] * {features}")
        to.line(*(f"n{i} = splat_at(x, base + {i})" for i in range(features)))
        to.line(f"ready = {self._sum('c0', 'n', features)}", "alike = one")
        to.line(*(f"alike = fma(s0_{i}, n{i}, alike)" for i in range(features)))

    def _forward(self, k: int, name: str) -> None:
        to, p = self._to, self._p
        inputs, neurons = p.sizes_in_a_row[k], p.layers.counts[k]
        if k > 0:
            to.line(*(f"s{k}_{i} = splat_lane(a{k}, {i})" for i in range(inputs)))
        if k > 0 or not self._ahead:
            to.line(f"z{k} = {self._sum(f'c{k}', f's{k}_', inputs)}")
        if name != "softmax":
            to.line(f"a{k + 1} = {ACTIVATIONS[name].vector.format(z=f'z{k}')}")
            return
        group = _power_of_two(neurons)
        to.line(f"most = {self._over('largest', f'z{k}', group)}")
        to.line(f"a{k + 1} = exp(subtract(z{k}, most))")
        to.line(f"a{k + 1} = divide(a{k + 1}, {self._over('summed', f'a{k + 1}', group)})")

    def _over(self, function: str, x: str, group: int) -> str:
        """A vector's neurons combined, which lie in its first lanes; the result in every lane."""
        return f"splat_lane({function}({x}, {group}), 0)" if group > 1 else f"splat_lane({x}, 0)"

    def _backward(self, k: int, name: str) -> None:
        """From ``e``, the gradient after the activation, to ``d`` before it, and the step."""
        to, p = self._to, self._p
        inputs, neurons = p.sizes_in_a_row[k], p.layers.counts[k]
        y, z = f"a{k + 1}", f"z{k}"
        if name == "softmax":
            to.line(f"both = {self._over('summed', f'multiply(e, {y})', _power_of_two(neurons))}")
            to.line(f"d = multiply({y}, subtract(e, both))")
        elif name == "none":
            to.line("d = e")
        else:
            row = ACTIVATIONS[name]
            slope = row.vector_slope.format(t=z if row.needs == "z" else y)
            to.line(f"d = multiply(e, {slope})")
        to.line("g = multiply(minus_rate, d)")
        if k > 0:
            to.line(*(f"d{j} = splat_lane(d, {j})" for j in range(neurons)))
            to.line(f"e = {self._rows(k, neurons)}")
            to.line(*(f"g{j} = multiply(minus_rate, d{j})" for j in range(neurons)))
            to.line(*(f"r{k}_{j} = fma(g{j}, a{k}, r{k}_{j})" for j in range(neurons)))
        elif self._ahead:
            to.line("ready = fma(g, alike, ready)")
        to.line(*(f"c{k}_{i} = fma(s{k}_{i}, g, c{k}_{i})" for i in range(inputs)))
        to.line(f"c{k}_{inputs} = add(c{k}_{inputs}, g)")

    def _rows(self, k: int, neurons: int) -> str:
        """The sum of rows, each times its neuron's gradient, in two sums."""
        sums = ["", ""]
        for j in range(neurons):
            before = sums[j % 2]
            term = f"r{k}_{j}, d{j}"
            sums[j % 2] = f"fma({term}, {before})" if before else f"multiply({term})"
        return f"add({sums[0]}, {sums[1]})" if sums[1] else sums[0]


def _power_of_two(count: int) -> int:
    """The least power of two that is no smaller."""
    return 1 << (count - 1).bit_length()


class Vectors(LaneANeuron):
    """float32, layers no wider than a vector, without softplus."""

    name = "vectors"
    summary = "a lane a neuron, the weights in registers as columns and as rows"
    ahead = False


class Pipelined(LaneANeuron):
    """float32, layers no wider than a vector, without softplus.

    A step needs the weights that the one before has left, so rows cannot be computed concurrently.
    But the form of a step of the first layer is known: ``(W - g x^T) n = W n - g (x n)``. So the
    sums of the next row n are made with the old weights while this row x is on its way, and
    corrected by one product when the gradient g has come.
    """

    name = "pipelined"
    summary = "the next row's first layer is summed before this row's step, and corrected after it"
    ahead = True


STRATEGIES = (Vectors(), Pipelined())
