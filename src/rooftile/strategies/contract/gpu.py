"""GPU strategies: a CUDA C text next to the module, macros for the problem, and steps.

A strategy is declared, not programmed: the macros that specialise its text, the kernels in their
order with their grids, and each one's arguments by name. So the same declaration runs on CUDA and
on OpenCL, in a plan's graph, and can be explained without a device.
"""

from __future__ import annotations

import inspect
import math
import re
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, final

from rooftile.analysis.accesses import Accesses
from rooftile.analysis.pictures import Panels
from rooftile.devices.gpu import GpuDevice, Launch
from rooftile.devices.text import whole
from rooftile.errors import InputError, UnsupportedProblem
from rooftile.ops import FORMATS, AnyArray, Float32, Precision
from rooftile.ops.array import DTYPES
from rooftile.strategies.binding.bound import Config
from rooftile.strategies.binding.compiled import Compiled, Fill, Step
from rooftile.strategies.binding.executable import Executable, bind
from rooftile.strategies.contract.costs import Costs, Speeds, Work
from rooftile.strategies.contract.machine import Multiprocessors, preset
from rooftile.strategies.contract.strategy import Strategy, Tunable

HEADERS = Path(__file__).parent.parent
"""The folder from which texts include headers by their paths."""
_MOST_IN_ITEM = 2**31 - 1
"""Elements of one item that a kernel's index reaches; offsets of items are 64-bit."""

_CLOCK_FLOPS = 256
"""Operations of multiply-adds that a multiprocessor does in a clock."""
_WARP, _THREADS, _MOST_RESIDENT, _BLOCK_BYTES = 32, 2048, 32, 1024
"""Threads of a warp; threads and blocks of a multiprocessor; bytes of a block for the system."""

G = TypeVar("G", bound="GpuStrategy")

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NUMBERS = {"fp16": "float16", "bf16": "bfloat16", "tf32": "TF32"}


