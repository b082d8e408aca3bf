"""Steps, operations and launches of reductions and scans; atomics and histograms.

Source: PMPP, chapters 9 (histograms), 10 (reductions) and 11 (scans).  Times are in ns, so
rates in 1e9 a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rooftile.analysis._checks import check_above_zero, check_not_negative, check_share
from rooftile.analysis.divergence import ScanAlgorithm
from rooftile.analysis.launch import ceil_div
from rooftile.errors import InputError
from rooftile.ops.checks import check_positive


@dataclass(frozen=True)
class Reduction:
    """A tree reduction."""

    operations: int
    steps: int
    peak_parallelism: int
    """Operations of the first step."""

    @property
    def average_parallelism(self) -> float:
        """Operations a step."""
        return self.operations / self.steps if self.steps else 0.0


def reduction(n: int) -> Reduction:
    """n - 1 operations in ceil(log2 n) steps, the first of n div 2.  PMPP, section 10.2."""
    check_positive(n=n)
    return Reduction(n - 1, (n - 1).bit_length(), n // 2)


@dataclass(frozen=True)
class BlockScan:
    """One block's scan."""

    adds: int
    passes: int


def scan(algorithm: ScanAlgorithm, n: int) -> BlockScan:
    """Useful additions and passes of one block's inclusive scan of n elements.

    ``kogge_stone``: n - stride a pass, so n log2 n - (n - 1) in log2 n passes.  ``brent_kung``:
    2n - 2 - log2 n in 2 log2 n - 1 passes (for a power of two; others are counted pass by
    pass).  PMPP, sections 11.2 to 11.4.
    """
    adds = list(_scan_adds(algorithm, n))
    return BlockScan(sum(adds), len(adds))


def hierarchical_scan_launches(n: int, threads: int, max_blocks: int) -> int:
    """Launches of the block-scan kernel where a block scans 2 x threads elements.

    The blocks' sums are scanned in turn, until one block does; a level of b blocks takes
    ceil(b / max_blocks) launches.  PMPP, section 11.6.
    """
    check_positive(n=n, threads=threads, max_blocks=max_blocks)
    launches, blocks = 0, n
    while True:
        blocks = ceil_div(blocks, 2 * threads)
        launches += ceil_div(blocks, max_blocks)
        if blocks == 1:
            return launches


@dataclass(frozen=True)
class CoarseScan:
    """Brent-Kung on a section by fewer threads than it has pairs."""

    work_ratio: float
    """Pairs over threads: work of a thread, relative to one thread a pair."""
    part_steps: int
    """Passes, each as often as the threads must go round."""
    utilisation: float
    """Additions over part-steps x threads."""


def brent_kung_coarse(section: int, threads: int) -> CoarseScan:
    """A pass of a additions takes ceil(a / threads) part-steps.  PMPP, sections 11.4 and 11.5."""
    check_positive(section=section, threads=threads)
    adds = [count for count in _scan_adds("brent_kung", section) if count]
    if not adds:
        raise InputError("section", section, "at least 2 elements")
    part_steps = sum(ceil_div(count, threads) for count in adds)
    return CoarseScan(section / 2 / threads, part_steps, sum(adds) / (part_steps * threads))


@dataclass(frozen=True)
class Atomics:
    """Atomics on one address, one after another."""

    latency_ns: float
    gatomics: float
    """1e9 a second."""
    gflops: float


def atomics(l2_ns: float, dram_ns: float, l2_hit: float, flops_per_atomic: float = 0) -> Atomics:
    """latency = hit x l2 + (1 - hit) dram; rate = 1 / latency.  PMPP, section 9.3."""
    check_not_negative(l2_ns=l2_ns, dram_ns=dram_ns, flops_per_atomic=flops_per_atomic)
    check_share(l2_hit=l2_hit)
    latency = l2_hit * l2_ns + (1 - l2_hit) * dram_ns
    check_above_zero(latency=latency)
    return Atomics(latency, 1 / latency, flops_per_atomic / latency)


