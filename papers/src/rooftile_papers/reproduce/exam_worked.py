"""Printed tables and worked answers that a calculation confirms, but for how they were rounded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rooftile.analysis import (
    access,
    bounds,
    divergence,
    launch,
    layers,
    occupancy,
    speedup,
    traffic,
    transfers,
    work,
)
from rooftile.analysis.machines import EXERCISES
from rooftile.ops import Conv2d
from rooftile_papers.reproduce.exam_answers import Answer

_CUBE, _PRISM = (6, 6, 6), (14, 6, 6)
_VOLUME, _DEEP = (512, 768, 256), (3, 3, 5)
_CUT = "cut off, not rounded"
_EIGHT_BLOCKS = EXERCISES["1536 threads, 8 blocks"]
_LARGE = EXERCISES["2048 threads"]
_SMALL = EXERCISES["1536 threads, 12 blocks"]


def _reuse_tables() -> Iterator[tuple[str, float, str]]:
    for dims, cells in (
        (1, [(128, 5), *((2**k, 9) for k in range(4, 9))]),
        (2, [(2**k, 5) for k in range(3, 7)]),
    ):
        for tile, mask in cells:
            value = traffic.conv_reuse((tile,) * dims, (mask,) * dims)
            padded = (tile + mask - 1) ** dims
            reason = f"{tile**dims * mask**dims} / {padded}" if dims == 1 else _CUT
            yield f"reuse {dims}d/{tile}, mask {mask}", value, reason
    for dims, tile, masks in ((1, 1024, (5, 9, 15, 55)), (2, 32, (3, 5, 7, 9))):
        for mask in masks:
            value = bounds.tiled_conv_percent((tile,) * dims, (mask,) * dims, 5000, 192)
            reason = "99.5, which it calls almost 100" if mask == 9 else _CUT
            yield f"peak {dims}d/{mask}", value, reason
    whole = traffic.output_tile((128, 64), (7, 7))
    share = bounds.tiled_conv_percent(whole, (7, 7), 5000, 192)
    yield "whole tile/128x64", share, "a tile of 122 x 58 outputs"
    for dims, tile in ((1, 8), (2, 16)):
        edge = traffic.conv_first_tile((tile,) * dims, (5,) * dims, (1_000_000,) * dims)
        reason = f"a tile of {tile}, mask 5, two ghost cells at its end"
        yield f"boundary/{dims}d accesses", edge.accesses, reason
        yield f"boundary/{dims}d loads", edge.loads, reason


def _tiles() -> Iterator[tuple[str, float, str]]:
    for name, tile in (("8x4x2", (8, 4, 2)), ("2x4x8", (2, 4, 8))):
        rows = access.row_segments(traffic.input_tile(tile, _DEEP))
        yield f"row reads/{name}", rows, "rows of the input tile"
    for name, tile in (("8x4x2", (8, 4, 2)), ("4x4x4", (4, 4, 4))):
        reason = "the input tile has 360 elements, or 288"
        yield f"two tiles/{name}", traffic.conv_reuse(tile, _DEEP), reason
    for name, wide in (("6x3", 6), ("8x3", 8)):
        yield f"two outputs/{name}", traffic.conv_reuse((wide, 3), (3, 3)), "9 uses an output"
    for out in (8, 10):
        loads = traffic.loads_per_output((out,) * 3, (3,) * 3)
        yield f"larger output/{out}", loads, "the input tile over the output tile"
    yield "video/loads", traffic.input_tile((16,) * 3, _DEEP)[0] ** 2 * 20, "18 x 18 x 20"
    yield "video/uses", 45 * 16**3, "45 taps of 4096 outputs"
    for name, tile in (("cube", _CUBE), ("prism", _PRISM)):
        grid = launch.covering(_VOLUME, tile)
        yield f"volume/blocks, {name}", grid.block_count, "a block an output tile"
        yield f"volume/reuse, {name}", traffic.conv_reuse(tile, (3,) * 3), "27 uses an output"
    linear, _ = traffic.load_stages((16, 16), (7, 7))
    yield "staged load/stages", linear, "256 elements by 100 threads"
    diverging = divergence.conv_linear_load(16, 7)
    yield "staged load/divergent warps", diverging, "the warp that passes element 256"
    yield "core blocks/blocks", launch.covering((768, 512), (32, 32)).block_count, "24 x 16"
    grid = launch.conv_layer_grid(4, 8, 8, 4)
    yield "layer/grid x", grid.blocks[0], "maps"
    yield "layer/grid y", grid.blocks[1], "tiles of a map"
    yield "layer/reuse", traffic.conv_reuse((8, 8), (3, 3)), "576 / 100"
    replication = layers.unrolled(Conv2d(1, 3, 3, 3, 2, (2, 2))).replication
    yield "layer/replication", replication, "48 elements for 27"


def _launches() -> Iterator[tuple[str, float, str]]:
    for scope, blocks, threads in (
        ("local", 512, 256),
        ("shared", 1000, 512),
        ("local", 1000, 512),
    ):
        value = launch.variable_copies(launch.Grid((blocks,), (threads,)), scope)
        yield f"copies right/{scope} of {blocks}x{threads}", value, "one a thread, or one a block"
    for side in (8, 16, 32):
        held = occupancy.occupancy(_EIGHT_BLOCKS, side**2)
        yield f"granularity/{side}x{side}", held.threads, "whole blocks within both limits"
    yield "scheduling/warps", 3 * 256 / 32, "8 a block"
    yield "strip/bound, strip", bounds.tiled_matmul_rate(150, 16), "each element is used 16 times"
    yield "strip/bound, 8x8", bounds.tiled_matmul_rate(150, 8), "each element is used 8 times"
    yield "strip/divergent warps, strip", divergence.matmul_strip(632, 16), "counted by simulation"
    for name, tile, sm, loads in (
        ("tile 16", 16, _LARGE, 512),
        ("tile 32", 32, _LARGE, 2048),
        ("tile 8, 5120 bytes", 8, _SMALL, 128),
        ("strip, 5120 bytes", 16, _SMALL, 32),
    ):
        held = occupancy.occupancy(sm, tile**2, shared_bytes=4 * loads)
        pending = occupancy.pending_loads(held.blocks, loads)
        yield f"pending/{name}", pending, f"{held.blocks} blocks of {loads} loads"
    two = divergence.matmul_load_2x2(80, 104, 80, 16, 8)
    yield "two by two/divergent", two, "counted by simulation"
    yield "input block/divergent", divergence.conv_input_block(30, 3), "warps 30 and 31 idle whole"
    yield "tree/passes", divergence.reduction_passes(1024, "sequential")[0], "log2 of 2048"
    active = divergence.reduction_step(1024, 4, "compacted").active_warps
    yield "compacted/active", active, "256 threads"


def _work() -> Iterator[tuple[str, float, str]]:
    yield "profiled/kernel", bounds.rate_gflops(40e6, 0.25e-3), "the kernel's time alone"
    yield "profiled/end to end", bounds.rate_gflops(40e6, 1e-3), "first copy to last copy"
    faster = speedup.part_speedup(1e-3, 0.25e-3, 2)
    yield "profiled/faster kernel", bounds.rate_gflops(40e6, 1e-3 / faster), "0.875 ms"
    yield "copy rate/rate", bounds.rate_gb_s(80_000, 0.025e-3), "bytes over seconds"
    for name, size, stride, offsets in (
        ("4, two offsets", 4, 4, (0, 1)),
        ("8, float", 4, 8, (0,)),
        ("8, double", 8, 8, (0,)),
    ):
        value = access.strided_bandwidth(240, 512, size, stride, offsets)
        yield f"strided/{name}", value, "the used share of each burst"
    done = work.reduction(1_000_000)
    yield "tournament/steps", done.steps, "log2 of a million, rounded up"
    yield "tournament/average", done.average_parallelism, "999,999 operations in 20 steps"
    yield "tournament/peak", done.peak_parallelism, "the first step"
    launches = work.hierarchical_scan_launches(2**30, 1024, 2048)
    yield "launches/2^30", launches, "scans of sections, of their sums, and additions"
    busy = 100 * work.brent_kung_coarse(2048, 1024).utilisation
    yield "one thread an element/busy, %", busy, "4083 additions in 21 steps of 1024 threads"
    each = work.brent_kung_coarse(2048, 64).work_ratio
    yield "one thread an element/work", each, "1024 / 64"
    prices = work.histogram(4096, 4096, 8, 256)
    yield "histogram/reads", prices.global_reads, "a price once"
    yield "histogram/shared atomics", prices.shared_atomics, "one a price"
    yield "histogram/global atomics", prices.global_atomics, "8 blocks flush 256 bins"
    hot = work.histogram(10_000_000, 8_000_000, 1000, 256)
    yield "hot bins/shared", hot.shared_atomics, "80 % of the items"
    yield "hot bins/global", hot.global_atomics, "the rest, and 1000 flushes of 256 bins"
    for share, copies in ((0.25, 1), (0.25, 16), (0.9, 1), (0.8, 16)):
        ms = 1e-6 * work.histogram_ns(30_000, share, 1, 10_000, 100, copies)
        label = f"{share:g}, {copies} cop{'y' if copies == 1 else 'ies'}"
        yield f"vote times/{label}", ms, "serial updates of the most frequent bin, and its flushes"


def _links() -> Iterator[tuple[str, float, str]]:
    for bits, clock in ((32, 33), (64, 66)):
        yield f"pci/{bits} bits", transfers.parallel_bus_mb_s(clock, bits), "clock x width"
    yield "links/16 lanes", transfers.pcie_bandwidth(8, (128, 130), 16), "8 GT/s x 128/130 x 16 / 8"
    least, most = transfers.code_balance(130, 128)
    yield "link code/least", least, "two bits are spare"
    yield "link code/most", most, "two bits are spare"
    for more, fewer in ((15, 3), (15, 1), (3, 1)):
        value = transfers.overhead_threshold(45, 15, more, fewer)
        yield f"sections/{more} to {fewer}", value, "where both take the same time"
    yield "amdahl/limit", speedup.amdahl_limit(0.75), "1 / 0.25"
    for name, cores, clock in (("GK107", 384, 1058), ("GM107", 640, 1020)):
        yield f"rates/{name}", bounds.peak_gflops(cores, clock), "2 x cores x clock"
    for tile in (1, 16, 32):
        value = bounds.tiled_matmul_rate(150, tile)
        yield f"bounds/{tile}", value, "reuse x bandwidth / 4 bytes"


ANSWERS: Mapping[str, Answer] = {
    f"course.{name}": Answer(lambda value=value: float(value), reason)  # type: ignore[misc]
    for part in (_reuse_tables, _tiles, _launches, _work, _links)
    for name, value, reason in part()
}
"""By the id of the printed number."""
