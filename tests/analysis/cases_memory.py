"""Adapters of cases on accesses, traffic, bounds and layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from rooftile.analysis import access, bounds, layers, traffic
from rooftile.ops import Conv2d

from .case_registry import Inputs, adapter, direct

direct("peak_gflops", bounds.peak_gflops, "cores", "clock_mhz")
direct("kernel_rate", bounds.rate_gflops, "flop", "seconds")
direct("matmul_flops", layers.matmul_flops, "m", "k", "n")


@adapter
def bandwidth_bound(i: Inputs) -> object:
    given = i["bandwidth_gb_s"], i["bytes_per_flop"]
    rate, peak = bounds.bandwidth_rate(*given), i.get("peak_gflops")
    if peak is None:
        return {"gflops": rate}
    percent, reuse = bounds.percent_of_peak(rate, peak), bounds.reuse_needed(*given, peak)
    return {"gflops": rate, "percent_of_peak": percent, "reuse_needed": reuse}


@adapter
def tiled_matmul_bound(i: Inputs) -> object:
    rate = bounds.tiled_matmul_rate(i["bandwidth_gb_s"], i["reuse"])
    return {"gflops": rate, "traffic_fraction": 1 / i["reuse"]}


@adapter
def rect_tile_reuse(i: Inputs) -> object:
    rows, columns = traffic.rectangular_reuse(i["m_tile"], i["n_tile"])
    return {"out_tile": [rows, columns], "reuse_m": columns, "reuse_n": rows}


@adapter
def tiled_conv_percent_peak(i: Inputs) -> object:
    dims, rates = i["dims"], (i["peak_gflops"], i["bandwidth_gb_s"])
    tile = [i["out_tile"]] * dims
    return [bounds.tiled_conv_percent(tile, [m] * dims, *rates) for m in i["masks"]]


@adapter
def tiled_conv_percent_peak_rect(i: Inputs) -> object:
    tile, mask = i["out_tile"], i["mask"]
    widths = mask if isinstance(mask, list) else [mask] * len(tile)
    return bounds.tiled_conv_percent(tile, widths, i["peak_gflops"], i["bandwidth_gb_s"])


@adapter
def conv_time_from_rate(i: Inputs) -> object:
    flop = layers.conv_flops(i["m"], i["c"], i["k"], i["h_out"], i["w_out"], i["batch"])
    return {"flop": flop, "seconds": bounds.seconds_at(flop, i["gflops"])}


direct(
    "strided_bandwidth", access.strided_bandwidth,
    "peak_gb_s", "burst_bytes", "elem_bytes", "stride_elems", "offsets",
)  # fmt: skip
direct(
    "bursts_per_tile", access.bursts_of_tile, "tile_rows", "tile_cols", "elem_bytes", "burst_bytes"
)


@adapter
def row_segments_per_tile(i: Inputs) -> object:
    return access.row_segments(traffic.input_tile(i["out_tile"], i["mask"]))


_FAR = 1000
"""The matrices' width: any that is more than 1."""
_READS = {
    "basic": {"M": (0, _FAR), "N": (1, 0)},
    "basic_M_transposed": {"M": (0, 1), "N": (1, 0)},
    "tiled": {"M": (1, _FAR), "N": (1, _FAR)},
    "tiled_M_transposed_naive": {"M": (_FAR, 1), "N": (1, _FAR)},
    "strip_1x16": {"M": (_FAR, 0), "N": (1, 0)},
}
"""How far an index moves with threadIdx.x and threadIdx.y."""


@adapter
def coalescing(i: Inputs) -> object:
    return {
        kernel: [name for name, strides in _READS[kernel].items() if access.coalesced(strides)]
        for kernel in i["kernels"]
    }


direct("tile_reuse_internal", traffic.conv_reuse, "out_tile", "mask")
direct("loads_per_output", traffic.loads_per_output, "out_tile", "mask")
direct("shared_bytes", traffic.shared_bytes, "arrays", "elem_bytes")


