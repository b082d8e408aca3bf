"""Strategies on arrays that already lie on the device, call after call, on any stream.

Parameters may change between two calls, so nothing is kept of them: each call packs them anew, in
the order of the stream.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rooftile.devices.gpu import Launches
from rooftile.strategies.compiled import Compiled
from rooftile.strategies.conversion import Adapter, Form
from rooftile.strategies.packing import GIVEN, Packing

_MOST_BATCHES = 16
"""Numbers of items for which launches are kept."""

Allocate = Callable[[Sequence[int]], Sequence[Any]]
"""Arrays of so many float32 in device memory, which the caller holds until the call returns."""


class Resident:
    """A strategy's kernels on a device, for up to the problem's batch."""

    def __init__(
        self,
        compiled: Compiled,
        forms: Mapping[str, Form] = MappingProxyType({}),
        *,
        alone: bool = False,
    ) -> None:
        """``forms`` are those of the caller's arrays that the kernels do not take as they come;
        ``alone``: no two calls are ever on the device together.

        Raises `UnsupportedProblem` for more parameters than an index reaches.
        """
        self._compiled, self.device = compiled, compiled.device
        self._forms = _of_given(forms, compiled)
        self._packing = Packing(compiled, self._forms)
        self._batches: dict[int | None, tuple[Launches, tuple[int, ...]]] = {}
        self.shares = compiled.uses_constants
        """Whether calls share constant memory: then they take turns on the device."""
        self.turns = self.device.turns() if self.shares and not alone else None
        self.alone = alone

    def again(self) -> Resident:
        """The same with constant memory of its own, for a graph that holds one call."""
        return Resident(self._compiled.again(), self._forms, alone=True)

    def run(
        self, ends: Sequence[Any], parameters: Sequence[Any], batch: int | None, allocate: Allocate
    ) -> None:
        """Start everything on the present stream, for so many items.

        ``ends`` are inputs and outputs in device memory; so are ``parameters``, in the problem's
        shapes, or None for zeros.
        """
        launches, counts = self.launches(batch)
        buffers = [*ends, *self._packing.given(parameters), *(allocate(counts) if counts else ())]
        with self.turns or contextlib.nullcontext():
            launches.start(buffers)

    def launches(self, batch: int | None) -> tuple[Launches, tuple[int, ...]]:
        """The launches for so many items, and float32 elements of each of their temporaries."""
        return self._batches.get(batch) or self._made(batch)

    @property
    def zeros(self) -> list[Any]:
        """What stands for each parameter that may be None."""
        return self._packing.zeros

    def _made(self, batch: int | None) -> tuple[Launches, tuple[int, ...]]:
        packing, compiled = self._packing, self._compiled
        given = (*compiled.held(batch), *packing.parameters)
        ends = Adapter(self.device, given, self._packing.forms)
        temporaries = {**packing.arrays, **packing.workspace(batch), **ends.temporaries}
        work = [*ends.before, *packing.work, *packing.steps(batch), *ends.after]
        launches = self.device.launches(work, (*ends.names, *temporaries))
        if len(self._batches) >= _MOST_BATCHES:
            self._batches.clear()
        self._batches[batch] = launches, tuple(temporaries.values())
        return self._batches[batch]


def _of_given(forms: Mapping[str, Form], compiled: Compiled) -> dict[str, Form]:
    """The forms, those of parameters by the names that packing has for them."""
    parameters = {array.name for array in compiled.problem.parameter_arrays}
    return {GIVEN + n if n in parameters else n: form for n, form in forms.items()}
