"""Made-up problems, one for each way of judging an output, with right and wrong ways to compute.

Two have no batch axis; one has inputs of two dtypes and no parameters; some have several outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.judgement import Budget, Exact, Normwise, Properties, Unordered
from rooftile.ops.problem import Array, Problem
from rooftile.strategies import HostStrategy
from rooftile.strategies.contract.gpu import GpuStrategy, Step


@dataclass(frozen=True)
class Counts(Problem):
    """How many of the values that count fall into each bin."""

    operation: ClassVar[str] = "made_up_counts"

    size: int
    bins: int

    @property
    def arrays(self):
        return (
            Array("x", (self.size,), "uint8"),
            Array("valid", (self.size,), "int32"),
            Array("out", (self.bins,), "int64", "output"),
        )

    @property
    def flops(self):
        return self.size

    def random(self, seed):
        generator = np.random.default_rng(seed)
        x = generator.integers(0, 256, self.size, np.uint8)
        return x, generator.integers(0, 2, self.size, np.int32)

    def reference(self, x, valid):
        return np.bincount(x[valid > 0] % self.bins, minlength=self.bins)


@dataclass(frozen=True)
class Extremes(Problem):
    """Of each row the smallest element, and the sum of all times a weight."""

    operation: ClassVar[str] = "made_up_extremes"

    batch: int
    columns: int

    @property
    def arrays(self):
        return (
            Array("x", (self.batch, self.columns), batched=True),
            Array("weight", (1,), role="parameter"),
            Array("least", (self.batch,), role="output", batched=True),
            Array("total", (self.batch,), role="output", batched=True),
        )

    @property
    def flops(self):
        return 2 * self.batch * self.columns

    @property
    def reduction(self):
        return self.columns

    def with_batch(self, batch):
        return Extremes(batch, self.columns)

    def judgement(self, output, model):
        return Exact() if output.name == "least" else Budget(self.columns)

    def reference(self, x, weight):
        return x.min(axis=1), weight.astype(np.float64) * x.sum(axis=1, dtype=np.float64)

    def magnitude(self, x, weight):
        return self.reference(np.abs(x), np.abs(weight))


@dataclass(frozen=True)
class Shuffled(Problem):
    """The same numbers in any order."""

    operation: ClassVar[str] = "made_up_shuffled"

    size: int

    @property
    def arrays(self):
        return (
            Array("x", (self.size,), "int32"), Array("out", (self.size,), "int32", "output")
        )  # fmt: skip

    @property
    def flops(self):
        return self.size

    def judgement(self, output, model):
        return Unordered()

    def reference(self, x):
        return x


@dataclass(frozen=True)
class Places(Problem):
    """In which order the elements of each row rise: of equal ones in either."""

    operation: ClassVar[str] = "made_up_places"

    batch: int
    columns: int

    @property
    def arrays(self):
        shape = self.batch, self.columns
        return (
            Array("x", shape, "int32", batched=True),
            Array("out", shape, "int64", "output", batched=True),
        )

    @property
    def flops(self):
        return self.batch * self.columns

    def with_batch(self, batch):
        return Places(batch, self.columns)

    def judgement(self, output, model):
        def wrong(out, x):
            if (np.sort(out, axis=1) != np.arange(self.columns)).any():
                return "it is no permutation"
            rising = (np.diff(np.take_along_axis(x, out, 1), axis=1) >= 0).all()
            return "" if rising else "it does not rise"

        return Properties(wrong)

    def reference(self, x):
        return np.argsort(x, axis=1)


@dataclass(frozen=True)
class Factors(Problem):
    """Two whole numbers, neither of them 1, whose product is that of two given ones."""

    operation: ClassVar[str] = "made_up_factors"

    batch: int

    @property
    def arrays(self):
        roles = {"x": "input", "y": "input", "first": "output", "second": "output"}
        return tuple(
            Array(name, (self.batch,), "int64", role, batched=True) for name, role in roles.items()
        )

    @property
    def flops(self):
        return self.batch

    def with_batch(self, batch):
        return Factors(batch)

    def random(self, seed):
        return tuple(np.random.default_rng(seed).integers(2, 1000, (2, self.batch)))

    def judgement(self, output, model):
        def wrong(first, second, x, y):
            if (first * second != x * y).any():
                return "the product is another"
            return "a factor is 1" if (np.minimum(first, second) < 2).any() else ""

        return Properties(wrong)

    def reference(self, x, y):
        return x, y


@dataclass(frozen=True)
class Directions(Problem):
    """Each row doubled, judged by the norm of its error."""

    operation: ClassVar[str] = "made_up_directions"

    batch: int
    columns: int

    @property
    def arrays(self):
        shape = self.batch, self.columns
        return Array("x", shape, batched=True), Array("out", shape, role="output", batched=True)

    @property
    def flops(self):
        return self.batch * self.columns

    def with_batch(self, batch):
        return Directions(batch, self.columns)

    def judgement(self, output, model):
        return Normwise(1e-6)

    def reference(self, x):
        return 2 * x.astype(np.float64)


class Computed(HostStrategy):
    """A strategy of the CPU made of ``call(problem, *given, *outputs)``."""

    summary = "made up"

    def __init__(self, call, name="computed", operation="made_up_counts"):
        self._call, self.name, self.operation = call, name, operation

    def prepare(self, problem, parameters, threads):
        count = len(problem.input_arrays)
        kept = [parameter.copy() for parameter in parameters]

        def call(*arrays):
            here = problem if problem.batch_size is None else problem.with_batch(len(arrays[0]))
            self._call(here, *arrays[:count], *kept, *arrays[count:])

        return call


def right(problem, *arrays):
    """The reference, rounded once."""
    count = len(problem.given_arrays)
    made = problem.reference(*arrays[:count])
    for out, one in zip(arrays[count:], made if isinstance(made, tuple) else (made,), strict=True):
        out[...] = one


COUNTS = """
__global__ void count(const GLOBAL unsigned char* x, const GLOBAL int* valid, GLOBAL int64* out)
{
    int bin = blockIdx.x * 32 + threadIdx.x;
    if (bin >= BINS) return;
    int64 counted = 0;
    for (int i = 0; i < SIZE; i++) counted += valid[i] > 0 && x[i] % BINS == bin;
    out[bin] = counted;
}
"""


class CountsOnGpu(GpuStrategy):
    """A thread a bin; ``change`` replaces a part of its text."""

    operation, name, summary = "made_up_counts", "counts", "a thread a bin"

    def __init__(self, *change):
        assert not change or change[0] in COUNTS
        self.text = COUNTS.replace(*change) if change else COUNTS

    def macros(self, problem, config):
        return {"SIZE": problem.size, "BINS": problem.bins}

    def steps(self, problem, config):
        launch = Launch("count", (-(-problem.bins // 32), 1, 1), (32, 1, 1))
        return (Step(launch, ("x", "valid", "out")),)
