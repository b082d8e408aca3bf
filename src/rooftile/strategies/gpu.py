"""GPU strategies: a CUDA C text beside the module, macros for the problem, and steps.

A strategy is declared, not programmed: which macros specialise its text, which
kernels run in which order on how many blocks, and what each is given by name.
So the same declaration runs on CUDA and on OpenCL, in a plan's graph, and can be
explained without a device.
"""

from __future__ import annotations

import inspect
import math
import threading
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rooftile.devices.gpu import Argument, GpuDevice, Launch, Resources, TensorMap
from rooftile.errors import InputError, UnsupportedProblem
from rooftile.ops import ERROR_MODELS, ErrorModel, Float32, narrowed, widened
from rooftile.strategies.base import Strategy

_MOST_IN_IMAGE = 2**31 - 1
"""Elements of one image that a kernel's index reaches; offsets of images are 64-bit."""

_FUSED = Path(__file__).with_name("_fused.h")

Config = Mapping[str, int]
"""A value for every tunable."""


@dataclass(frozen=True)
class Tunable:
    """A launch or tile parameter with its candidate values."""

    name: str
    values: tuple[int, ...]
    default: int


@dataclass(frozen=True)
class Step:
    """One launch with its arguments: names of arrays, tensor maps of them, or integers.

    ``x``, ``weights``, ``bias`` and ``out`` are the problem's arrays, other names those of
    `GpuStrategy.workspace`; an integer is passed as int32.
    """

    launch: Launch
    arguments: tuple[str | TensorMap | int, ...]
    part: int = 0
    """Which of the strategy's `GpuStrategy.parts` runs it."""


