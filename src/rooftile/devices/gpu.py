"""The interface that the two GPU devices, `cuda` and `opencl`, share.

Kernels are CUDA C texts after one prelude (``prelude.h``), compiled at run time with their tunables
as macros.  Both devices offer the same few methods, so that a strategy does not know which of them
it runs on.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.device import Device
from rooftile.errors import InputError, UnsupportedProblem

Size3 = tuple[int, int, int]
Argument = Any
"""A buffer of the device, a NumPy scalar of the kernel's type, or, on CUDA, an address."""


@dataclass(frozen=True)
class Description:
    """A device and its limits; None where its interface does not tell."""

    kind: str
    index: int
    name: str
    driver: str
    architecture: str
    units: int
    """Multiprocessors or compute units."""
    memory_bytes: int
    cache_bytes: int | None
    warp: int | None
    """Threads that step together."""
    threads_per_block: int
    threads_per_unit: int | None
    shared_bytes_per_block: int
    shared_bytes_per_unit: int | None
    registers_per_unit: int | None
    constant_bytes: int
    clock_mhz: int | None
    gpu: bool = True
    """False for another processor that OpenCL drives, such as a CPU."""

    @property
    def device(self) -> str:
        """As callers name it: ``cuda:0``."""
        return f"{self.kind}:{self.index}"


class Described:
    """A device's properties, by its description."""

    description: Description

    @property
    def name(self) -> str:
        return self.description.device

    @property
    def kind(self) -> str:
        return self.description.kind

    @property
    def cache_bytes(self) -> int | None:
        return self.description.cache_bytes


@dataclass(frozen=True)
class Resources:
    """A compiled kernel's resources; None where the compiler does not tell."""

    registers: int | None
    """32-bit registers of a thread."""
    shared_bytes: int
    """Static and dynamic shared memory of a block."""
    spill_bytes: int | None
    """Local memory of a thread: registers that did not fit."""
    occupancy: float | None
    """Resident threads over the most that fit, 0 to 1."""


@dataclass(frozen=True)
class Launch:
    """A kernel with its grid and block."""

    kernel: str
    grid: Size3
    block: Size3
    shared_bytes: int = 0
    """Dynamic shared memory of a block."""
    constants: tuple[str, ...] = ()
    """Constant arrays that the kernel reads, in the order of its arguments."""
    overlaps: bool = False
    """True if it may begin before the previous launch has ended (programmatic dependent launch,
    from compute capability 9.0 on): its text then waits for that launch."""
    concurrent: bool = False
    """True if it runs concurrently with other kernels: CUDA then asks for all of a multiprocessor's
    shared memory, whose size changes only while no kernel runs."""
    cooperative: bool = False
    """True if its blocks wait for each other, so that all of them must be resident: a cooperative
    launch, which CUDA's driver promises or refuses."""

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return math.prod(self.block)


@dataclass(frozen=True)
class TensorMap:
    """An array as the bulk copy engine sees it, which fetches boxes of it to shared memory.

    Rows of a box, 128 bytes each, lie there swizzled: within 1024 bytes, the number of a row is
    exclusive-ored into that of each 16 bytes.  What a box has beyond the array is zero.
    """

    array: str
    shape: tuple[int, ...]
    """Row-major; the innermost axis is a multiple of 16 bytes."""
    box: tuple[int, ...]
    element_bytes: int
    """2 or 4.  The engine need not know more of a number's type where it only copies."""
    rounded: bool = False
    """True if float32 is rounded to TF32 by the copy."""


class Program(Protocol):
    """A compiled text."""

    def set_constant(self, name: str, values: NDArray[np.float32]) -> None:
        """Fill a constant array."""

    def launch(self, launch: Launch, *arguments: Argument) -> None:
        """Start a kernel on the device's present stream or queue; returns at once."""

    def resources(self, launch: Launch) -> Resources:
        """Resources of a launch of a kernel."""


class Launches(Protocol):
    """Launches in a row that start again and again, with other buffers each time."""

    overlaps: bool
    """True if it is a single launch that may begin before the previous one has ended."""

    def start(self, buffers: Sequence[Any]) -> None:
        """Start everything on the present stream, with buffers in the order of their names."""


