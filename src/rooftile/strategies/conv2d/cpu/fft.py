"""`fft`: the convolution as a product of Fourier transforms, for large masks.

Overlap-add: the padded image is cut into blocks; each block's transform, times the
transform of the flipped mask, summed over the channels and transformed back, is the
block's share of the outputs, and the shares of neighbours overlap by the mask.  The
cost of an output no longer grows with the mask's area.

Everything is computed in double precision: a transform's rounding, about 1e-15 of the
product of the largest values in image and mask, stays below float32's own unless those
are a million times larger than their neighbours.  With a stride, all outputs are
computed and every s-th kept.  A non-finite value would spread over its whole block:
such images, and all images where a weight is not finite, are computed by the strategy
`threads` instead.

Source: Oppenheim, Schafer, "Discrete-Time Signal Processing", 3rd ed., section 8.7;
Mathieu, Henaff, LeCun, "Fast Training of Convolutional Networks through FFTs" (2013).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from rooftile._blas import share_out
from rooftile._locks import lock
from rooftile.devices import cpu
from rooftile.ops import Conv2d, Float32
from rooftile.ops.features import features
from rooftile.strategies.contract.costs import Speeds
from rooftile.strategies.contract.cpu import HostStrategy
from rooftile.strategies.conv2d.cpu import register_tile
from rooftile.strategies.conv2d.cpu._unfused import Finisher
from rooftile.strategies.conv2d.cpu.loops import Textbook

_SPECTRUM_BYTES = 2**30
"""Bytes of the largest transformed weights that are held."""
_WASTE = 16
"""Largest number of computed outputs for one that is kept."""
_TRANSFORM_TAPS, _PRODUCT_TAPS = 825, 62
"""Costs of one transform and one product of transforms for each pixel, in taps of `register_tile`
(fitted to measurements on a Zen 4)."""


class Fft(HostStrategy):
    """Takes problems on which transforms waste little and whose weights fit in memory."""

    operation = "conv2d"
    name = "fft"
    transforms = True
    summary = "overlap-add with Fourier transforms in double precision"
    takes = features("activation:* padding pool.activation:* pool:average,l2,max stride")

    def limits(self, problem: Conv2d) -> str | None:
        """It refuses strides and pools that waste work, and weights that would fill the memory. An
        input that no output meets would still leave its rounding errors in a block."""
        kept = problem.stride[0] * problem.stride[1]
        if kept > _WASTE:
            return f"with stride {problem.stride} it would compute {kept} outputs for one kept"
        if problem.stride[0] > problem.mask[0] or problem.stride[1] > problem.mask[1]:
            return f"stride {problem.stride} skips inputs that the transforms would take in"
        if problem.conv_span != problem.conv_read:
            return "the pool's windows leave gaps, whose outputs the transforms would compute"
        size = problem.maps * problem.channels * math.prod(_Blocks.of(problem).spectrum) * 16
        if size > _SPECTRUM_BYTES:
            return f"the transformed weights would take {size / 2**30:.1f} GiB"
        return None

    def estimate(self, problem: Conv2d, machine: Speeds, *, once: bool = False) -> float | None:
        """See `Strategy.estimate`: by the taps that `register_tile` would take in the time."""
        p = problem
        outputs, pairs = math.prod(p.conv_read), p.channels * p.maps
        inputs = (p.height + 2 * p.padding[0]) * (p.width + 2 * p.padding[1])
        taps = inputs * (_TRANSFORM_TAPS * (p.channels + p.maps) + _PRODUCT_TAPS * pairs)
        direct = register_tile.STRATEGY.estimate(p, machine)
        return direct and direct * taps / (pairs * outputs * math.prod(p.mask))

    def prepare(
        self, problem: Conv2d, parameters: tuple[Float32, ...], threads: int
    ) -> Callable[..., None]:
        weights, bias = parameters
        fallback = Textbook().prepare(problem, parameters, threads)
        if not np.isfinite(weights).all():
            return fallback
        return _Bound(problem, weights, bias, threads, fallback)


STRATEGY = Fft()


@dataclass(frozen=True)
class _Blocks:
    """The blocks of the padded image."""

    transform: tuple[int, int]
    """Rows and columns of a transform: a block and the mask's overlap."""
    block: tuple[int, int]
    count: tuple[int, int]
    """Blocks down and across."""

    @classmethod
    def of(cls, problem: Conv2d) -> _Blocks:
        """The sizes with the least estimated work."""
        down, across = (_cut(n, k) for n, k in zip(_needed(problem), problem.mask, strict=True))
        return cls(*zip(down, across, strict=True))

    @property
    def spectrum(self) -> tuple[int, int]:
        """Rows and columns of a real block's transform."""
        return self.transform[0], self.transform[1] // 2 + 1


def _needed(problem: Conv2d) -> tuple[int, int]:
    """Rows and columns of the padded image that the outputs read."""
    (rows, columns), (sh, sw) = problem.conv_span, problem.stride
    return (rows - 1) * sh + problem.mask[0], (columns - 1) * sw + problem.mask[1]


