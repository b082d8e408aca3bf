"""The base of rungs that keep arrays in memory between their kernels."""

from __future__ import annotations

from abc import abstractmethod

from rooftile.ops import Conv2d
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.conv2d.gpu._base import GpuConv2d

MOST_BYTES = 256 * 2**20
"""Workspace that a slice of images may take; a single image may take more."""


class SlicedConv2d(GpuConv2d):
    """Slices of the batch pass through the kernels, so the arrays stay under a stated size."""

    @abstractmethod
    def image_floats(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """float32 elements of each array between the kernels, for one image."""

    @abstractmethod
    def slice_steps(
        self, problem: Conv2d, config: Config, first: int, images: int
    ) -> tuple[Step, ...]:
        """The kernels over ``images`` images from the image ``first`` on."""

    def workspace(self, problem: Conv2d, config: Config) -> dict[str, int]:
        floats = self.image_floats(problem, config)
        images = slice_images(problem.batch, sum(floats.values()))
        return {name: images * count for name, count in floats.items()}

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        images = slice_images(problem.batch, sum(self.image_floats(problem, config).values()))
        return tuple(
            step
            for first, count in slices(problem.batch, images)
            for step in self.slice_steps(problem, config, first, count)
        )


def slice_images(batch: int, floats: int) -> int:
    """Images of a slice whose workspace is ``floats`` float32 an image."""
    return max(1, min(batch, MOST_BYTES // (4 * floats)))


def slices(batch: int, images: int) -> list[tuple[int, int]]:
    """First image and number of images of each slice."""
    return [(first, min(images, batch - first)) for first in range(0, batch, images)]
