"""One dot product for each output, on one thread, on every core, and in float64. Source: PMPP,
section 3.4, with a bias and an activation."""

from __future__ import annotations

from rooftile.devices.cpu.native import native
from rooftile.ops import Linear
from rooftile.ops.features import features
from rooftile.strategies import ArrayKernel
from rooftile.strategies.common import double
from rooftile.strategies.common.fused import ACTIVATION_CODES, activate
from rooftile.strategies.contract.cpu import CpuKernel, CpuStrategy, loops_and_threads


@native
def kernel(x, weights, bias, out, scratch, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Multiply and add one input after the other, starting from the bias; then activate."""
    inputs, outputs, activation = sizes[0], sizes[1], sizes[2]
    for unit in range(begin, end):
        n, o = unit // outputs, unit % outputs
        total = bias[o]
        for i in range(inputs):
            total += weights[o * inputs + i] * x[n * inputs + i]
        out[unit] = activate(total, activation)


class Textbook(CpuStrategy):
    """Takes every problem.

    A unit is one output of one batch item.
    """

    operation = "linear"
    takes = features("activation:*")

    def kernel(self, problem: Linear) -> CpuKernel:
        outputs = problem.outputs
        sizes = (problem.inputs, outputs, ACTIVATION_CODES[problem.activation])
        return CpuKernel(kernel, units=lambda images: images * outputs, sizes=sizes)


class Loops(Textbook):
    """One output at a time, on one core."""

    name = "loops"
    summary = "one dot product an output, one thread"
    parallel = False


class Double(double.Double):
    """Takes every problem of float64."""

    operation = "linear"
    takes = features("dtype:float64 activation:*")
    summary = "float64: one dot product an output, over the cores"

    def kernel(self, problem: Linear) -> ArrayKernel:
        sizes = (problem.inputs, problem.outputs, ACTIVATION_CODES[problem.activation])
        return ArrayKernel(double.layer, problem.batch * problem.outputs, sizes)


STRATEGIES = (*loops_and_threads(Loops(), "the same loops over a pool of threads"), Double())
