"""What stays on the device for a whole run: data, parameters, the optimiser's memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.gpu import GpuDevice, Launch, Program
from rooftile.devices.launches import Call
from rooftile.nn.network import Network
from rooftile.nn.training.gpu.batches import Batches
from rooftile.nn.training.gpu.copies import copies_of, host_array
from rooftile.nn.training.gpu.launches import compiling
from rooftile.nn.training.gpu.memory import ParameterLayout
from rooftile.nn.training.optimisers import LOSS_SCALE
from rooftile.nn.training.options import TrainingOptions
from rooftile.ops import Precision
from rooftile.strategies.contract.gpu import HEADERS

_THREADS = 256
_MEMORIES = {"sgd": ("velocity",), "adam": ("mean", "square")}
"""The memories of each optimiser, as a checkpoint names them."""
SQUARE_DECAY, _EPSILON = 0.999, 1e-8
"""Those of `Adam`: what its mean square keeps, and what keeps its root from zero."""


Kept = Mapping[str, Any]
"""Copies of what steps change, see `Resident.kept`."""


class Sent(NamedTuple):
    """Losses that are on their way to the host."""

    mark: Any
    losses: NDArray[np.float32]

    def read(self, first: int, last: int) -> list[float]:
        """Those of some steps; waits for them."""
        if self.mark is not None:
            self.mark.sync()
        told: list[float] = self.losses[first:last].tolist()
        return told


class Resident:
    """The data, everything that a step reads and changes, and the launches that touch it."""

    def __init__(
        self,
        network: Network,
        data: NDArray[Any],
        labels: NDArray[Any],
        options: TrainingOptions,
        gpu: GpuDevice,
        precision: Precision = "ieee",
        data_memory: int | None = None,
    ) -> None:
        """``data``, ``labels`` and ``data_memory`` are those of `Batches`. Raises `InputError`,
        `OutOfMemory`, `CompileFailure`."""
        self.gpu, self.precision, self.options = gpu, precision, options
        self.batches = Batches(network, data, labels, options, gpu, data_memory)
        self.layout = ParameterLayout(network.parameter_shapes)
        self.memories = _MEMORIES[options.optimizer]
        self.arrays = {
            name: gpu.upload(np.zeros(self.layout.count, np.float32))
            for name in ("parameters", "gradients", *self.memories)
        }
        steps = self.batches.steps
        self._rates = gpu.upload(np.zeros((steps, 4), np.float32))
        self.losses = gpu.upload(np.zeros(steps, np.float32))
        self._copies = copies_of(gpu)
        self._told = [host_array(gpu, (steps,), np.float32) for _ in "12"]
        """Losses of this epoch, and of the one before, which nobody may have read yet."""
        self._brought: Any = None
        """A mark behind the last copy of losses."""
        self.step = gpu.upload(np.zeros(1, np.int32))
        first = np.array([LOSS_SCALE, 0], np.float32)
        self.scaling = gpu.upload(first) if precision == "fp16" else None
        """What the loss is multiplied by, and how many steps it has been."""
        self._lasting = {name: self.arrays[name] for name in ("parameters", *self.memories)}
        self._lasting |= {} if self.scaling is None else {"scale": self.scaling}
        self._lasting["step"] = self.step
        self._overflowed = gpu.upload(np.zeros(1, np.int32))
        self._updates = compiling(gpu, self._compiled)

    def _compiled(self) -> Program:
        """The kernels that change the parameters."""
        momentum = self.options.momentum
        macros: dict[str, int | str] = {
            "DECAYED": self.layout.decayed,
            "MOMENTUM": f"{momentum!r}f",
            "MEAN_SHARE": f"{float(np.float32(1 - momentum))!r}f",
            "SQUARE_SHARE": f"{float(np.float32(1 - SQUARE_DECAY))!r}f",
            "EPSILON": f"{_EPSILON!r}f",
            "SCALED": int(self.scaling is not None),
        }
        text = Path(__file__).with_name("update.cu").read_text(encoding="utf-8")
        return self.gpu.compile(text, macros, [HEADERS])

    def begin_epoch(
        self,
        order: NDArray[Any],
        variation: NDArray[np.int32],
        rates: NDArray[np.float32],
        step: int,
    ) -> None:
        """Say what the epoch's steps are to do, and which one is next. All steps of the epoch
        before have been started, and their losses sent for."""
        self._told.reverse()
        if self._brought is not None:
            # The steps write their losses over those that the copy reads.
            self.gpu.after(self._brought)
        self.batches.begin_epoch(order, variation, step)
        for array, to in (
            (np.ascontiguousarray(rates, np.float32), self._rates),
            (np.full(1, step, np.int32), self.step),
        ):
            self.gpu.copy_in(array, to)

    def load(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Copy parameters, or a memory by parameters' keys, to the device."""
        self.gpu.copy_in(self.layout.packed(arrays), self.arrays[name])

    def fetch(
        self,
        name: str,
        arrays: Mapping[str, NDArray[Any]],
        kept: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Copy them from the device; or, beside its steps, from copies that were kept there before
        losses were sent that have been read."""
        whole = np.empty(self.layout.count, np.float32)
        if name in kept:
            self._copies.copy_out(kept[name], whole)
            self._copies.synchronise()
        else:
            self.gpu.copy_out(self.arrays[name], whole)
        self.layout.unpack(whole, arrays)

    def send_losses(self, steps: int) -> Sent:
        """Start to bring the mean losses of the epoch's first steps, behind those that were started
        and beside those that will be."""
        self._copies.after(self.gpu.mark())
        self._copies.copy_out(self.losses, self._told[0][:steps])
        self._brought = self._copies.mark()
        return Sent(self._brought, self._told[0])

    @property
    def when(self) -> tuple[Any, Any]:
        """The rates of the epoch's steps, and the number of the next."""
        return self._rates, self.step

    def parameter(self, layer: str, kind: str) -> Any:
        """A parameter's memory."""
        return self.layout.part(self.gpu, self.arrays["parameters"], f"{layer}.{kind}")

    def gradient(self, layer: str, kind: str) -> Any:
        """Its gradient's memory."""
        return self.layout.part(self.gpu, self.arrays["gradients"], f"{layer}.{kind}")

    def scaled(self, dz: Any, count: int) -> tuple[Callable[[], Call], ...]:
        """What makes the launch that scales the gradient of the loss, where that is done."""
        if self.scaling is None:
            return ()
        return (self._over("scale", count, dz, self.scaling),)

    def note(self, loss: Any, count: int) -> Callable[[], Call]:
        """What makes the launch that notes the mean loss and counts the step."""
        launch = Launch("note", (1, 1, 1), (_THREADS, 1, 1), overlaps=True)
        return partial(self._call, launch, (loss, self.losses, self.step, np.int32(count)))

    def update(self) -> tuple[Callable[[], Call], ...]:
        """What makes the launches that change the parameters, once the step is counted."""
        elements = self.layout.count
        arrays = (*self.arrays.values(), self._rates, self.step)
        if self.scaling is None:
            return (self._over(self.options.optimizer, elements, *arrays),)
        state = self.scaling, self._overflowed
        one = Launch("rescale", (1, 1, 1), (1, 1, 1), overlaps=True)
        return (
            self._over("look", elements, self.arrays["gradients"], self._overflowed),
            self._over(self.options.optimizer, elements, *arrays, *state),
            partial(self._call, one, state),
        )

    def _over(self, kernel: str, elements: int, *arrays: Any) -> Callable[[], Call]:
        """What makes a launch with a thread for each element."""
        grid = -(-elements // _THREADS), 1, 1
        launch = Launch(kernel, grid, (_THREADS, 1, 1), overlaps=True)
        return partial(self._call, launch, (*arrays, np.int32(elements)))

    def _call(self, launch: Launch, arguments: tuple[Any, ...]) -> Call:
        return Call(self._updates.result(), launch, arguments)

    def kept(self) -> Kept:
        """Copies, on the device, of all that steps change for good, by name; nobody waits for
        them."""
        gpu, copies = self.gpu, dict[str, Any]()
        for name, array in self._lasting.items():
            copies[name] = copy = gpu.allocate(self._nbytes(array))
            gpu.copy(gpu.address(copy), gpu.address(array), self._nbytes(array))
        return copies

    def put_back(self, kept: Kept) -> None:
        """Undo what steps have changed since."""
        for name, array in self._lasting.items():
            copy = self.gpu.address(kept[name])
            self.gpu.copy(self.gpu.address(array), copy, self._nbytes(array))

    def _nbytes(self, array: Any) -> int:
        if array is self.step:
            return 4
        return 8 if array is self.scaling else 4 * self.layout.count
