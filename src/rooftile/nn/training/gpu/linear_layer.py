"""A linear layer's forward and backward pass as launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.nn.training.gpu.derivative import times_derivative
from rooftile.nn.training.gpu.launches import BoundLaunches
from rooftile.ops import FORMATS, Linear
from rooftile.ops.gradients.linear_gradient import LinearGradient
from rooftile.ops.layers.bias_activation import BiasActivation
from rooftile.ops.patterns.matmul import Matmul
from rooftile.ops.patterns.reduce import Reduce
from rooftile.strategies.binding.executable import conversion
from rooftile.strategies.binding.packing import Form
from rooftile.strategies.common.grid import blocks

FEW = 2**23
"""Products of a linear layer up to which its gradients are one launch, not matrix products."""
_MANY_WEIGHTS, _FEW_IMAGES = 2**20, 128
"""Of a linear layer that is a product of matrices forward, too."""


class LinearStage:
    """``y = activation(x w^T + b)``, see `rooftile.nn.training.gpu.layers.Stage`."""

    def __init__(
        self, work: BoundLaunches, problem: Linear, x: Any, parameters: Sequence[Any]
    ) -> None:
        self._work, self.problem, self.x, self.parameters = work, problem, x, parameters
        self.y = work.floats(problem.batch * problem.outputs)
        self.before: str = problem.activation
        self.dtype = "float32"
        """In which x is stored, and its gradient; see `rooftile.nn.training.gpu.narrow`."""
        self._weights: Any = None
        """The weights in 16 bits, where x is stored so."""

    def begin(self) -> None:
        """Append, aside, what is wanted of the weights alone: best before everything else."""
        if self.is_narrow:
            with self._work.aside(line=1):
                count = self.problem.inputs * self.problem.outputs
                self._weights = self._rounded(self.parameters[0], count)

    def forward(self) -> None:
        """See `Stage`. Layers lay their weights out anew in every step. Where these are many and
        images few, the product with weights as they lie takes less than that."""
        work, product = self._work, self._forward
        if isinstance(product, Linear):
            work.run(product, self.x, self.y, parameters=self.parameters)
            return
        weights = self.parameters[0]
        if self.is_narrow:
            if self._weights is None:
                self.begin()
            # What rounds them is aside.
            weights = self._weights
            work.join()
        work.run(product, self.x, weights, self.y)
        p = self.problem
        behind = BiasActivation(p.batch, p.outputs, p.activation, bias=True)
        work.run(behind, self.y, self.parameters[1], self.y)

    def backward(self, dz: Any, gradients: Sequence[Any], dx: Any, before: str) -> None:
        """See `Stage`."""
        p, work, weights = self.problem, self._work, self.parameters[0]
        images, inputs, outputs = p.batch, p.inputs, p.outputs
        if images * inputs * outputs <= FEW:
            to = work.floats(images * inputs) if dx is None else dx
            of_all = LinearGradient(images, inputs, outputs, "none", before)  # type: ignore[arg-type]
            work.run(of_all, self.x, dz, dz, weights, to, *gradients)
            return
        of_weights, of_input = self._products(self.dtype)
        factor = dz
        if self.is_narrow:
            work.join()
            factor, weights = self._rounded(dz, images * outputs), self._weights
        with work.aside(dx is not None):
            work.run(of_weights, factor, self.x, gradients[0])
            work.run(Reduce((images, outputs), 0), dz, gradients[1])
        if dx is not None:
            work.run(of_input, factor, weights, dx)
            times_derivative(work, before, self.x, dx, images * inputs)

    @property
    def is_narrow(self) -> bool:
        """True if x is stored in 16 bits, and its gradient."""
        return self.dtype != "float32"

    def may_store(self, dtype: str) -> bool:
        """True if x and its gradient may be stored in a dtype of 16 bits: the layer has many
        weights, and all its products read and write it."""
        p = self.problem
        few = p.batch * p.inputs * p.outputs <= FEW
        if not self.has_many or few or p.outputs % 4:
            return False
        users = p.stored(x=dtype), self._as_they_lie(dtype), *self._products(dtype)
        return all(map(self._work.stores, users))

    @property
    def has_many(self) -> bool:
        """True if its weights are many: no launch takes such a layer with others."""
        return self.problem.inputs * self.problem.outputs >= _MANY_WEIGHTS

    @property
    def _forward(self) -> Linear | Matmul:
        """The problem of y, or of its products alone."""
        p = self.problem
        alone = self.has_many and p.batch <= _FEW_IMAGES
        if alone and (self.is_narrow or self._work.precision == "ieee"):
            return self._as_they_lie(self.dtype)
        return p.stored(x=self.dtype)

    def _as_they_lie(self, dtype: str) -> Matmul:
        """The layer's products with weights as they lie, both in a dtype."""
        p = self.problem
        product = Matmul(p.batch, p.inputs, p.outputs, transpose_b=True)
        return product.stored(a=dtype, b=dtype)

    def _products(self, dtype: str) -> tuple[Matmul, Matmul]:
        """The gradients of its weights and of x, as products of matrices in a dtype; that of x is
        stored so, too."""
        p = self.problem
        of_weights = Matmul(p.outputs, p.batch, p.inputs, transpose_a=True)
        of_input = Matmul(p.batch, p.outputs, p.inputs)
        return of_weights.stored(a=dtype, b=dtype), of_input.stored(a=dtype, b=dtype, out=dtype)

    def _rounded(self, given: Any, count: int) -> Any:
        """Memory for ``count`` numbers in 16 bits, to which the next launch rounds them."""
        work = self._work
        to, form = work.floats(blocks(count, 2)), Form(FORMATS[work.precision].dtype)
        work.call(conversion, work.gpu, (count,), given, Form(), to, form)
        return to
