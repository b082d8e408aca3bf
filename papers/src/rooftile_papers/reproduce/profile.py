"""A profile as nvprof prints it: each kind of copy, memset and kernel with its share of the time on
the device, its calls, and its average, least and most."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rooftile.devices.gpu import GpuDevice
from rooftile_papers.reproduce.experiment import Log, Measured
from rooftile_papers.reproduce.timed import Entry, prepared

_REPEATS, _REPEATS_OF_A_CPU = 10, 3
_AHEAD_BYTES = 2**28
COPY_IN, COPY_OUT, MEMSET = "copy to the device", "copy back", "memset"


class Profile:
    """Work on the device, with the milliseconds of its own clock.

    The device has something else to do before each piece of work, so that the host has handed it
    over, with both marks, by the time that it begins: the noted time is the device's alone, with
    caches as other work leaves them.
    """

    def __init__(self, gpu: GpuDevice, ahead: Callable[[], object]) -> None:
        self._gpu, self._ahead = gpu, ahead
        self._marks: list[tuple[str, Any, Any]] = []

    def note(self, name: str, work: Callable[[], object]) -> None:
        """Start some work, of which the device notes when it begins and ends."""
        self._ahead()
        before = self._gpu.mark()
        work()
        self._marks.append((name, before, self._gpu.mark()))

    def samples(self) -> dict[str, list[float]]:
        """All that was noted, by its name."""
        self._gpu.synchronise()
        found: dict[str, list[float]] = {}
        for name, before, after in self._marks:
            found.setdefault(name, []).append(self._gpu.between(before, after))
        return found


def log_window(
    log: Log,
    gpu: GpuDevice,
    window: str,
    layers: Mapping[str, Entry],
    *,
    resident: bool,
    seed: int,
) -> None:
    """The profile of a network's layers in a row, from the copies in to the copy of the scores.

    Unless they are ``resident``, all parameters are copied in the window too; the kernels read
    bound ones of the same values.
    """
    calls = {name: prepared(entry, gpu, seed) for name, entry in layers.items()}
    problems = [entry.problem for entry in layers.values()]
    given = [np.ascontiguousarray(problems[0].random(seed)[0])]
    if not resident:
        given += [np.ascontiguousarray(one) for p in problems for one in p.random(seed)[1:]]
    there = [gpu.upload(array) for array in given]
    results = [np.zeros(out.shape, out.numpy) for p in problems for out in p.output_arrays]
    made = [gpu.upload(array) for array in results]
    copies, ahead = _copies(gpu), _busy(gpu)
    kept = Profile(gpu, ahead)
    repeats = _REPEATS if gpu.description.gpu else _REPEATS_OF_A_CPU
    for number in range(1 + repeats):
        profile = kept if number else Profile(gpu, ahead)
        for array, place in zip(given, there, strict=True):
            profile.note(COPY_IN, lambda a=array, p=place: copies.copy_in(a, p))  # type: ignore[misc]
        if gpu.kind == "cuda":
            for array, place in zip(results, made, strict=True):
                _note_memset(profile, gpu, place, array.nbytes)
        for name, call in calls.items():
            profile.note(f"kernel {name}", call)
        profile.note(COPY_OUT, lambda: copies.copy_out(made[-1], results[-1]))
        gpu.synchronise()
    log_rows(log, window, kept.samples(), repeats)


def _copies(gpu: Any) -> Any:
    """The stream of copies: on CUDA without waiting, so that the device's clock sees the copy
    alone."""
    if gpu.kind != "cuda":
        return gpu
    from rooftile.devices.cuda.streams import own_stream

    return own_stream(gpu)


def _busy(gpu: Any) -> Callable[[], object]:
    """Starts some work that takes a GPU about a tenth of a millisecond; nothing elsewhere, where
    the host is the device."""
    if gpu.kind != "cuda":
        return lambda: None
    first, second = gpu.allocate(_AHEAD_BYTES), gpu.allocate(_AHEAD_BYTES)

    def ahead(held: tuple[Any, Any] = (first, second)) -> None:
        gpu.copy(gpu.address(held[1]), gpu.address(held[0]), _AHEAD_BYTES)

    return ahead


def _note_memset(profile: Profile, gpu: Any, place: Any, nbytes: int) -> None:
    """As the report clears its results."""
    profile.note(MEMSET, lambda: gpu.clear(gpu.address(place), nbytes))


def log_rows(log: Log, window: str, samples: Mapping[str, list[float]], repeats: int) -> None:
    """A row for each name: its average as the number, from its least to its most."""
    total = sum(map(sum, samples.values()))
    for name, times in samples.items():
        average, least, most = sum(times) / len(times), min(times), max(times)
        log.measured.append(
            Measured(f"{window}: {name}", average, "ms", least, most, len(times), window)
        )
        log.number(f"{window}: {name}, share", 100 * sum(times) / total, "%", window)
        log.number(f"{window}: {name}, calls", len(times) / repeats, "calls", window)
        log.number(f"{window}: {name}, longest", most, "ms", window)
        log.number(f"{window}: {name}, in all", sum(times) / repeats, "ms", window)
