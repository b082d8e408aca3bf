"""`vectors`: rows x vectors of sums in registers, over rows staged with their ghost cells. Source:
Georganas et al., "Anatomy of High-Performance Deep Learning Convolutions on SIMD Architectures",
SC18, for the register block."""

from __future__ import annotations

from rooftile.devices.cpu.native import Native
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.conv3d import Conv3d
from rooftile.strategies import CpuKernel, HostStrategy
from rooftile.strategies.common.volume_rows import Pattern, VolumeKernel, kernel, units
from rooftile.strategies.contract.cpu_kernel import aligned_copy
from rooftile.strategies.conv3d.cpu.loops import lead


class Vectors(HostStrategy):
    """Takes every problem."""

    operation = "conv3d"
    name = "vectors"
    summary = "explicit vectors, a block of rows in registers, rows staged with their ghost cells"
    takes = features("boundary:valid form:batch")

    def units(self, problem: Conv3d) -> int:
        return problem.batch * _of_image(problem)

    def native(self, problem: Conv3d) -> tuple[Native, tuple[str, ...], bool]:
        return kernel(Pattern(problem.mask)), ("float32",) * 4, True

    def prepare(
        self, problem: Conv3d, parameters: tuple[AnyArray, ...], threads: int
    ) -> VolumeKernel:
        pattern = Pattern(problem.mask)
        one = _of_image(problem)
        made = CpuKernel(
            kernel(pattern),
            units=lambda images: images * one,
            scratch=pattern.scratch,
            sizes=(
                problem.channels,
                *problem.size,
                problem.maps,
                *problem.output_size,
                *lead(problem),
            ),
        )
        weights = aligned_copy(parameters[0])
        return VolumeKernel(made, weights, problem.input_arrays[0].item_size, threads)


def _of_image(problem: Conv3d) -> int:
    planes, rows, _ = problem.output_size
    return problem.maps * units(planes, rows)


STRATEGY = Vectors()
