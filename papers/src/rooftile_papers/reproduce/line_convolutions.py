"""The MLP deck's 1D convolutions: three kernels, 10^3 to 10^9 elements, and its checker."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rooftile.devices.gpu import GpuDevice
from rooftile.lab.judge.verify import verify
from rooftile.ops import Float32
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies import strategy
from rooftile_papers.reproduce.experiment import Experiment, Found, Log, Ruling, Setting, ruled
from rooftile_papers.reproduce.figures import Table, table
from rooftile_papers.reproduce.timed import device_samples, host_samples, measured
from rooftile_papers.reproduce.verdicts import ALIKE, by_ratio

SIZES = {"1e3": 10**3, "1e5": 10**5, "1e7": 10**7, "1e9": 10**9}
KERNELS = {"basic": "naive", "constant": "constant", "core": "tile_core"}
"""The deck's kernels, and our rungs that do the same."""
BLOCKS = (16, 256)
"""Threads a block: the deck's half of a warp, and what fills a multiprocessor."""
MASK = np.array([0.3, 0.2, 0.8], np.float32)
_EXAMPLE = np.array([0, 1, 2, 3, 4, 5, 0], np.float32)
_REPEATS, _REPEATS_OF_LONG = 5, 2
_LONG = 10**9
"""Number of elements from which a call of the CPU takes ten seconds, and is timed once."""
_OFF_EVERY_BLOCK = Conv1d(10_007, 3, "interior")
"""The verified problem: no block divides its length, so that a rounded-down grid is seen."""
_LOOKED_AT = 10_000
"""Elements at each end of a timed result that are compared, too."""


class LineConvolutions(Experiment):
    """Kernel, copies and both, with the deck's blocks and with ours; what its checker checks."""

    name = "conv1d"
    title = "1D convolutions on CPU and GPU"
    what = (
        "A mask of three taps over signals of 10^3 to 10^9 elements, with the mask in global or "
        "constant memory, or the core of a tile in shared memory; 16 threads a block, half of a "
        "warp. The checker divides zero by zero at both ends, which the kernels leave at zero "
        "although the deck calls that 'same' padding, and a ceiling of an integer quotient makes "
        "lengths that are no multiple of the block fail."
    )
    prefixes = ("conv1d.",)
    needs: ClassVar = {"cpu": (4, 1), "opencl": (16, 3), "cuda": (31, 3)}

    def measure(self, setting: Setting) -> Found:
        """Every size that fits: on the CPU as the deck's baseline, and on the device."""
        log = Log()
        for rung in ("loops", "vectors"):
            right = verify(_OFF_EVERY_BLOCK, strategy("conv1d", rung), neighbours=False)
            log.check(f"CPU, {rung} is right", right.passed, right.reason)
        if setting.gpu is not None:
            _verify(log, setting.gpu)
        for label, length in _sizes(setting, log).items():
            _measure_size(log, setting, label, length)
        _claim_of_constant_memory(log, label)
        _checker(log)
        _own_numbers(log)
        return log.found()

    def judge(self, found: Found) -> list[Ruling]:
        """CPU times and speed-ups in ratio; GPU times by what they contain."""
        rulings: list[Ruling] = []
        for kernel in KERNELS:
            rulings += _judge_times(table(f"conv1d.{kernel}"), kernel, found)
            ours = {
                label: cpu / whole
                for label in SIZES
                if (cpu := found.value(f"{label}: CPU, serial"))
                and (whole := found.value(f"{label}: {kernel}, block 16, all"))
            }
            rulings += by_ratio(table(f"conv1d.{kernel} speed-up"), ours)
            rulings += _judge_backup(table(f"conv1d.backup {kernel}"), table(f"conv1d.{kernel}"))
        rulings += _judge_checker(found)
        return ruled(rulings, self)


def _sizes(setting: Setting, log: Log) -> dict[str, int]:
    """The sizes that time and memory allow."""
    most = 10**9 if setting.large else 10**7
    if setting.quick:
        most = 10**7 if setting.large else 10**5
    kept = {label: length for label, length in SIZES.items() if length <= most}
    left = [label for label in SIZES if label not in kept]
    if left:
        log.notes.append(
            f"{', '.join(left)} elements are left out: this run takes up to {most:.0e}"
        )
    return kept


def _verify(log: Log, gpu: GpuDevice) -> None:
    for kernel, rung in KERNELS.items():
        for block in BLOCKS:
            found = verify(
                _OFF_EVERY_BLOCK,
                strategy("conv1d", rung, gpu.kind),
                device=gpu,
                config={"BLOCK": block},
                neighbours=False,
            )
            log.check(f"{kernel}, block {block} is right", found.passed, found.reason)


