"""Adapters of cases on launches, divergence and occupancy."""

from __future__ import annotations

from rooftile.analysis import divergence, launch, occupancy
from rooftile.analysis.architectures import Multiprocessor

from .case_registry import ADAPTERS, Inputs, adapter, direct


@adapter
def launch_1d(i: Inputs) -> object:
    grid = launch.covering([i["n"]], [i["threads_per_block"]], [i["elems_per_thread"]])
    return {
        "blocks": grid.block_count, "threads": grid.threads, "warps_per_block": grid.block_warps()
    }  # fmt: skip


@adapter
def launch_2d(i: Inputs) -> object:
    size, block = (i["width"], i["height"]), (i["block_x"], i["block_y"])
    grid = launch.covering(size, block, (i["coarsen_x"], i["coarsen_y"]))
    x, y = grid.blocks
    return {"blocks": grid.block_count, "grid_x": x, "grid_y": y, "warps": grid.warps()}


@adapter
def launch_3d(i: Inputs) -> object:
    grid = launch.covering(i["size"], i["out_tile"])
    return {"blocks": grid.block_count, "grid": list(grid.blocks)}


@adapter
def variable_copies(i: Inputs) -> object:
    grid = launch.Grid((i["blocks"],), (i["threads_per_block"],))
    return launch.variable_copies(grid, i["scope"])


@adapter
def cnn_grid(i: Inputs) -> object:
    grid = launch.conv_layer_grid(i["m"], i["h_out"], i["w_out"], i["tile"])
    return {"grid_x": grid.blocks[0], "grid_y": grid.blocks[1], "blocks": grid.block_count}


@adapter
def fused_grid(i: Inputs) -> object:
    grid = launch.fused_unroll_grid(i["b"], i["m"], i["h_out"], i["w_out"], i["tile"])
    return {"grid": list(grid.blocks), "blocks": grid.block_count}


@adapter
def unrolled_stream_grids(i: Inputs) -> object:
    pixels, tile = i["h_out"] * i["w_out"], i["tile"]
    return {
        "unroll_x": launch.covering([i["w_out"], i["h_out"]], [tile, tile]).block_count,
        "matmul_x": launch.covering([i["batch_per_stream"] * pixels], [tile]).block_count,
        "permute_x": launch.covering([pixels], [i["permute_block"]]).block_count,
    }


direct(
    "divergence_2d_guard", divergence.guard_2d,
    "width", "height", "block_x", "block_y", "warp_size",
)  # fmt: skip
direct("divergence_matmul_load", divergence.matmul_load, "width", "tile", "warp_size")
direct(
    "divergence_matmul_load_2x2", divergence.matmul_load_2x2,
    "m_rows", "m_cols", "p_cols", "tile", "block", "warp_size",
)  # fmt: skip
direct("divergence_matmul_strip", divergence.matmul_strip, "width", "tile", "warp_size")
direct("divergence_conv_strategy2", divergence.conv_input_block, "out_tile", "mask", "warp_size")
direct("divergence_linear_stage_load", divergence.conv_linear_load, "in_tile", "mask", "warp_size")


@adapter
def divergence_1d_guard(i: Inputs) -> object:
    return _places(
        divergence.guard_1d(i["n"], i["elems_per_thread"], i["threads_per_block"], i["warp_size"])
    )


@adapter
def divergence_grid_stride(i: Inputs) -> object:
    return _places(
        divergence.grid_stride(i["n"], i["blocks"], i["threads_per_block"], i["warp_size"])
    )


@adapter
def divergence_reduction(i: Inputs) -> object:
    found = divergence.reduction_step(i["threads"], i["stride"], i["mapping"], i["warp_size"])
    return {
        "active_threads": found.active_threads,
        "active_warps": found.active_warps,
        "divergent_warps": found.divergent_warps,
    }


@adapter
def reduction_passes(i: Inputs) -> object:
    passes, diverging = divergence.reduction_passes(i["threads"], i["mapping"], i["warp_size"])
    return {"passes": passes, "passes_with_divergence": diverging}


@adapter
def divergence_scan(i: Inputs) -> object:
    found = divergence.scan_step(i["algorithm"], i["n"], i["stride"], i["warp_size"])
    return {"active_threads": found.active_threads, "divergent_warps": found.divergent_warps}


@adapter
def divergence_block_values(i: Inputs) -> object:
    sizes = i["cols"], i["rows"], i["tile_cols"], i["tile_rows"]
    return sorted(divergence.block_values(*sizes, i["warp_size"]), reverse=True)


def _places(found: list[divergence.Place]) -> object:
    return {"divergent_warps": len(found), "where": [list(place) for place in found]}


@adapter
def occupancy_(i: Inputs) -> object:
    found = occupancy.occupancy(
        _multiprocessor(i),
        i["threads_per_block"],
        registers=i.get("regs_per_thread") or 0,
        shared_bytes=i.get("smem_per_block") or 0,
        block_registers=i.get("regs_per_block"),
    )
    return {
        "blocks_per_sm": found.blocks,
        "threads_per_sm": found.threads,
        "warps_per_sm": found.warps,
        "occupancy": found.occupancy,
    }


ADAPTERS["occupancy"] = ADAPTERS.pop("occupancy_")


@adapter
def pending_loads(i: Inputs) -> object:
    found = occupancy.occupancy(
        _multiprocessor(i), i["threads_per_block"], shared_bytes=i["smem_per_block"]
    )
    pending = occupancy.pending_loads(found.blocks, i["loads_per_block"])
    return {"blocks_per_sm": found.blocks, "pending_loads": pending}


def _multiprocessor(i: Inputs) -> Multiprocessor:
    return Multiprocessor(
        threads=i["max_threads_per_sm"],
        blocks=i["max_blocks_per_sm"],
        registers=i.get("regs_per_sm"),
        shared_bytes=i.get("smem_per_sm"),
        warps=i.get("max_warps_per_sm"),
    )