class GpuStrategy(Strategy):
    """A strategy whose kernels are in the file of its module's name, ``<name>.cu``."""

    devices: ClassVar[tuple[str, ...]] = ("cuda", "opencl")
    source: ClassVar[str] = ""
    """The text's name, where rungs share one; empty where it is the module's own."""
    family: str = ""
    """The beginning of its kernels' names, see `kernel`; empty where it is the text's name."""
    tensor_cores: ClassVar[bool] = False
    """True if tensor cores do its multiply-adds, at their own rates."""
    summing: ClassVar[str] = ""
    """The purpose of the kernel with the problem's arithmetic, see `kernel`; by default the kernel
    of the family's name, or the first of its steps."""
    narrow: str = ""
    """The precision whose 16-bit numbers it reads and writes, where its arrays are stored in them;
    empty where it cannot.  Of a training's rungs that multiply TF32 it is ``fp16``, whose numbers
    have as many bits, for images that are known to fit its range."""
    stores: ClassVar[Mapping[str, str]] = {}
    """Arrays that it takes stored otherwise, by the macro of its text: ``{"X_NARROW": "x:narrow",
    "OUT_LAST": "out:channels_last"}``. ``narrow`` stands for the 16 bits of `narrow`. Of several,
    as in ``a,b:narrow``, all are stored so or none."""
    wide_indices: ClassVar[bool] = False
    """True if its kernels reach more than 2^31 elements of an item."""
    machine: Multiprocessors = preset()
    """The GPU whose numbers its methods count with; see `on`."""

    def on(self, machine: Multiprocessors) -> Self:
        """The strategy as it is on a machine: sizes, grids and defaults are for that."""
        if machine == self.machine:
            return self
        placed = copy(self)
        placed.machine = machine
        return placed

    def at(self, precision: Precision) -> Self:
        """The strategy with operands of a precision: a member of a family, whose name and summary
        are templates of ``{precision}`` and ``{numbers}``."""
        member = copy(self)
        member.precision = precision
        member.name = self.name.format(precision=precision)
        # Where a member was not timed, it takes as large a share of its own rate as another.
        member.alike = self.name.format(precision="fp16")
        member.summary = self.summary.format(numbers=_NUMBERS[precision])
        if FORMATS[precision].bytes == 2:
            member.narrow = precision
        return member

    def kernel(self, what: str = "") -> str:
        """The name in the text of the kernel that does ``what``, as ``tree_finish``; where nothing
        is said, of the one that is called as the family: a profiler then shows the rung."""
        family = self.family or self._text_path.stem
        return f"{family}_{what}" if what else family

    @abstractmethod
    def steps(self, problem: Any, config: Config) -> tuple[Step, ...]:
        """The launches for the problem's batch."""

    def terms(self, problem: Any, machine: Speeds) -> Costs:
        """See `Strategy.terms`: for as many multiprocessors as the machine has."""
        placed = self.on(replace(self.machine, multiprocessors=machine.cores))
        return super(GpuStrategy, placed).terms(problem, machine)

    def starts(self, problem: Any) -> int:
        """The starts of the default config."""
        return len(self.steps(problem, self.defaults(problem)))

    def work(self, problem: Any) -> Work:
        """See `Strategy.work`: the blocks of its launches, in waves that fill the machine.

        A last wave takes as long as a full one: its multiprocessors without a block are idle.
        """
        config, units = self.config(problem), self.machine.multiprocessors
        launches = [step.launch for step in self.steps(problem, config)]
        waves = sum(-(-math.prod(launch.grid) // units) for launch in launches)
        main = self._main(launches)
        together = units * self._blocks_held(main)
        chain = problem.reduction * -(-math.prod(main.grid) // together)
        clocks = units * self.clocks(problem, config)
        return Work(problem.flops, problem.bytes, units * waves, clocks, chain)

    def _main(self, launches: Sequence[Launch]) -> Launch:
        """The one that does the problem's arithmetic, see `summing`."""
        named = (one for one in launches if one.kernel == self.kernel(self.summing))
        return next(named, launches[0])

    def _blocks_held(self, launch: Launch) -> int:
        """Blocks of a launch that a multiprocessor holds, as far as threads and shared memory
        tell."""
        shared = launch.shared_bytes + _BLOCK_BYTES
        room = min(_THREADS // max(launch.threads, _WARP), self.machine.shared_bytes // shared)
        return max(1, min(room, _MOST_RESIDENT))

    def clocks(self, problem: Any, config: Config) -> float:
        """About how many clocks a multiprocessor takes for its share, to compare sizes by: the
        multiply-adds of a block, in as many waves as there are."""
        grid = math.prod(self._main([step.launch for step in self.steps(problem, config)]).grid)
        waves = -(-grid // self.machine.multiprocessors)
        return float(waves * problem.flops / grid / _CLOCK_FLOPS)

    def macros(self, problem: Any, config: Config) -> dict[str, int | str]:
        """The tunables; the problem's sizes where the text needs them."""
        return dict(config)

    def workspace(self, problem: Any, config: Config) -> dict[str, int]:
        """float32 elements of each array between the steps."""
        return {}

    def packed(
        self, problem: Any, parameters: Mapping[str, AnyArray], config: Config
    ) -> dict[str, AnyArray]:
        """The arrays that the kernels are given for the parameters, by the names in `steps`: each
        has one parameter's elements in any order, with zeros between them, in its dtype.  On a
        device a kernel moves them; what calculates with them, or rounds them, is `preparation`."""
        return dict(parameters)

    def preparation(self, problem: Any, config: Config) -> tuple[Step, ...]:
        """Launches that make arrays of the workspace from the packed parameters, in numbers that
        they do not become by reordering; once, for parameters that stay."""
        return ()

    def programs(self, problem: Any, config: Config) -> int:
        """Number of times that the text is loaded, each with constant memory of its own."""
        return 1

    def constants(self, problem: Any, config: Config) -> dict[str, Fill]:
        """The sources of constant memory after the preparation, by the names in the text."""
        return {}

    def tables(self, problem: Any, config: Config) -> dict[str, Float32]:
        """Constant memory that does not depend on the parameters, by the names in the text."""
        return {}

    def accesses(self, problem: Any, config: Config) -> Mapping[str, Accesses]:
        """Accesses of each kernel over all its launches, by the kernel's name; empty without a
        model."""
        return {}

    def picture(self, problem: Any, config: Config) -> Panels:
        """The first block's data, element by element; empty where there is no picture."""
        return ()

    def takes_feature(self, feature: str, features: Collection[str]) -> bool:
        """See `Strategy.takes_feature`: `stores` too."""
        if super().takes_feature(feature, features):
            return True
        groups = self._storages.values()
        return any(feature in group and group <= {*features} for group in groups)

    @property
    def _storages(self) -> dict[str, frozenset[str]]:
        """The features of storage that each macro of `stores` stands for; none where it cannot."""
        found = {}
        for macro, told in self.stores.items():
            names, _, how = told.partition(":")
            if how == "narrow":
                how = FORMATS[self.narrow].dtype if self.narrow else ""
            found[macro] = frozenset(f"storage:{n}:{how}" for n in names.split(",") if how)
        return found

    def with_storage(
        self, problem: Any, asked: Mapping[str, str], config: Config | None = None
    ) -> Any:
        """The problem with arrays stored as asked, as far as it runs it so with a config: in dtype
        and layout, in dtype alone, or not.  ``asked`` is what `Problem.stored` takes."""
        wanted = {f"storage:{name}:{one}" for name, how in asked.items() for one in how.split(":")}
        # Where one of two operands is stored otherwise, a kernel that reads both so takes neither.
        taken = [one for group in self._storages.values() if group <= wanted for one in group]
        possible = {
            name: ":".join(one for one in how.split(":") if f"storage:{name}:{one}" in taken)
            for name, how in asked.items()
        }
        for layouts in (True, False):
            how = {
                name: ":".join(
                    one for one in words.split(":") if one and (layouts or one in DTYPES)
                )
                for name, words in possible.items()
            }
            found = problem.stored(**{name: words for name, words in how.items() if words})
            if self.runs(found, config):
                return found
        return problem

    def runs(self, problem: Any, config: Config | None = None) -> bool:
        """True if it takes a problem and can run it with a config, its default where none is
        given."""
        if self.why_refused(problem, self.precision, config) is not None:
            return False
        return self.invalid(problem, self.config(problem, config)) is None

    def config(self, problem: Any, given: Config | None = None) -> dict[str, int]:
        """See `Strategy.config`; the default is that of the plain problem, for which configs are
        measured."""
        return super().config(problem.plain, given)

    @final
    def defines(self, problem: Any, config: Config) -> dict[str, int | str]:
        """All that the text is compiled with: `macros`, and how arrays are stored."""
        features = problem.described_features() if problem is not problem.plain else ()
        stored = {
            macro: int(bool(group) and group <= {*features})
            for macro, group in self._storages.items()
        }
        return {**self.macros(problem, config), **stored}

    def fingerprint(self, problem: Any, config: Config) -> str:
        """Its text without comments, its macros and its steps."""
        macros = sorted(self.defines(problem, config).items())
        code = " ".join(_COMMENT.sub(" ", self.whole_text).split())
        return repr((code, macros, self.steps(problem, config)))

    @cached_property
    def _text_path(self) -> Path:
        """The text next to the module of its class, or of a class that it derives from: of its
        name, or of the module's."""
        bases = type(self).__mro__[: type(self).__mro__.index(GpuStrategy)]
        modules = [Path(inspect.getfile(base)) for base in bases]
        for module in modules:
            for stem in (self.source,) if self.source else (self.name, module.stem):
                if (path := module.with_name(f"{stem}.cu")).exists():
                    return path
        return modules[0].with_name(f"{self.source or self.name}.cu")

    @cached_property
    def text(self) -> str:
        """The kernels; what they share with others they include."""
        return self._text_path.read_text(encoding="utf-8")

    @cached_property
    def folders(self) -> tuple[Path, ...]:
        """The folders of the text's headers: its own, and ``strategies``."""
        return self._text_path.parent, HEADERS

    @property
    def whole_text(self) -> str:
        """The text with its headers in place."""
        return whole(self.text, self.folders)

    def unfit(self, problem: Any) -> str | None:
        """Why the machine cannot run the problem's default config, for `limits`; None if it can."""
        return self.invalid(problem, self.defaults(problem.plain))

    def compile(self, problem: Any, device: GpuDevice, config: Config | None = None) -> Compiled:
        """The kernels for a problem; ``config`` sets tunables. Raises `UnsupportedProblem`,
        `InputError` for a config that cannot run, `CompileFailure`."""
        reason = self.why_not_on(device.description.architecture)
        if reason is not None:
            raise UnsupportedProblem(
                self.name, reason, "strategy=None (the best that any GPU runs)"
            )
        placed = self.on(Multiprocessors.of(device.description))
        placed.check(problem, config=config)
        largest = max(array.item_size for array in problem.arrays)
        if largest > _MOST_IN_ITEM and not self.wide_indices:
            raise UnsupportedProblem(
                self.name, f"an item of {largest} elements: indices are 32-bit"
            )
        values = placed.config(problem, config)
        reason = placed.invalid(problem, values)
        if reason is not None:
            raise InputError("config", values, f"one that can run: {reason}")
        return Compiled(placed, problem, device, values)

    def bind(
        self,
        problem: Any,
        parameters: Sequence[AnyArray],
        device: GpuDevice,
        config: Config | None = None,
    ) -> Executable:
        """See `Strategy.bind`."""
        return bind(self.compile(problem, device, config), parameters)


def family(rung: G, *precisions: Precision) -> tuple[G, ...]:
    """The members of a family, see `GpuStrategy.at`."""
    return tuple(rung.at(precision) for precision in precisions)


def of_launches(strategy: Strategy) -> GpuStrategy:
    """A strategy that is declared as launches.  Raises `InputError` for one that is not."""
    if not isinstance(strategy, GpuStrategy):
        raise InputError("strategy", repr(strategy.name), "one that is made of a GPU's launches")
    return strategy


__all__ = [
    "Compiled",
    "Config",
    "Executable",
    "Fill",
    "GpuStrategy",
    "Step",
    "Tunable",
    "family",
    "of_launches",
]
