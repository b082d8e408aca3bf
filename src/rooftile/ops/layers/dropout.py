"""`dropout`: some elements become 0, and the others grow so that the mean stays.

``y = x / (1 - share)`` or, for a share of the elements, 0. Philox draws them from a seed, the
number of the layer, the step, its epoch and the place of the element: the same words give the same
draw. So a gradient is dropped as its layer's numbers were.

Source: Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting",
JMLR 15 (2014); Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError
from rooftile.ops.checks import check_positive, check_seed, is_whole
from rooftile.ops.climbed import Climbed
from rooftile.ops.features import SIZE
from rooftile.ops.problem import AnyArray, Array, Float32, Float64, Problem

ROUNDS = 10
"""Rounds of Philox."""
_FACTORS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_KEYS = 0x9E3779B9, 0xBB67AE85
_LOW = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True)
class Dropout(Problem):
    """x[size], rates[steps, 4] and step[1], int32, to y[size].

    ``rates[step[0], 3]`` is the epoch, as `optimiser_step` has it.  ``share`` is between 0 and 1,
    ``seed`` an integer below 2^64, ``layer`` the number of the dropout in its network.  Raises
    `InputError`.
    """

    operation: ClassVar[str] = "dropout"
    words: ClassVar[str] = "{size} elements, of which a share of {share} becomes 0"

    size: int
    share: float = field(default=0.5, metadata=SIZE)
    seed: int = field(default=0, metadata=SIZE)
    layer: int = field(default=0, metadata=SIZE)
    steps: int = field(default=1, metadata=SIZE)

    def __post_init__(self) -> None:
        check_positive(size=self.size, steps=self.steps)
        if not 0 < self.share < 1:
            raise InputError("share", repr(self.share), "a number between 0 and 1")
        check_seed(self.seed)
        if self.seed >= 2**64:
            raise InputError("seed", self.seed, "an integer below 2^64")
        if not is_whole(self.layer) or not 0 <= self.layer < 2**31:
            raise InputError("layer", repr(self.layer), "an integer from 0 to 2^31 - 1")

    @property
    def enlarged(self) -> np.float32:
        """The factor of an element that stays."""
        return np.float32(1 / (1 - self.share))

    @property
    def dropped(self) -> int:
        """The words of 32 bits below which an element becomes 0."""
        return round(self.share * 2**32)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x, rates, step and y."""
        return (
            Array("x", (self.size,), operand=False),
            Array("rates", (self.steps, 4), operand=False),
            Array("step", (1,), "int32"),
            Array("y", (self.size,), role="output"),
        )

    @property
    def flops(self) -> int:
        """A product for each element, and a quarter of Philox's 20 products of integers."""
        return 6 * self.size

    def shrunk(self) -> Dropout:
        """A million elements."""
        return dataclasses.replace(self, size=min(self.size, 2**20))

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Normal values; a step, and whole numbers as epochs."""
        generator = np.random.default_rng([seed, 1])
        rates = generator.integers(0, 50, (self.steps, 4)).astype(np.float32)
        step = generator.integers(0, self.steps, 1).astype(np.int32)
        return super().random(seed)[0], rates, step

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """Hard numbers; the step and its epoch are ordinary."""
        others = self.random(seed)[1:]
        return {kind: (x, *others) for kind, (x, *_) in super().hard(seed).items()}

    def words_of(self, epoch: int, step: int) -> NDArray[np.uint32]:
        """The word of 32 bits that is drawn for each element."""
        counters = np.arange(0, self.size, 4, dtype=np.uint64)
        word = np.stack([counters, *(np.full_like(counters, n) for n in (step, epoch, self.layer))])
        key, other = self.seed & 0xFFFFFFFF, self.seed >> 32
        for _ in range(ROUNDS):
            even, odd = word[0] * _FACTORS[0], word[2] * _FACTORS[1]
            first = odd >> np.uint64(32) ^ word[1] ^ np.uint64(key)
            third = even >> np.uint64(32) ^ word[3] ^ np.uint64(other)
            word = np.stack([first, odd & _LOW, third, even & _LOW])
            key, other = (key + _KEYS[0]) % 2**32, (other + _KEYS[1]) % 2**32
        return word.T.reshape(-1)[: self.size].astype(np.uint32)

    def reference(self, x: Float32, rates: Float32, step: AnyArray) -> Float64:
        """y in float64, with the factor of float32."""
        number = int(step[0])
        words = self.words_of(int(rates[number, 3]), number)
        with np.errstate(invalid="ignore", over="ignore"):
            grown = x.astype(np.float64) * np.float64(self.enlarged)
        return np.where(words < self.dropped, 0.0, grown)

    def magnitude(self, x: Float32, rates: Float32, step: AnyArray) -> Float64:
        """|y|."""
        return np.abs(self.reference(x, rates, step))


NAMED = {
    "half": Dropout(2**24),
    "half-small": Dropout(2**20),
}
TEXTBOOK = Climbed.of("half-small")
LARGE = Climbed.of("half")