class GpuStrategy(Strategy):
    """A strategy whose kernels are in the file of its module's name, ``<name>.cu``."""

    devices: ClassVar[tuple[str, ...]] = ("cuda", "opencl")
    tunables: ClassVar[tuple[Tunable, ...]] = ()
    source: ClassVar[str] = ""
    """The text's name, where rungs share one; empty where it is the module's own."""
    headers: ClassVar[tuple[str, ...]] = ()
    """Texts that some rungs share, beside its own or in this folder, to stand before it."""
    architectures: ClassVar[tuple[str, ...]] = ()
    """The only GPUs whose instructions its text uses, as ``sm_90``; empty where any will do."""
    least_architecture: ClassVar[int] = 0
    """The first GPUs that have its instructions, as 80 for ``sm_80``."""
    apart: ClassVar[str] = ""
    """What of the fused block runs as a kernel of its own; empty when nothing does."""
    narrow: ClassVar[str] = ""
    """The precision in whose 16-bit numbers it can read ``x`` and write ``out``, where the config
    says ``X_NARROW`` or ``OUT_NARROW``: between the layers of a plan.  Empty where it cannot."""
    atomic: ClassVar[bool] = False
    """Whether atomics make the order of sums, and so the last bits, differ between runs."""
    transforms_weights: ClassVar[bool] = False
    """Whether `pack` or `constants` calculates with the weights; False where both only put them
    into another order, with zeros between them, in the dtype that they have."""

    @abstractmethod
    def steps(self, problem: Any, config: Config) -> tuple[Step, ...]:
        """What runs for the problem's batch."""

    def macros(self, problem: Any, config: Config) -> dict[str, int | str]:
        """What the text is compiled with: the tunables; the problem's sizes where it needs them."""
        return dict(config)

    def workspace(self, problem: Any, config: Config) -> dict[str, int]:
        """float32 elements of each array between the steps."""
        return {}

    def pack(self, problem: Any, weights: Float32, config: Config) -> Float32:
        """The weights in the order that the kernels read them."""
        return weights

    def packed(
        self, problem: Any, parameters: Mapping[str, Float32], config: Config
    ) -> dict[str, Float32]:
        """The arrays that the kernels are given for the parameters, by the names in `steps`."""
        arrays = dict(parameters)
        if "weights" in arrays:
            arrays["weights"] = self.pack(problem, arrays["weights"], config)
        return arrays

    def preparation(self, problem: Any, config: Config) -> tuple[Step, ...]:
        """Launches that bring the packed weights into an array of the workspace, in numbers that
        the host's do not become by reordering; once, for weights that stay."""
        return ()

    def parts(self, problem: Any, config: Config) -> int:
        """How often the text is loaded, each time with constant memory of its own."""
        return 1

    def constants(
        self, problem: Any, parameters: Mapping[str, Float32], config: Config
    ) -> dict[str, Float32]:
        """Arrays that go to constant memory, by the names in the text; `parts` share them out
        along the first axis."""
        return {}

    def invalid(self, problem: Any, config: Config) -> str | None:
        """Why the strategy cannot run the problem with this config; None when it can."""
        return None

    def why_not_on(self, architecture: str) -> str | None:
        """Why its kernels do not run on GPUs of an architecture; None when they do."""
        only = " and ".join(self.architectures)
        if self.architectures and architecture not in self.architectures:
            return f"it uses instructions of {only} alone, not {architecture}"
        least = self.least_architecture
        if least and int(architecture.removeprefix("sm_")) < least:
            return f"it uses instructions of sm_{least} and later, not {architecture}"
        return None

    def defaults(self, problem: Any) -> dict[str, int]:
        """The config for a problem where none is given."""
        return {tunable.name: tunable.default for tunable in self.tunables}

    def config(self, problem: Any, given: Config | None = None) -> dict[str, int]:
        """Every tunable's value: the problem's default, or the given one; and, for a strategy that
        has them, which arrays are narrow.  Raises `InputError`."""
        formats = dict.fromkeys(("X_NARROW", "OUT_NARROW") if self.narrow else (), 0)
        names = [tunable.name for tunable in self.tunables]
        unknown = sorted(set(given or {}) - {*names, *formats})
        if unknown:
            raise InputError("config", unknown, f"tunables among {names}")
        return {**formats, **self.defaults(problem), **(given or {})}

    @cached_property
    def text(self) -> str:
        """The kernels; before them what all texts share, and what others of the operation do."""
        path = Path(inspect.getfile(type(self)))
        shared = path.with_name("_shared.h")
        heads = [_FUSED, *([shared] if shared.exists() else [])]
        near = (path.with_name(header) for header in self.headers)
        heads += [header if header.exists() else _FUSED.with_name(header.name) for header in near]
        text = path.with_name(f"{self.source or path.stem}.cu")
        return "".join(p.read_text(encoding="utf-8") for p in (*heads, text))

    def compile(self, problem: Any, device: GpuDevice, config: Config | None = None) -> Compiled:
        """The kernels for a problem; ``config`` sets tunables.

        Raises `UnsupportedProblem`, `InputError` for a config that cannot run, `CompileFailure`.
        """
        self.check(problem)
        image = max(math.prod(problem.input_shape[1:]), math.prod(problem.output_shape[1:]))
        if image > _MOST_IN_IMAGE:
            raise UnsupportedProblem(
                self.name, f"one image of {image} elements: indices are 32-bit"
            )
        reason = self.why_not_on(device.description.architecture)
        if reason is not None:
            raise UnsupportedProblem(
                self.name, reason, "strategy=None (the best that any GPU runs)"
            )
        values = self.config(problem, config)
        reason = self.invalid(problem, values)
        if reason is not None:
            raise InputError("config", values, f"one that can run: {reason}")
        return Compiled(self, problem, device, values)

    def bind(self, problem: Any, *parameters: Float32, **options: Any) -> GpuBound:
        """Compile for ``device=``, pack and upload the parameters, allocate the workspace.

        ``config=`` sets tunables.  Raises the errors of `compile`, and `OutOfMemory`.
        """
        compiled = self.compile(problem, options["device"], options.get("config"))
        return GpuBound(compiled, parameters)