def _measure_size(log: Log, setting: Setting, label: str, length: int) -> None:
    x = np.resize(np.random.default_rng(setting.seed).random(10**6, np.float32), length)
    problem = Conv1d(length, 3, "interior")
    seconds = 0.1 if setting.quick else 0.3
    calls = {}
    for name, rung in (("CPU, serial", "loops"), ("CPU, vectors", "vectors")):
        calls[f"{label}: {name}"] = _on_cpu(problem, rung, x, 1 if rung == "loops" else None)
    if length < _LONG:
        samples = host_samples(calls, seconds)
    else:
        samples = {name: _times(call, 1) for name, call in calls.items()}
    for name, times in samples.items():
        log.measured.append(measured(name, times, "CPU"))
    if setting.gpu is not None:
        with setting.gpu.on():
            _measure_on_device(log, setting.gpu, label, problem, x, seconds)


def _on_cpu(problem: Conv1d, rung: str, x: Float32, threads: int | None) -> Callable[[], object]:
    from rooftile.devices import cpu

    device = cpu.open_device(threads)
    found: Any = strategy("conv1d", rung)
    bound = found.bind(problem, (MASK,), device)
    out = np.zeros(problem.length, np.float32)
    return lambda: bound(x, out)


@dataclass(frozen=True)
class _OnDevice:
    """One kernel with its arrays on the device."""

    launch: Callable[[], object]
    whole: Callable[[], object]
    """Allocation, copies and kernel, until the result is on the host."""


def _on_device(
    gpu: GpuDevice, problem: Conv1d, config: tuple[str, int], arrays: tuple[Float32, Float32, Any]
) -> _OnDevice:
    """A kernel with a block's threads, on a signal, room for the result, and the signal on the
    device."""
    (rung, block), (x, result, there) = config, arrays
    found: Any = strategy("conv1d", rung, gpu.kind)
    bound = found.bind(problem, (MASK,), gpu, {"BLOCK": block})
    memory = [there, gpu.allocate(result.nbytes)]

    def whole() -> None:
        given, made = gpu.upload(x), gpu.allocate(result.nbytes)
        bound.launch([given, made])
        gpu.copy_out(made, result)

    return _OnDevice(lambda: bound.launch(memory), whole)


def _measure_on_device(
    log: Log, gpu: GpuDevice, label: str, problem: Conv1d, x: Float32, seconds: float
) -> None:
    result, there = np.zeros_like(x), gpu.upload(x)
    repeats = _REPEATS if problem.length < _LONG else _REPEATS_OF_LONG
    copies = _times(lambda: gpu.copy_out(gpu.upload(x), result), repeats)
    log.measured.append(measured(f"{label}: copies", copies, "copies"))
    for kernel, rung in KERNELS.items():
        for block in BLOCKS:
            one = _on_device(gpu, problem, (rung, block), (x, result, there))
            name, group = f"{label}: {kernel}, block {block}", f"{block} threads a block"
            (times,) = device_samples({name: one.launch}, gpu, seconds).values()
            log.measured.append(measured(f"{name}, kernel", times, group))
            result[:_LOOKED_AT] = result[-_LOOKED_AT:] = np.nan
            whole = _times(one.whole, repeats)
            log.measured.append(measured(f"{name}, all", whole, group))
            log.check(f"{name} is right at both ends", right_at_both_ends(x, result))
            del one


def right_at_both_ends(x: Float32, result: Float32) -> bool:
    """True if a result is right where a grid that is too short, or an index, goes wrong first."""
    count = min(_LOOKED_AT, len(x))
    part = Conv1d(count, 3, "interior")
    first, last = (part.reference(end, MASK) for end in (x[:count], x[-count:]))
    # What lies at the other end of a part has neighbours in the whole.
    parts = ((first[:-1], result[: count - 1]), (last[1:], result[len(x) - count + 1 :]))
    return all(np.allclose(ours, right, rtol=1e-6, atol=0) for right, ours in parts)


def _claim_of_constant_memory(log: Log, label: str) -> None:
    """The effect of the mask's place, on the longest signal."""
    found = log.found()
    ratios = {
        block: constant / basic
        for block in BLOCKS
        if (basic := found.value(f"{label}: basic, block {block}, kernel"))
        and (constant := found.value(f"{label}: constant, block {block}, kernel"))
    }
    if ratios:
        parts = (f"{ratio:.2f} times with {block} threads" for block, ratio in ratios.items())
        said = f"its kernel takes {', '.join(parts)} a block, for {label} elements here"
        log.claim(
            "the mask in constant memory makes the kernel faster", max(ratios.values()) < 0.97, said
        )