@adapter
def tile_reuse_table(i: Inputs) -> object:
    dims = i["dims"]
    return [traffic.conv_reuse([t] * dims, [i["mask"]] * dims) for t in i["out_tiles"]]


@adapter
def tile_reuse_strategy2(i: Inputs) -> object:
    return traffic.conv_reuse_input_block([i["block"]], [i["mask"]])


@adapter
def tile_reuse_boundary(i: Inputs) -> object:
    dims = i["dims"]
    tile = traffic.conv_first_tile([i["out_tile"]] * dims, [i["mask"]] * dims, [i["n"]] * dims)
    return {"accesses": tile.accesses, "loads": tile.loads, "ratio": tile.reuse}


@adapter
def input_tile_elements(i: Inputs) -> object:
    return int(np.prod(traffic.input_tile(i["out_tile"], i["mask"])))


@adapter
def tile_strategy3(i: Inputs) -> object:
    # tiling_reuse-28: the source turns 360 + 20 halo accesses into 360 - 20; counting every
    # access of the tile gives 380, and the other figures follow from it.
    tile = traffic.conv_core([i["tile"]] * i["dims"], [i["mask"]] * i["dims"])
    return {
        "global_loads": tile.global_loads,
        "global_loads_per_output": tile.loads_per_output,
        "halo_global_accesses": tile.halo_accesses,
        "shared_accesses": tile.shared_accesses,
        "shared_uses_per_element": tile.shared_uses,
    }


@adapter
def reuse_limit(i: Inputs) -> object:
    return traffic.conv_reuse_limit([i["mask"]] * i["dims"])


@adapter
def load_stages(i: Inputs) -> object:
    linear, shifted = traffic.load_stages([i["in_tile"]] * 2, [i["mask"]] * 2)
    return {"linear": linear, "shifted_2d": shifted}


@adapter
def conv_layer(i: Inputs) -> object:
    problem = Conv2d(i["b"], i["c"], i["h"], i["w"], i["m"], (i["k"], i["k"]))
    matrix = layers.unrolled(problem)
    return {
        "flop": problem.flops,
        "h_out": problem.output_size[0],
        "w_out": problem.output_size[1],
        "replication": matrix.replication,
        "unroll_cols": matrix.columns,
        "unroll_rows": matrix.rows,
    }


@adapter
def conv_layer_padded(i: Inputs) -> object:
    side = i["h_out"]
    return {
        "flop": layers.conv_flops(i["m"], i["c"], i["k"], side, side),
        "h_in": layers.padded_size(side, i["k"]),
        "h_pool": layers.pooled_size(side, i["pool"]),
    }


@adapter
def pool_size(i: Inputs) -> object:
    return [layers.pooled_size(i["h"], i["n"]), layers.pooled_size(i["w"], i["n"])]


@adapter
def mlp_parameters(i: Inputs) -> object:
    weights, biases = layers.mlp_parameters(i["layers"])
    return {"biases": biases, "total": weights + biases, "weights": weights}


@adapter
def fc_bytes_rate(i: Inputs) -> object:
    return bounds.rate_gb_s(4 * i["rows"] * i["cols"], i["seconds"])


@adapter
def conv2d_valid_multi(i: Inputs) -> object:
    x, weights = (np.array([i[name]], dtype=np.float32) for name in "xw")
    return _conv2d(x, weights).tolist()


@adapter
def conv2d_at(i: Inputs) -> object:
    x, weights = (np.array([[i[name]]], dtype=np.float32) for name in "nm")
    padding = weights.shape[2] // 2, weights.shape[3] // 2
    result = _conv2d(x, weights, padding)
    return [float(result[row, column]) for row, column in i["at"]]


def _conv2d(x: Any, weights: Any, padding: tuple[int, int] = (0, 0)) -> Any:
    problem = Conv2d(*x.shape, 1, weights.shape[2:], padding=padding)
    return problem.reference(x, weights, np.zeros(1, dtype=np.float32))[0, 0]
