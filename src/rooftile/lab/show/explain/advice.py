"""Advice on what to try next, in sentences that each rest on a number of the explanation."""

from __future__ import annotations

from collections.abc import Iterator

from rooftile.lab.show.explain.explanation import (
    ARITHMETIC,
    CACHES,
    MEMORY,
    STEPS,
    Explanation,
)
from rooftile.lab.show.explain.kernels import KernelView

_NEAR = 0.75
"""A strategy that reaches this share of its bound can gain little more under it."""
_FAR = 0.4
"""A strategy below this share of its bound waits for something that the bound does not know."""
_BEYOND = 1.05
"""A strategy above this share of its bound shows that the bound does not hold for it."""
_LOW_OCCUPANCY = 0.3
"""Below this occupancy too few warps may be there to hide latency."""
_FILLED = 0.75
"""Share of the blocks that a device holds, from which on more blocks gain little."""
_MANY_DIVERGE = 0.2
"""Above this share of the warps divergence is worth a sentence."""
_MANY_TURNS = 100
"""Atomics on one address for each step of a thread, from which on they are worth a sentence."""
_TWICE = 1.5
"""Loads of an element below which a tile saves none."""
_MUCH = 0.01
"""Share of the bytes below which a kernel's grid does not matter."""
_MOST_SENTENCES = 2


def advice(found: Explanation) -> list[str]:
    """At most two sentences, the more telling first."""
    rules = (_beyond, _working, _device_filled, _banks, _contention, _bound, _latency, _divergence)
    sentences = [sentence for rule in rules for sentence in rule(found)]
    if not sentences:
        sentences = ["Nothing here stands out: measure (rooftile climb), or read the counters."]
    return sentences[:_MOST_SENTENCES]


def _beyond(found: Explanation) -> Iterator[str]:
    share = found.bound_fraction
    if share is not None and share > _BEYOND:
        yield (
            f"It takes {1 / share:.2f} times its bound, which counts accesses as the kernel's text "
            "has them: the compiler keeps values that the text reads again, or the caches hold the "
            "arrays from launch to launch."
        )


def _working(found: Explanation) -> Iterator[str]:
    """Kernels that leave most multiprocessors without a block, where they take most of the time."""
    there, bound = found.target.multiprocessors, found.bound_ms
    if there is None or not bound:
        return
    for kernel, took in zip(found.kernels, found.kernels_ms, strict=True):
        working = kernel.working(there)
        if working <= _FAR * there and took > _FAR * bound and not _is_near(found):
            threads = kernel.grid.block_threads * kernel.most_blocks
            yield (
                f"{kernel.name} works on {working} of {there} multiprocessors with {threads:,} "
                f"thread{'' if threads == 1 else 's'}: its work in more blocks would use the "
                "others."
            )
            return


def _device_filled(found: Explanation) -> Iterator[str]:
    for kernel in found.kernels:
        if kernel.spill_bytes:
            yield (
                f"{kernel.name} keeps {kernel.spill_bytes} bytes a thread in local memory: a "
                "smaller tile a thread would keep them in registers."
            )
        there = found.target.multiprocessors
        few = kernel.waves is not None and kernel.waves < _FILLED
        if few and there is not None and kernel.working(there) <= _FAR * there:
            continue  # `_working` says so where it matters.
        if few and _moves_much(kernel, found) and not _is_near(found):
            yield (
                f"{kernel.name} has {kernel.grid.block_count} blocks, {kernel.waves:.0%} of what "
                "the device holds at a time: smaller tiles, or sums shared out, would fill it."
            )


def _banks(found: Explanation) -> Iterator[str]:
    """Lanes that meet in a bank, where L1 and shared memory bind."""
    for kernel in found.kernels:
        made = kernel.accesses
        if found.bound_by == CACHES and made and made.conflicts > made.shared_reads:
            passes = 1 + made.conflicts / made.shared_reads
            yield (
                f"A read of {kernel.name} takes {passes:.2g} passes of shared memory, since lanes "
                "meet in a bank: threads that read neighbours, or a gap after each row, keep them "
                "apart."
            )
            return


def _contention(found: Explanation) -> Iterator[str]:
    """Atomics that wait for one address longer than a thread computes."""
    for kernel in found.kernels:
        made = kernel.accesses
        if made and made.turns_if_equal > _MANY_TURNS * max(1.0, made.steps):
            yield (
                f"{kernel.name} has up to {made.turns_if_equal:.3g} atomics on one address, one "
                "after another: copies for each block or lane, or adding neighbours up first, "
                "would shorten that queue."
            )
            return