class Compiled:
    """A strategy's kernels on a device, for up to the problem's batch; holds no arrays but
    those in constant memory."""

    def __init__(
        self, strategy: GpuStrategy, problem: Any, device: GpuDevice, config: Config
    ) -> None:
        self.strategy, self.problem, self.device, self.config = strategy, problem, device, config
        macros = strategy.macros(problem, config)
        parts = strategy.parts(problem, config)
        self.programs = [device.compile(strategy.text, macros) for _ in range(parts)]
        self._steps: tuple[int, tuple[Step, ...]] = (0, ())

    def set_constants(self, parameters: Mapping[str, Float32]) -> None:
        """Fill constant memory from parameters in the problem's shapes."""
        constants = self.strategy.constants(self.problem, parameters, self.config)
        for name, values in constants.items():
            shares = np.split(values, len(self.programs))
            for program, share in zip(self.programs, shares, strict=True):
                program.set_constant(name, share)

    def workspace(self, images: int) -> dict[str, int]:
        """float32 elements of each array between the steps, for so many images."""
        return self.strategy.workspace(self.problem.with_batch(images), self.config)

    def launch(self, arrays: Mapping[str, Any], images: int) -> None:
        """Start all steps on device memory by name; returns before they are done."""
        held, steps = self._steps
        if held != images:
            batch = self.problem.with_batch(images)
            steps = self.strategy.steps(batch, self.config)
            self._steps = images, steps
        self._start(steps, arrays)

    def prepare(self, arrays: Mapping[str, Any]) -> None:
        """Start what comes once after new weights, with them and the workspace by name."""
        self._start(self.strategy.preparation(self.problem, self.config), arrays)

    def _start(self, steps: tuple[Step, ...], arrays: Mapping[str, Any]) -> None:
        for step in steps:
            arguments = (self._given(a, arrays) for a in step.arguments)
            self.programs[step.part].launch(step.launch, *arguments)

    def _given(self, argument: str | TensorMap | int, arrays: Mapping[str, Any]) -> Argument:
        """What a kernel takes for an argument of a step."""
        if isinstance(argument, TensorMap):
            return self.device.tensor_map(arrays[argument.array], argument)
        return arrays[argument] if isinstance(argument, str) else np.int32(argument)

    def resources(self) -> list[Resources]:
        """What each step's launch takes."""
        steps = self.strategy.steps(self.problem, self.config)
        return [self.programs[step.part].resources(step.launch) for step in steps]


class GpuBound:
    """A strategy on a device with its parameters.  ``bound(x, out)`` copies NumPy arrays in and
    out; `launch` works on device memory.  Takes up to the problem's batch; calls take turns."""

    def __init__(self, compiled: Compiled, parameters: tuple[Float32, ...]) -> None:
        self._compiled = compiled
        self.strategy, self.problem = compiled.strategy, compiled.problem
        self.device, self.config = compiled.device, compiled.config
        problem, device = self.problem, self.device
        named = dict(zip(problem.parameter_shapes, parameters, strict=True))
        compiled.set_constants(named)
        packed = self.strategy.packed(problem, named, self.config)
        self._arrays = {n: device.upload(np.ascontiguousarray(a)) for n, a in packed.items()}
        for name, count in compiled.workspace(problem.batch).items():
            self._arrays[name] = device.allocate(4 * count)
        compiled.prepare(self._arrays)
        self._ends: tuple[Any, Any] | None = None
        self._turn = threading.Lock()

    def launch(self, x: Any, out: Any, images: int) -> None:
        """Start all steps on device memory; returns before they are done."""
        self._compiled.launch({**self._arrays, "x": x, "out": out}, images)

    def __call__(self, x: Float32, out: Float32) -> None:
        with self._turn, self.device.on():
            given, result = self.resident()
            self.copy_in(x, given)
            self.launch(given, result, x.shape[0])
            self.copy_out(result, out)

    def copy_in(self, x: Float32, given: Any) -> None:
        """Copy an input to the device, in the numbers that the kernels read."""
        narrow = self.config.get("X_NARROW")
        self.device.copy_in(narrowed(x, self.strategy.narrow) if narrow else x, given)

    def copy_out(self, result: Any, out: Float32) -> None:
        """Copy a result from the device, from the numbers that the kernels write."""
        if not self.config.get("OUT_NARROW"):
            return self.device.copy_out(result, out)
        bits = np.empty(out.shape, np.uint16)
        self.device.copy_out(result, bits)
        out[...] = widened(bits, self.strategy.narrow)
        return None

    @property
    def errors(self) -> ErrorModel:
        """How large an error its precision admits, the rounding of narrow results included."""
        model = ERROR_MODELS[self.strategy.precision]
        return (
            replace(model, results=self.strategy.narrow) if self.config.get("OUT_NARROW") else model
        )

    def resident(self) -> tuple[Any, Any]:
        """Device memory for a whole batch's input and output, allocated once."""
        if self._ends is None:
            shapes = (self.problem.input_shape, self.problem.output_shape)
            sizes = [4 * int(np.prod(shape)) for shape in shapes]
            self._ends = self.device.allocate(sizes[0]), self.device.allocate(sizes[1])
        return self._ends

    def resources(self) -> list[Resources]:
        """What each step's launch takes."""
        return self._compiled.resources()
