"""What every operation's problem has in common."""

from __future__ import annotations

from typing import ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]


@runtime_checkable
class Problem(Protocol):
    """An operation with its shapes and fused parts fixed: hashable and printable.

    Arrays are float32, row-major.  The first array is the input, the first axis
    of it and of the output the batch; the others are the parameters.
    """

    operation: ClassVar[str]

    def __hash__(self) -> int:
        """Equal problems have the same."""

    @property
    def batch(self) -> int:
        """Number of independent inputs."""

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of the input, batch first."""

    @property
    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each parameter by name, in the order of the arguments."""

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of the output, batch first."""

    @property
    def flops(self) -> int:
        """Floating-point operations of the direct method; a fused multiply-add is two."""

    @property
    def bytes(self) -> int:
        """Compulsory traffic: every input and parameter read once, the output written once."""

    @property
    def reduction(self) -> int:
        """Number of terms in the sum behind one output."""

    def with_batch(self, batch: int) -> Self:
        """The same problem for another batch."""

    def shrunk(self) -> Self:
        """A smaller problem of the same kind, to estimate a slow strategy's rate from."""

    def reference(self, x: Float32, *parameters: Float32) -> Float64:
        """The result in float64."""

    def magnitude(self, x: Float32, *parameters: Float32) -> Float64:
        """Sum of the magnitudes of the terms behind each output, in the output's shape."""


def check_positive(**sizes: int) -> None:
    """Raise `InputError` for the first size that is not an integer of at least one."""
    for name, size in sizes.items():
        if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 1:
            raise InputError(name, repr(size), "an integer of at least 1")


def pair(name: str, value: int | tuple[int, int], least: int) -> tuple[int, int]:
    """``value`` as a (vertical, horizontal) pair of integers of at least ``least``."""
    both = (value, value) if isinstance(value, int | np.integer) else value
    if (
        not isinstance(both, tuple | list)
        or len(both) != 2
        or any(
            not isinstance(v, int | np.integer) or isinstance(v, bool) or v < least for v in both
        )
    ):
        raise InputError(name, repr(value), f"an integer of at least {least}, or a pair of them")
    return int(both[0]), int(both[1])


def float_bytes(*shapes: tuple[int, ...]) -> int:
    """Bytes of float32 arrays of these shapes."""
    return 4 * sum(int(np.prod(shape)) for shape in shapes)