class Branch(Protocol):
    """A second line of work, which forks from the present stream and joins it again."""

    concurrent: bool
    """True if the device runs both concurrently."""

    def aside(self) -> contextlib.AbstractContextManager[None]:
        """Work started inside waits for the earlier work of the present stream and the branch; the
        present stream does not wait for it."""

    def join(self) -> None:
        """Let the present stream's later work wait for the branch."""

    def mark(self, number: int) -> None:
        """Name the point after all work of the branch."""

    def wait(self, number: int) -> None:
        """Let the present stream's later work wait for the point of this name; the branch must
        still be joined."""


class GpuDevice(Device, Protocol):
    """A GPU, or another processor that OpenCL drives like one."""

    description: Description

    def allocate(self, nbytes: int) -> Any:
        """Device memory.  Raises `OutOfMemory`."""

    def compile(
        self, text: str, macros: Mapping[str, int | str], folders: Sequence[Path] = ()
    ) -> Program:
        """Compile a kernel text after the prelude, with headers from the folders. Raises
        `CompileFailure`."""

    def launches(self, work: Sequence[Any], names: Sequence[str]) -> Launches:
        """Launches (`Call`) and copies to constant memory (`FillConstant`, both of
        `rooftile.devices.launches`) of buffers with these names. Raises `UnsupportedProblem` for a
        tensor map where there is no bulk copy engine."""

    def address(self, memory: Any) -> Any:
        """The form of memory that launches take fastest: its address, where it has one."""

    def copy(self, to: Any, source: Any, nbytes: int) -> None:
        """Start to copy device memory, given by what `address` says, on the present stream."""

    def part(self, memory: Any, first: int, nbytes: int) -> Any:
        """A part of memory that `allocate` gave, from a byte on that is a multiple of 256; the
        whole must be held as long as the part is used."""

    def turns(self) -> contextlib.AbstractContextManager[object]:
        """A block that may be entered again and again: what is started inside comes after what was
        started inside before, on whatever stream."""

    def branch(self) -> Branch:
        """A second line of work concurrent with the present stream's, where the device has one."""

    def timer(self) -> contextlib.AbstractContextManager[Elapsed]:
        """A block whose launches the device's own clock measures."""

    def mark(self) -> Any:
        """A point in the present stream or queue, whose time the device notes."""

    def after(self, mark: Any) -> None:
        """Work started from now on in the present stream or queue waits for the mark."""

    def between(self, before: Any, after: Any) -> float:
        """Milliseconds of the device's clock between two marks that it has passed."""

    def captured(self, work: Callable[[], object]) -> Callable[[], object]:
        """A call that repeats the launches of ``work`` with as little of the host's help as the
        device allows.  These launches must have run before."""


@dataclass
class Elapsed:
    """The result of a device's timer, once its block has ended."""

    milliseconds: float = math.nan


@cache
def prelude() -> str:
    """The text that stands before every kernel."""
    return Path(__file__).with_name("prelude.h").read_text(encoding="utf-8")


def key_of(*parts: str) -> str:
    """A name for a compiled text: a hash of all that it depends on."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def check_launch(launch: Launch, device: Description) -> None:
    """Raise `UnsupportedProblem` for a launch beyond the device's limits."""
    limits: Sequence[tuple[str, int, int]] = (
        ("threads a block", launch.threads, device.threads_per_block),
        ("bytes of shared memory a block", launch.shared_bytes, device.shared_bytes_per_block),
        ("blocks in x", launch.grid[0], 2**31 - 1),
        ("blocks in y", launch.grid[1], 65535),
        ("blocks in z", launch.grid[2], 65535),
    )
    for what, asked, limit in limits:
        if asked > limit:
            raise UnsupportedProblem(
                launch.kernel, f"{asked} {what} where {device.name} has at most {limit}"
            )
    if min(*launch.grid, *launch.block) < 1:
        raise InputError("launch", f"{launch.grid} x {launch.block}", "sizes of at least 1")


def macro_lines(macros: Mapping[str, int | str]) -> str:
    """Macros as text, in a fixed order: part of what is compiled and hashed."""
    return "".join(f"#define {name} {value}\n" for name, value in sorted(macros.items()))
