"""Repeated calls on plain arrays of a GPU: row-major, aligned, without gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rooftile.runtime.arrays.libraries import Library
from rooftile.runtime.calls.fast_path import Repeat
from rooftile.runtime.calls.workspace import StreamWorkspaces
from rooftile.runtime.selection.choice import recent_stamp
from rooftile.strategies.binding.execution import Execution

if TYPE_CHECKING:
    from rooftile.devices.cuda import CudaDevice


@dataclass(frozen=True)
class Signature:
    """The signature of a call's arrays, which its repeats must have too."""

    inputs: int
    dtypes: Sequence[Any]
    """The library's dtypes of inputs and parameters; None for one that was not given."""
    shape: tuple[int, ...]
    """The output's."""
    made: Any
    """The library's dtype of the output."""


class GpuRepeat:
    """Launches for a call: of inputs, the output, parameters of the call, and what is kept.

    They start as a graph where they can.
    """

    def __init__(
        self,
        library: Library,
        device: CudaDevice,
        execution: Execution,
        call: Signature,
        *,
        stamp: Any = None,
        overlaps: bool = False,
    ) -> None:
        """``stamp`` is that of the tunings when the choice was made; None where it is never
        made anew.  ``overlaps``: the launch starts as it is, because it begins while the launch
        before ends: a graph, which takes less of the host's time, would wait for that end, which
        takes more of the GPU's."""
        from rooftile.devices.cuda.graph_launches import GraphLaunches

        self._library, self._device, self._execution = library, device, execution
        self._gpu = gpu = device.description.index
        self._call, self._stamp, self._overlaps = call, stamp, overlaps
        self._turns = execution.turns
        inputs, kept = call.inputs, [device.address(memory) for memory in execution.kept]
        self._buffers: list[Any] = [*[None] * (inputs + 1), *execution.zeros, *kept]
        """The addresses that every call has; its arrays' and the output's come with each call."""
        self._places = [*range(inputs), *range(inputs + 1, inputs + 1 + len(execution.zeros))]
        """The index of each array of the call among the buffers."""
        self._read = library.reader(gpu, call.dtypes, self._places)
        self._read_out = library.reader(gpu, [call.made], [inputs])
        workspace = execution.workspace
        # Memory is made as float32.
        make = library.maker((-(-workspace.nbytes // 4),), gpu)
        self._workspaces = StreamWorkspaces(make, workspace)
        self._replays = GraphLaunches(execution.launches, device)  # type: ignore[arg-type]

    def takes(self, arrays: Sequence[Any]) -> bool:
        """True if arrays are plain: views of other arrays may have their shapes."""
        return self._read(arrays, self._buffers.copy())

    def repeat(self) -> Repeat:
        """The call.  What it asks is at hand here: to look it up takes as long as to ask half of
        it."""
        library, made_at, stamp = self._library, self._call.inputs, self._stamp
        current_stream, read = library.stream_of(self._gpu), self._read
        make = library.maker(self._call.shape, self._gpu, self._call.made)
        common, takes_out = self._buffers.copy, self._takes_out
        works, workspaces = self._execution.workspace.nbytes > 0, self._workspaces
        are_kept, kept, new = workspaces.are_kept, workspaces.kept.get, workspaces.new
        replays, begin, at_once = self._replays, self._begin, self._turns is None
        is_capturing = self._device.is_capturing
        has_pool = at_once and library.graph_pool

        def call(arrays: Sequence[Any], out: Any) -> Any:
            if stamp is not None and stamp != recent_stamp():
                return None
            stream = current_stream()
            if not has_pool and is_capturing(stream):
                return None
            buffers = common()
            if not read(arrays, buffers):
                return None
            if out is None:
                out, buffers[made_at] = make()
            elif not takes_out(out, arrays, buffers):
                return None
            if works:
                # It is held here until all that works in it has been started.
                held = kept(stream) if are_kept else new()
                if held is not None:
                    buffers += held[1]
            if at_once and replays.replay(buffers, stream):
                return out
            return out if begin(buffers, stream) else None

        return call

    def _begin(self, buffers: list[int], stream: int) -> bool:
        """Start what was not replayed; False where the call must go the long way."""
        device = self._device
        if not device.is_current():
            return False
        captured = device.is_capturing(stream)
        first, workspaces = len(self._buffers), self._workspaces
        works = self._execution.workspace.nbytes > 0
        if works and workspaces.are_kept and (captured or len(buffers) == first):
            # As in a call, of which this may be the first on the stream.
            held = workspaces.new() if captured else workspaces.keep(stream)
            buffers[first:] = held[1]
        if captured or self._overlaps:
            # A graph cannot be launched into one that is being captured.
            launches: Any = self._execution.launches
            launches.start(buffers, stream)
        elif self._turns is not None:
            self._start_in_turn(buffers, stream)
        else:
            self._replays.start(buffers, stream)
        return True

    def _takes_out(self, out: Any, arrays: Sequence[Any], buffers: list[Any]) -> bool:
        """True if the caller's array can be written to; then its address is among the buffers."""
        if not self._read_out((out,), buffers) or out.shape != self._call.shape:
            return False
        begin = buffers[self._call.inputs]
        end = begin + out.nbytes
        for array, place in zip(arrays, self._places, strict=False):
            if array is not None and (at := buffers[place]) < end and begin < at + array.nbytes:
                return False
        return True

    def _start_in_turn(self, buffers: list[int], stream: int) -> None:
        self._turns.begin(stream)
        try:
            if not self._replays.replay(buffers, stream):
                self._replays.start(buffers, stream)
        finally:
            self._turns.end(stream)