def hit_rate(l2_ns: float, dram_ns: float, latency_ns: float) -> float:
    """Share of hits for an average latency: (dram - latency) / (dram - l2).

    Raises `InputError` where no share gives it.
    """
    check_not_negative(l2_ns=l2_ns)
    check_above_zero(dram_ns=dram_ns)
    if l2_ns >= dram_ns or not l2_ns <= latency_ns <= dram_ns:
        raise InputError("latency_ns", latency_ns, f"from {l2_ns} (all hits) to {dram_ns} (none)")
    return (dram_ns - latency_ns) / (dram_ns - l2_ns)


def atomic_latency_for(
    *,
    gatomics: float | None = None,
    gflops: float | None = None,
    flops: float = 0,
    flop_ns: float = 0,
) -> float:
    """The latency of an atomic in ns, from a rate of atomics or of the FLOPs that come with them.

    1 / gatomics - flops flop_ns, or flops / gflops - flops flop_ns: an atomic comes with ``flops``
    FLOPs of ``flop_ns`` each, which do not overlap it.
    """
    check_not_negative(flops=flops, flop_ns=flop_ns)
    if (gatomics is None) == (gflops is None):
        raise InputError("gatomics", gatomics, "either a rate of atomics or one of FLOPs")
    if gflops is None:
        check_above_zero(gatomics=gatomics or 0)
        period = 1 / (gatomics or 1)
    else:
        check_above_zero(gflops=gflops, flops=flops)
        period = flops / gflops
    return period - flops * flop_ns


@dataclass(frozen=True)
class HistogramWork:
    """Accesses of a privatised histogram."""

    global_reads: int
    global_writes: int
    shared_atomics: int
    global_atomics: int


def histogram(items: int, private_items: int, blocks: int, private_bins: int) -> HistogramWork:
    """Accesses where each item is read once, and items of private bins count in shared memory.

    The others count in global memory at once; every block adds all its private bins to the global
    ones.

    global atomics = items - private_items + blocks private_bins.  PMPP, section 9.4.
    """
    check_not_negative(items=items, private_items=private_items, private_bins=private_bins)
    check_positive(blocks=blocks)
    if private_items > items:
        raise InputError("private_items", private_items, f"at most all {items} items")
    return HistogramWork(items, 0, private_items, items - private_items + blocks * private_bins)


def histogram_ns(
    block_items: float,
    top_share: float,
    shared_ns: float,
    blocks: int,
    global_ns: float,
    copies: int = 1,
) -> float:
    """Least time where only atomics cost time: those on one address follow each other.

    The busiest bin of a block, then the flushes into one bin of each of the global copies:
    block_items top_share shared_ns + ceil(blocks / copies) global_ns.  PMPP, section 9.4.
    """
    check_not_negative(block_items=block_items, shared_ns=shared_ns, global_ns=global_ns)
    check_share(top_share=top_share)
    check_positive(blocks=blocks, copies=copies)
    return block_items * top_share * shared_ns + ceil_div(blocks, copies) * global_ns


def histogram_serial_ns(
    items: float, hot: float, shared_ns: float, global_ns: float, flush_bins: int
) -> float:
    """The time of one block where every atomic waits for the one before.

    hot shared_ns + (items - hot) global_ns + flush_bins global_ns.
    """
    check_not_negative(
        items=items, hot=hot, shared_ns=shared_ns, global_ns=global_ns, flush_bins=flush_bins
    )
    if hot > items:
        raise InputError("hot", hot, f"at most all {items} items")
    return hot * shared_ns + (items - hot + flush_bins) * global_ns


def grid_stride_passes(items: int, blocks: int, threads: int) -> int:
    """Passes of a grid-stride loop: ceil(items / (blocks threads)).  PMPP, section 9.5."""
    check_positive(items=items, blocks=blocks, threads=threads)
    return ceil_div(items, blocks * threads)


def _scan_adds(algorithm: ScanAlgorithm, n: int) -> Iterator[int]:
    """Additions of each pass."""
    check_positive(n=n)
    if algorithm not in ("kogge_stone", "brent_kung"):
        raise InputError("algorithm", repr(algorithm), "kogge_stone or brent_kung")
    strides = [1 << k for k in range((n - 1).bit_length())]
    if algorithm == "kogge_stone":
        yield from (n - stride for stride in strides)
        return
    yield from (n // (2 * stride) for stride in strides)
    # Down again: element 2 s j - 1 (j >= 1) is added to the one s beyond it.
    yield from ((n - stride) // (2 * stride) for stride in reversed(strides[:-1]))
