"""Which calls are measured on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rooftile.nn import architecture
from rooftile.ops import Chain, Conv2d, Linear, Pool, Precision, Problem, named
from rooftile.ops.patterns.matmul import Matmul

Dtype = Literal["float32", "float16", "bfloat16"]


@dataclass(frozen=True)
class Case:
    """A problem at a precision, on arrays of a dtype."""

    label: str
    problem: Problem
    precision: Precision = "ieee"
    dtype: Dtype = "float32"
    compiled: tuple[str, ...] = ()
    """The modes of ``torch.compile`` that it is held against."""
    model: str = ""
    """The network's name where the problem is one."""

    @property
    def key(self) -> str:
        return f"{self.label}, {self.precision}, {self.dtype}"

    @property
    def kind(self) -> str:
        """The operation, or ``plan``."""
        return "plan" if self.model else self.problem.operation

    @property
    def torch_precision(self) -> str:
        """At which PyTorch computes: it knows no products in float16 of float32 tensors, and gets
        TF32 instead."""
        return "tf32" if (self.precision, self.dtype) == ("fp16", "float32") else self.precision

    @property
    def narrow(self) -> bool:
        """Whether its arrays have 16 bits, which are those of its precision."""
        return self.dtype != "float32"


_POOL = Pool.of("max", 2)
_LAYERS: dict[str, Problem] = {
    "conv2d 1x1x28x28, 8 maps 5x5": Conv2d(1, 1, 28, 28, 8, (5, 5), activation="relu", pool=_POOL),
    **{
        f"{name} B={batch}": named("conv2d", name, batch)
        for name in ("lenet-conv1", "lenet-conv2")
        for batch in (1, 100, 10_000)
    },
    "64 channels 3x3, 56x56 B=64": Conv2d(64, 64, 56, 56, 64, (3, 3), (1, 1), (1, 1), "relu"),
    "lab-conv5 B=1": named("conv2d", "lab-conv5", 1),
    "linear 1x6272x512": Linear(1, 6272, 512, "relu"),
    "matmul 256^3": Matmul(256, 256, 256),
    "matmul 1000^3": Matmul(1000, 1000, 1000),
    "matmul 4096^3": Matmul(4096, 4096, 4096),
    "matmul 64x4096x4096": Matmul(64, 4096, 4096),
}
_WAYS: tuple[tuple[Precision, Dtype], ...] = (
    ("ieee", "float32"),
    ("tf32", "float32"),
    ("fp16", "float32"),
    ("fp16", "float16"),
)
_GRAPHED = ("conv2d 1x1x28x28, 8 maps 5x5", "lenet-conv1 B=1", "lenet-conv2 B=1")
"""Small enough that `reduce-overhead`, which replays graphs, has something to reduce."""


def cases(quick: bool) -> Iterator[Case]:
    """All of them; ``quick``: fewer compiled peers."""
    for label, problem in _LAYERS.items():
        for precision, dtype in _WAYS:
            first = (precision, dtype) == ("ieee", "float32")
            wanted = first and (not quick or label in _GRAPHED[:1])
            modes: tuple[str, ...] = ("default",) if wanted else ()
            if first and label in _GRAPHED and not quick:
                modes = ("default", "reduce-overhead")
            yield Case(label, problem, precision, dtype, modes)
    for model in ("lenet5", "mnist8"):
        for batch in (1, 100, 10_000):
            problem = Chain(architecture(model).problems(batch))
            modes = ("default",) if batch == 1 and not quick else ()
            yield Case(f"{model} B={batch}", problem, compiled=modes, model=model)