def _times(call: Callable[[], object], repeats: int) -> list[float]:
    """Milliseconds by the host's clock."""
    samples = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        samples.append(1e3 * (time.perf_counter() - began))
    return samples


def checked_as_published(theirs: Float32, ours: Float32) -> int:
    """Results that the deck's checker does not accept: a relative difference that is not small,
    as 0 / 0 is not."""
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = np.abs(ours - theirs) / np.abs(theirs)
    return int(np.count_nonzero(~(relative < 1e-5)))


def _checker(log: Log) -> None:
    problem = Conv1d(len(_EXAMPLE), 3, "interior")
    right = np.asarray(problem.reference(_EXAMPLE, MASK), np.float32)
    # The right result against itself.
    log.number("refused by the deck's checker", checked_as_published(right, right), "elements")
    ghosts = Conv1d(len(_EXAMPLE), 3, "zero").reference(_EXAMPLE, MASK)
    log.claim(
        "'same' padding leaves the ends at zero",
        bool(np.allclose(ghosts[[0, -1]], right[[0, -1]])),
        f"with ghost cells of zeros they are {ghosts[0]:.1f} and {ghosts[-1]:.1f}",
    )
    covered = covered_by_integers(1000, 16)
    said = f"a ceiling of an integer quotient covers {covered} of 1000 elements by blocks of 16"
    log.claim("the length must be a multiple of the block", covered >= 1000, said)


def covered_by_integers(length: int, block: int) -> int:
    """Elements that a grid covers whose number of blocks is the ceiling of an integer quotient."""
    return length // block * block


def _own_numbers(log: Log) -> None:
    """The deck's speed-ups against its times, and the effect of constant memory."""
    for kernel in KERNELS:
        times, gains = table(f"conv1d.{kernel}"), table(f"conv1d.{kernel} speed-up")
        off = max(abs(times[f"{n} cpu"] / times[f"{n} gpu"] / gains[n] - 1) for n in SIZES)
        said = f"at most {off:.2%} off"
        log.claim(f"speed-ups of the {kernel} kernel are CPU over GPU time", off < 0.005, said)
    basic, constant = table("conv1d.basic"), table("conv1d.constant")
    slower = [n for n in SIZES if constant[f"{n} gpu"] > basic[f"{n} gpu"]]
    log.claim("constant memory helps", not slower, f"its GPU times are longer at {slower}")


def _judge_times(published: Table, kernel: str, found: Found) -> list[Ruling]:
    cpu = {f"{n} cpu": value for n in SIZES if (value := found.value(f"{n}: CPU, serial"))}
    rulings = by_ratio(published, cpu)
    whole: dict[str, float] = {}
    shares: dict[str, float] = {}
    for label in SIZES:
        name = f"{label}: {kernel}, block 16"
        alone, both = found.value(f"{name}, kernel"), found.value(f"{name}, all")
        if alone and both:
            whole[f"{label} gpu"], shares[f"{label} gpu"] = both, alone / both
    return [*rulings, *(_contained(one, shares) for one in by_ratio(published, whole))]


def _contained(ruling: Ruling, shares: Mapping[str, float]) -> Ruling:
    """A GPU time of which the kernel is the lesser part measures something else."""
    share = shares[ruling.figure.key]
    if share >= 0.5:
        return ruling
    said = (
        f"allocation, copies and kernel: the kernel alone is {share:.1%} of them here; "
        f"{ruling.reason}"
    )
    return Ruling(ruling.figure, "measured something else", said, ruling.ours)


def _judge_backup(backup: Table, main: Table) -> list[Ruling]:
    """The backup slides against the deck's own tables of the same cases."""
    rulings = []
    for figure in backup.figures:
        other = main[figure.key.replace("1024", "1e3")]
        ratio = figure.value / other
        said = f"the deck's table has {other:g} ms for the same case: {ratio:.2f} times"
        word = "holds" if abs(ratio - 1) <= ALIKE else "cannot be"
        rulings.append(Ruling(figure, word, said, other))  # type: ignore[arg-type]
    return rulings


def _judge_checker(found: Found) -> list[Ruling]:
    ours = found.value("refused by the deck's checker")
    if ours is None:
        return []
    (figure,) = table("conv1d.checker").figures
    if ours != figure.value:
        return [Ruling(figure, "differs here", "the checker's formula refuses others", ours)]
    said = "it divides 0 by 0 at both ends of a right result, and refuses what is not a number"
    return [Ruling(figure, "measured something else", said, ours)]


EXPERIMENT = LineConvolutions()
