"""Loops over neurons and their inputs, a few rounds of the inner ones written out. Source:
Rumelhart, Hinton, Williams, "Learning representations by back-propagating errors", Nature 323
(1986)."""

from __future__ import annotations

from collections.abc import Callable

from rooftile.devices.cpu.emit import Writer
from rooftile.ops.gradients.mlp_training import MlpTraining
from rooftile.strategies.mlp_training.cpu._base import (
    FUNCTIONS,
    HEAD,
    OneThread,
    slope_of,
    value_of,
)


class UnrolledLoops(OneThread):
    """Takes every problem: ``rounds`` rounds of the inner loops are written out.

    This takes the counting from the loops. Layers of a handful of neurons have little to unroll.
    """

    name = "unrolled_{rounds}"
    summary = "{rounds} rounds of the inner loops written out"

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.name = self.name.format(rounds=rounds)
        self.summary = self.summary.format(rounds=rounds)

    def text(self, problem: MlpTraining) -> str:
        return _Loops(problem, self.rounds).text()


class _Loops:
    """Writes the kernel. ``a`` has the row and every layer's values, ``z`` what is before each
    activation, ``d`` the gradients there."""

    def __init__(self, problem: MlpTraining, rounds: int) -> None:
        self._p, self._rounds, self._to = problem, rounds, Writer()
        sizes = problem.sizes_in_a_row
        self._at = [sum(sizes[:k]) for k in range(len(sizes) + 1)]
        """Offsets of the row and of each layer's values."""

    def text(self) -> str:
        """The whole text."""
        to, p = self._to, self._p
        numbers = "np.float32" if p.dtype == "float32" else "np.float64"
        with to.block(HEAD):
            for name in "azd":
                to.line(f"{name} = np.empty({self._at[-1]}, {numbers})")
            with to.block(f"for i in range({p.starts[-1]}):"):
                to.line("trained[i] = weights[i]")
            with to.block("for epoch in range(sizes[0]):"):
                to.line("total = REAL(0.0)", "rate = rates[epoch]")
                with to.block("for s in range(sizes[1]):"):
                    self._sample()
                to.line("losses[epoch] = total / REAL(sizes[1])")
        return FUNCTIONS + to.text()

    def _sample(self) -> None:
        to, p, layers = self._to, self._p, len(self._p.layers.counts)
        to.line("row = order[epoch * sizes[1] + s]")
        with to.block(f"for i in range({p.features}):"):
            to.line(f"a[i] = x[row * {p.features} + i]")
        for k in range(layers):
            self._forward(k)
        outputs, at = p.layers.counts[-1], self._at[layers]
        with to.block(f"for j in range({outputs}):"):
            to.line(f"off = a[{at} + j] - targets[row * {outputs} + j]", f"d[{at} + j] = off")
            to.line("total += REAL(0.5) * off * off")
        for k in reversed(range(layers)):
            self._through(k)
            if k > 0:
                self._backward(k)
            self._step(k)

    def _inner(self, count: int, line: Callable[[str], str]) -> None:
        """A loop over ``i`` below a count."""
        to, whole = self._to, count // self._rounds * self._rounds
        if whole:
            step = "" if self._rounds == 1 else f", {self._rounds}"
            with to.block(f"for i in range(0, {whole}{step}):"):
                for r in range(self._rounds):
                    to.line(line("i" if r == 0 else f"(i + {r})"))
        for i in range(whole, count):
            to.line(line(str(i)))

    def _forward(self, k: int) -> None:
        to, p = self._to, self._p
        inputs, neurons, start = p.sizes_in_a_row[k], p.layers.counts[k], p.starts[k]
        with to.block(f"for j in range({neurons}):"):
            to.line(f"w = {start} + j * {inputs + 1}", f"sum = trained[w + {inputs}]")
            self._inner(inputs, lambda i: f"sum += trained[w + {i}] * a[{self._at[k]} + {i}]")
            to.line(f"z[{self._at[k + 1]} + j] = sum")
        if p.layers.activations[k] == "softmax":
            self._softmax(k)
            return
        place = f"{self._at[k + 1]} + j"
        with to.block(f"for j in range({neurons}):"):
            to.line(f"a[{place}] = {value_of(p.layers.activations[k], f'z[{place}]')}")

    def _softmax(self, k: int) -> None:
        to, neurons, at = self._to, self._p.layers.counts[k], self._at[k + 1]
        to.line(f"most = z[{at}]")
        with to.block(f"for j in range(1, {neurons}):"):
            to.line(f"most = np.where(z[{at} + j] > most, z[{at} + j], most)")
        to.line("sum = REAL(0.0)")
        with to.block(f"for j in range({neurons}):"):
            to.line(f"a[{at} + j] = math.exp(z[{at} + j] - most)", f"sum += a[{at} + j]")
        with to.block(f"for j in range({neurons}):"):
            to.line(f"a[{at} + j] = a[{at} + j] / sum")

    def _through(self, k: int) -> None:
        """From the gradient after an activation to the one before it."""
        to, p, at = self._to, self._p, self._at[k + 1]
        name, neurons = p.layers.activations[k], p.layers.counts[k]
        if name == "softmax":
            to.line("sum = REAL(0.0)")
            with to.block(f"for j in range({neurons}):"):
                to.line(f"sum += d[{at} + j] * a[{at} + j]")
            with to.block(f"for j in range({neurons}):"):
                to.line(f"d[{at} + j] = a[{at} + j] * (d[{at} + j] - sum)")
        elif name != "none":
            slope = slope_of(name, f"z[{at} + j]", f"a[{at} + j]")
            with to.block(f"for j in range({neurons}):"):
                to.line(f"d[{at} + j] = d[{at} + j] * ({slope})")

    def _backward(self, k: int) -> None:
        """The gradient after the activation before."""
        to, p = self._to, self._p
        inputs, neurons, start = p.sizes_in_a_row[k], p.layers.counts[k], p.starts[k]
        with to.block(f"for j in range({inputs}):"):
            to.line("sum = REAL(0.0)")
            self._inner(
                neurons,
                lambda i: (
                    f"sum += trained[{start} + {i} * {inputs + 1} + j] * d[{self._at[k + 1]} + {i}]"
                ),
            )
            to.line(f"d[{self._at[k]} + j] = sum")

    def _step(self, k: int) -> None:
        to, p = self._to, self._p
        inputs, neurons, start = p.sizes_in_a_row[k], p.layers.counts[k], p.starts[k]
        with to.block(f"for j in range({neurons}):"):
            to.line(f"w = {start} + j * {inputs + 1}", f"move = rate * d[{self._at[k + 1]} + j]")
            self._inner(inputs, lambda i: f"trained[w + {i}] -= move * a[{self._at[k]} + {i}]")
            to.line(f"trained[w + {inputs}] -= move")


class Loops(UnrolledLoops):
    """Takes every problem."""

    name = "loops"
    summary = "neurons, and the inputs of each, one after the other"


STRATEGIES = (Loops(1), *(UnrolledLoops(rounds) for rounds in (2, 4, 8)))