def _bound(found: Explanation) -> Iterator[str]:
    share = found.bound_fraction
    if found.bound_ms is None or (share or 0) > _BEYOND:
        return
    at_floor = found.floor_ms is not None and found.bound_ms <= found.floor_ms / _NEAR
    if share is not None and share >= _NEAR and at_floor:
        yield (
            f"It takes {1 / share:.2f} times its bound, which is the problem's own floor: what is "
            "left are fewer FLOPs (a transform) or fewer bytes (a lower precision)."
        )
        return
    if found.bound_by == STEPS:
        yield _steps(found)
    elif found.bound_by == CACHES:
        yield _caches(found)
    elif found.bound_by == MEMORY and found.moved_bytes > 1.5 * found.problem.bytes:
        ratio = found.moved_bytes / found.problem.bytes
        yield (
            f"Its kernels move {ratio:.1f} times the compulsory bytes: fusing them would keep "
            "intermediate results out of device memory."
        )
    elif found.bound_by == MEMORY and any(kernel.accesses is None for kernel in found.kernels):
        counted = "" if share is None else f", and it takes {1 / share:.3g} times as long as they"
        yield (
            "Only the bytes that it must move are counted, since the loads of its threads have no "
            f"model{counted}: rooftile climb measures it, and --profile counts what it loads."
        )
    elif found.bound_by == MEMORY and share is not None and share < _NEAR:
        return  # Memory does not hold it up.
    elif found.bound_by == MEMORY:
        ratio = found.moved_bytes / found.problem.bytes
        yield (
            f"Device memory bounds it, and it moves {ratio:.3g} times the compulsory bytes: only "
            "fusing it with its neighbours, or a narrower type, saves more."
        )
    elif found.bound_by == ARITHMETIC and share is None:
        yield (
            "Arithmetic bounds it, as it does the problem: how near it comes, rooftile climb "
            "measures."
        )
    elif found.bound_by == ARITHMETIC and share is not None and _FAR <= share < _NEAR:
        yield (
            f"Arithmetic bounds it, and it takes {1 / share:.2f} times as long: more multiply-adds "
            "for each instruction that is none (a larger tile a thread) would bring it nearer."
        )


def _caches(found: Explanation) -> str:
    """Advice where L1 and shared memory bind: which of the two, and what lowers its reads."""
    counted = [k.accesses for k in found.kernels if k.accesses is not None]
    shared = sum(a.shared_reads for a in counted)
    passes = sum(a.cache_passes for a in counted)
    operations = sum(a.operations for a in counted)
    adds = (operations or found.problem.flops / 2) / 32 / passes
    what = "operations" if operations else "multiply-adds"
    if shared > passes / 2:
        return (
            f"A read of shared memory serves {adds:.2g} {what} of its warp: several "
            "results a thread, in registers, would share each value."
        )
    if (found.input_loads or 0) < _TWICE:
        return (
            "No element is loaded twice, and a load moves little: vectors of 16 bytes a thread, "
            "whose lanes follow each other, would take fewer requests and sectors."
        )
    return (
        f"Every element is loaded {found.input_loads or 0:.0f} times from global memory, and a "
        f"read serves {adds:.2g} {what} of its warp: a tile in shared memory or in "
        "registers would be loaded once for many."
    )


def _steps(found: Explanation) -> str:
    """The kernel whose threads wait longest for their own results."""
    kernel, _ = max(zip(found.kernels, found.kernels_ms, strict=True), key=lambda pair: pair[1])
    steps = kernel.accesses.steps if kernel.accesses is not None else 0.0
    return (
        f"{kernel.name} makes {steps:,.0f} steps one after another, each of which waits for the "
        "one before: more threads, or several independent results a thread, shorten "
        "that chain."
    )


def _latency(found: Explanation) -> Iterator[str]:
    share, kernel = found.bound_fraction, _largest(found)
    held = kernel.occupancy
    if held is not None and held.occupancy < _LOW_OCCUPANCY and not _is_near(found):
        yield (
            f"{kernel.name} holds {held.warps} warps a multiprocessor ({held.occupancy:.0%}), "
            f"bound by {' and '.join(held.binding)}: lowering that gives more warps to hide "
            "latency with."
        )
    elif share is not None and share < _FAR:
        yield (
            f"It takes {1 / share:.3g} times its bound and no resource explains it: latency or "
            "instructions do; --profile shows the stalls."
        )


def _divergence(found: Explanation) -> Iterator[str]:
    kernel = _largest(found)
    share = kernel.divergent_share
    if share is not None and share > _MANY_DIVERGE:
        yield (
            f"{share:.0%} of the warps of {kernel.name} diverge at a guard: tiles that divide the "
            "result, or fit it closely, would idle fewer threads."
        )


def _moves_much(kernel: KernelView, found: Explanation) -> bool:
    """True if a kernel has a share of the bytes that is worth a sentence."""
    return kernel.sums or kernel.read_bytes + kernel.written_bytes > _MUCH * found.moved_bytes


def _is_near(found: Explanation) -> bool:
    return found.bound_fraction is not None and found.bound_fraction >= _NEAR


def _largest(found: Explanation) -> KernelView:
    """The kernel that computes the sums."""
    return next((k for k in found.kernels if k.sums), found.kernels[0])