def _cut(length: int, mask: int) -> tuple[int, int, int]:
    """Transform size, block size and number of blocks along one axis."""
    sizes = [2**k for k in range(4, 11)] + [3 * 2**k for k in range(3, 10)]
    # A mask longer than all of these leaves one block of the whole axis.
    sizes = [n for n in sizes if n >= 2 * mask - 1] or [length + mask - 1]

    def work(size: int) -> float:
        return -(-length // (size - mask + 1)) * size * math.log2(size)

    size = min(sizes, key=work)
    block = size - mask + 1
    return size, block, -(-length // block)


class _Bound:
    """The workers, each with its maps; calls take turns."""

    def __init__(
        self,
        problem: Conv2d,
        weights: Float32,
        bias: Float32,
        threads: int,
        fallback: Callable[..., None],
    ) -> None:
        self._problem, self._fallback = problem, fallback
        # Where there are fewer images than threads, threads share an image's maps.
        parts = min(problem.maps, -(-threads // problem.batch))
        self._teams = min(problem.batch, max(1, threads // parts))
        edges = [problem.maps * part // parts for part in range(parts + 1)]
        self._maps = [slice(a, b) for a, b in pairwise(edges)]
        self._workers = [
            _Worker(replace(problem, maps=m.stop - m.start), weights[m], bias[m])
            for _ in range(self._teams)
            for m in self._maps
        ]
        self._turn = lock()

    def __call__(self, x: Float32, out: Float32) -> None:
        p = self._problem
        images = x.reshape(-1, *p.input_shape[1:])
        results = out.reshape(-1, *p.output_shape[1:])
        finite = [bool(np.isfinite(image).all()) for image in images]

        def work(worker: int) -> None:
            team, part = divmod(worker, len(self._maps))
            for n in range(team, len(images), self._teams):
                if finite[n]:
                    self._workers[worker](images[n], results[n, self._maps[part]])

        with self._turn:
            share_out(work, len(self._workers))
        for n in range(len(images)):
            if not finite[n]:
                self._fallback(images[n], results[n])


class _Worker:
    """A thread's transformed masks and workspace."""

    def __init__(self, problem: Conv2d, weights: Float32, bias: Float32) -> None:
        self._problem = problem
        self._blocks = blocks = _Blocks.of(problem)
        flipped = weights[..., ::-1, ::-1].astype(np.float64)
        self._masks = np.fft.rfft2(flipped, blocks.transform)
        cut = (problem.channels, *blocks.count)
        self._padded = np.zeros(
            (
                problem.channels,
                *(n * size for n, size in zip(blocks.count, blocks.block, strict=True)),
            )
        )
        self._cut = np.zeros((*cut, *blocks.transform))
        self._spectra = np.empty((*cut, *blocks.spectrum), np.complex128)
        self._product = np.empty_like(self._spectra[0])
        self._partial = np.empty_like(self._product)
        self._shares = np.empty_like(self._cut[0])
        rows, columns = problem.mask
        self._plane = np.empty(np.add(self._padded.shape[1:], (rows - 1, columns - 1)))
        self._outputs = cpu.allocate(problem.maps * math.prod(problem.conv_span), "outputs")
        self._finish = Finisher(problem, bias)

    def __call__(self, image: Float32, out: Float32) -> None:
        """Convolve, activate and pool one image."""
        p = self._problem
        self._transform(image)
        outputs = self._outputs.reshape(p.maps, *p.conv_span)
        for m in range(p.maps):
            self._convolve(m, outputs[m])
        self._finish(self._outputs, out, 1, p.output_size[0], (0, 0))

    def _transform(self, image: Float32) -> None:
        """Cut the padded image into blocks, put zeros behind each, and transform them."""
        (down, across), (tall, wide) = self._blocks.count, self._blocks.block
        (top, left), channels = self._problem.padding, self._problem.channels
        inside = self._padded[:, top : top + image.shape[1], left : left + image.shape[2]]
        inside[...] = image[:, : inside.shape[1], : inside.shape[2]]
        cut = self._padded.reshape(channels, down, tall, across, wide).swapaxes(2, 3)
        self._cut[..., :tall, :wide] = cut
        np.fft.rfft2(self._cut, out=self._spectra)

    def _convolve(self, m: int, outputs: Float32) -> None:
        """The outputs of one map, without bias."""
        p, masks = self._problem, self._masks[m]
        np.multiply(self._spectra[0], masks[0], out=self._product)
        for c in range(1, p.channels):
            np.multiply(self._spectra[c], masks[c], out=self._partial)
            self._product += self._partial
        # irfft2 ignores ``out`` in NumPy 2.
        np.fft.irfftn(self._product, self._blocks.transform, (-2, -1), out=self._shares)
        self._add_shares()
        # With a flipped mask the first whole output is at the mask's size less one.
        (rows, columns), (sh, sw) = p.conv_span, p.stride
        whole = self._plane[p.mask[0] - 1 :: sh, p.mask[1] - 1 :: sw]
        with np.errstate(over="ignore"):
            np.copyto(outputs, whole[:rows, :columns], casting="same_kind")

    def _add_shares(self) -> None:
        """Add up the blocks' shares, which overlap."""
        (rows, columns), (tall, wide) = self._blocks.transform, self._blocks.block
        self._plane[...] = 0.0
        for i, j in np.ndindex(*self._blocks.count):
            top, left = i * tall, j * wide
            self._plane[top : top + rows, left : left + columns] += self._shares[i, j]
