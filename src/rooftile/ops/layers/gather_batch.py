"""`gather_batch`: the images of a training step, as a network reads them, and their targets.

The next images of an epoch's order are mirrored or not, moved with zeros behind them, resized
bilinearly, and standardised.  Images of float32 are neither resized nor standardised.

Source: Krizhevsky, Sutskever, Hinton, "ImageNet Classification with Deep Convolutional Neural
Networks", NIPS 2012, section 4.1 (translations and reflections).
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
from rooftile.ops.checks import check_positive, is_whole
from rooftile.ops.climbed import Climbed
from rooftile.ops.draws import Draw
from rooftile.ops.features import SIZE
from rooftile.ops.judgement import Budget, Exact, Judgement
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import AnyArray, Array, Float64, Problem

_MOST_SHIFT = 127
"""Of an image, in pixels each way: twice as many fit the byte that says how far it moves."""


def resizing(old: int, new: int) -> tuple[NDArray[np.intp], Float64]:
    """For each new index the first of the two old ones around it, and their weights.

    The last index's second weight may have no old index; it is zero then.
    """
    centres = (np.arange(new) + 0.5) * old / new - 0.5
    centres = centres.clip(0, old - 1)
    lower = np.floor(centres).astype(int)
    fraction = centres - lower
    return lower, np.stack([1 - fraction, fraction], axis=1)


@dataclass(frozen=True)
class GatherBatch(Problem):
    """dataset[items, channels, old_height, old_width], uint8, targets[items, target_words],
    order[epoch], variation[epoch], step[1], places[height + width], shares[height + width, 2] and
    scales[channels, 2] to x[images, channels, height, width] and chosen[images, target_words].

    The image n of the batch is the one that ``order`` has at ``step[0] size + n``, and varies as
    ``variation`` says there: rows moved, columns moved times 2^8, mirrored 2^16, each move up to
    twice ``shift``, of which half leaves it where it is.  ``places`` are the first of the two old
    rows, then columns, of each new one, and ``shares`` their weights, as `resizing` gives them.
    ``scales`` are a channel's factor, and what is taken off.  An image's targets are
    ``target_words`` of 32 bits.  With ``floats`` the dataset is float32 of x's size, and is neither
    resized nor scaled.  Indices are int32.  Raises `InputError`.
    """

    operation: ClassVar[str] = "gather_batch"
    counts: ClassVar[tuple[str, ...]] = ("channels",)

    images: int
    items: int
    channels: int
    old_height: int
    old_width: int
    height: int
    width: int
    floats: bool = False
    shift: int = field(default=0, metadata=SIZE)
    target_words: int = field(default=1, metadata=SIZE)
    size: int = field(default=0, metadata=SIZE)
    """Images of a whole batch; 0: as many as ``images``."""
    epoch: int = field(default=0, metadata=SIZE)
    """Places of an epoch; 0: as many as ``items``."""

    def __post_init__(self) -> None:
        sizes = "images", "items", "channels", "old_height", "old_width", "height", "width"
        check_positive(**{name: getattr(self, name) for name in (*sizes, "target_words")})
        for name in ("size", "epoch"):
            if not is_whole(getattr(self, name)) or getattr(self, name) < 0:
                raise InputError(name, repr(getattr(self, name)), "an integer of at least 0")
        if not is_whole(self.shift) or not 0 <= self.shift <= _MOST_SHIFT:
            raise InputError("shift", repr(self.shift), f"an integer from 0 to {_MOST_SHIFT}")
        if self.images > self.in_epoch:
            raise InputError("images", self.images, f"at most the {self.in_epoch} of an epoch")
        if self.floats and self.is_resized:
            raise InputError("height and width", (self.height, self.width), "the data's")

    def in_words(self) -> str:
        of = f"{self.channels} x {self.old_height} x {self.old_width}"
        return f"{self.images} of {self.items} images {of} to {self.height} x {self.width}"

    @property
    def in_epoch(self) -> int:
        """Places of an epoch."""
        return self.epoch or self.items

    @property
    def whole(self) -> int:
        """Images of a whole batch."""
        return self.size or self.images

    @property
    def is_resized(self) -> bool:
        """True if x has another size than the data."""
        return (self.old_height, self.old_width) != (self.height, self.width)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """The arrays of the class, in its order."""
        lines, channels = self.height + self.width, self.channels
        old = (self.items, channels, self.old_height, self.old_width)
        return (
            Array("dataset", old, "float32" if self.floats else "uint8", operand=False),
            Array("targets", (self.items, self.target_words), "int32"),
            Array("order", (self.in_epoch,), "int32"),
            Array("variation", (self.in_epoch,), "int32"),
            Array("step", (1,), "int32"),
            Array("places", (lines,), "int32"),
            Array("shares", (lines, 2), operand=False),
            Array("scales", (channels, 2), operand=False),
            Array("x", (self.images, channels, self.height, self.width), role="output"),
            Array("chosen", (self.images, self.target_words), "int32", role="output"),
        )

    @property
    def flops(self) -> int:
        """Two products for each pixel; of resized ones four more, three sums and a difference."""
        pixels = self.images * self.channels * self.height * self.width
        return pixels * (10 if self.is_resized else 2)

    def moved(self) -> Mapping[str, int]:
        """Of data and targets the batch's, in ``order`` and ``variation`` its places."""
        found = dict(super().moved())
        for name in ("dataset", "targets"):
            found[name] = found[name] // self.items * min(self.images, self.items)
        found |= dict.fromkeys(("order", "variation"), 4 * self.images)
        return found

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """A few products and sums; floats and targets exactly."""
        if self.floats or output.numpy.kind == "i":
            return Exact()
        return Budget(4, roundings=4.0)

    def shrunk(self) -> GatherBatch:
        """Few images."""
        few = min(8, self.images)
        return dataclasses.replace(self, images=few, size=few)

    def draw(self, draw: Draw) -> GatherBatch:
        """See `Problem.draw`: floats keep their size."""
        fields = draw.fields(self)
        if fields["floats"]:
            fields |= {"height": fields["old_height"], "width": fields["old_width"]}
        return dataclasses.replace(self, **fields)

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Pixels of every value; any order and variation, the weights of a resizing."""
        data, targets, *_, scales = super().random(seed)
        return self._possible(data, targets, scales, seed)

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """Hard numbers as data; what says where they are is ordinary."""
        return {
            kind: self._possible(data, targets, np.ones_like(scales), seed)
            for kind, (data, targets, *_, scales) in super().hard(seed).items()
        }

    def _possible(
        self, data: AnyArray, targets: AnyArray, scales: AnyArray, seed: int
    ) -> tuple[AnyArray, ...]:
        generator = np.random.default_rng([seed, 1])
        epoch, most = self.in_epoch, 2 * self.shift + 1
        order = generator.integers(0, self.items, epoch)
        down, right = generator.integers(0, most, (2, epoch))
        variation = down + (right << 8) + (generator.integers(0, 2, epoch) << 16)
        step = generator.integers(0, (epoch - self.images) // self.whole + 1, 1)
        rows, columns = (
            resizing(old, new)
            for old, new in ((self.old_height, self.height), (self.old_width, self.width))
        )
        places, shares = (np.concatenate(both) for both in zip(rows, columns, strict=True))
        whole = (one.astype(np.int32) for one in (order, variation, step, places))
        return data, targets, *whole, shares.astype(np.float32), scales

    def reference(self, *given: AnyArray) -> tuple[AnyArray, ...]:
        """x in float64, and the targets."""
        data, targets, order, variation, step, places, shares, scales = given
        first = int(step[0]) * self.whole
        chosen = order[first : first + self.images]
        x = np.stack(
            [
                self._varied(data[number], int(varied))
                for number, varied in zip(
                    chosen, variation[first : first + self.images], strict=True
                )
            ]
        )
        if not self.floats:
            x = self._resized(x, places, shares.astype(np.float64))
            factor, off = (part[:, None, None] for part in scales.astype(np.float64).T)
            with np.errstate(invalid="ignore"):
                x = x * factor - off
        return x, targets[chosen]

    def magnitude(self, *given: AnyArray) -> tuple[AnyArray, ...]:
        """Of x the magnitudes of both products."""
        *others, scales = given
        scales = np.stack([np.abs(scales[:, 0]), -np.abs(scales[:, 1])], axis=1)
        x, chosen = self.reference(*others, scales)
        return np.abs(x), chosen

    def _varied(self, image: AnyArray, variation: int) -> Float64:
        """An image mirrored and moved."""
        down, right = variation & 255, variation >> 8 & 255
        exact = image.astype(np.float64)
        if variation >> 16:
            exact = exact[..., ::-1]
        padded = np.pad(exact, ((0, 0), (self.shift,) * 2, (self.shift,) * 2))
        return padded[..., down : down + self.old_height, right : right + self.old_width]

    def _resized(self, x: Float64, places: AnyArray, shares: Float64) -> Float64:
        """Images resized along their rows, then along their columns."""
        for axis, lines, old in (
            (2, slice(0, self.height), self.old_height),
            (3, slice(self.height, None), self.old_width),
        ):
            lower, own = places[lines], shares[lines]
            upper = np.minimum(lower + 1, old - 1)
            shape = (-1, 1) if axis == 2 else (-1,)
            near, far = own[:, 0].reshape(shape), own[:, 1].reshape(shape)
            x = near * x.take(lower, axis) + far * x.take(upper, axis)
        return x


NAMED = {
    "lenet5": GatherBatch(64, 4096, 1, 28, 28, 86, 86, shift=2),
    "mnist8": GatherBatch(256, 4096, 1, 28, 28, 28, 28, shift=2),
    "rows-784": GatherBatch(256, 4096, 1, 1, 784, 1, 784, floats=True),
}
LARGE = Climbed.of("lenet5")
