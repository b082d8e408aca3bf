"""Adapters of cases on work, sparse formats, transfers and speed-up."""

from __future__ import annotations

from rooftile.analysis import bounds, sparse, speedup, transfers, work

from .case_registry import Inputs, adapter, direct

direct("grid_stride_iterations", work.grid_stride_passes, "items", "blocks", "threads_per_block")
direct(
    "hierarchical_launches", work.hierarchical_scan_launches, "n", "threads_per_block", "max_blocks"
)
direct(
    "histogram_serial_time", work.histogram_serial_ns,
    "items", "hot", "shared_ns", "global_ns", "flush_bins",
)  # fmt: skip
direct(
    "histogram_time", work.histogram_ns,
    "items_per_block", "top_bin_fraction", "shared_ns", "blocks", "global_ns", "global_copies",
)  # fmt: skip


@adapter
def scan_cost(i: Inputs) -> object:
    # scan_reduction-01: the source marks 45057, the cost at n = 4096; the scan in question is
    # that of the 1024 section ends.
    found = work.scan(i["algorithm"], i["n"])
    return {"adds": found.adds, "passes": found.passes}


@adapter
def reduction_cost(i: Inputs) -> object:
    found = work.reduction(i["n"])
    return {
        "average_parallelism": found.average_parallelism,
        "operations": found.operations,
        "peak_parallelism": found.peak_parallelism,
        "steps": found.steps,
    }


@adapter
def brent_kung_coarse(i: Inputs) -> object:
    found = work.brent_kung_coarse(i["section"], i["threads"])
    return {
        "part_steps": found.part_steps,
        "utilisation": found.utilisation,
        "work_ratio": found.work_ratio,
    }


@adapter
def atomic_throughput(i: Inputs) -> object:
    found = work.atomics(i["l2_ns"], i["dram_ns"], i["l2_hit"], i["flops_per_atomic"])
    return {"gatomics_s": found.gatomics, "gflops": found.gflops, "latency_ns": found.latency_ns}


@adapter
def atomic_hit_rate(i: Inputs) -> object:
    latency = work.atomic_latency_for(
        gatomics=i.get("target_gatomics_s"),
        gflops=i.get("target_gflops"),
        flops=i["flops_per_atomic"],
        flop_ns=i["flop_ns"],
    )
    return work.hit_rate(i["l2_ns"], i["dram_ns"], latency)


@adapter
def histogram_ops(i: Inputs) -> object:
    found = work.histogram(i["items"], i["items_private"], i["blocks"], i["private_bins"])
    return {
        "global_atomics": found.global_atomics,
        "global_reads": found.global_reads,
        "global_writes": found.global_writes,
        "shared_atomics": found.shared_atomics,
    }


direct("storage_arrays", sparse.storage, "matrix", "format")
direct("storage_integers", sparse.storage_integers, "format", "rows", "cols", "nnz", "max_row")
direct("ell_padding", sparse.ell_padding, "rows", "nnz", "max_row")


@adapter
def layout_formats(i: Inputs) -> object:
    found = (sparse.formats_of(i["matrix"], layout) for layout in i["layouts"])
    return [[form.upper() for form in forms] for forms in found]


@adapter
def vector_reuse(i: Inputs) -> object:
    matrix, vector = sparse.spmv_reuse(i["cols"], i["nnz"])
    return {"matrix": matrix, "vector": vector}


_LENGTHS = {
    "very": [0] * 90 + [1] * 10,
    "random": [4, 5, 5, 6] * 25,
    "band": [3] * 100,
    "triang": list(range(1, 101)),
    "varia": [4] * 98 + [100] * 2,
}
"""Rows of a matrix of each pattern, by a word of its name."""


@adapter
def format_choice(i: Inputs) -> object:
    chosen = []
    for pattern in i["patterns"]:
        lengths = pattern
        if isinstance(pattern, str):
            lengths = next(rows for word, rows in _LENGTHS.items() if word in pattern.lower())
        chosen.append(sparse.suggested_format(lengths).upper())
    return chosen


direct("parallel_bus", transfers.parallel_bus_mb_s, "clock_mhz", "width_bits")
direct("pcie_bandwidth", transfers.pcie_bandwidth, "gt_s", "encoding", "lanes")
direct("copy_rate", bounds.rate_gb_s, "bytes", "seconds")
direct(
    "pipeline_overhead_threshold", transfers.overhead_threshold,
    "in_s", "out_s", "segments_from", "segments_to",
)  # fmt: skip


@adapter
def code_balance(i: Inputs) -> object:
    return list(transfers.code_balance(i["word_bits"], i["data_bits"]))


@adapter
def transfer_speedup(i: Inputs) -> object:
    # transfer_streams-07: the source derives 0.78 and then marks the choice "8x slow-down".
    copied = 1e6 * i["in_mb"], 1e6 * i["out_mb"]
    return transfers.gpu_speedup(i["cpu_s"], i["kernel_s"], *copied, i["link_gb_s"])


@adapter
def pipeline_segments(i: Inputs) -> object:
    pipeline = transfers.Pipeline(i["in_s"], i["compute_s"], i["out_s"], i["overhead_s"])
    best = pipeline.best_segments()
    return {"best_segments": list(best), "time_s": pipeline.seconds(best[0])}


@adapter
def copy_overlap(i: Inputs) -> object:
    ops = [(kind, stream) for kind, stream in i["ops"]]
    return {
        name: [list(p) for p in sorted(transfers.overlapping_copies(ops, issue_order=ordered))]
        for name, ordered in (("issue_order", True), ("pairwise", False))
    }


direct("amdahl_limit", speedup.amdahl_limit, "parallel_fraction")
direct("speedup", speedup.speedup, "t_seq", "t_par")
direct("time_reduction_percent", speedup.percent_saved, "old", "new")


@adapter
def amdahl_speedup(i: Inputs) -> object:
    factor = speedup.part_speedup(i["total_s"], i["part_s"], i["part_speedup"])
    return {"gflops": bounds.rate_gflops(i["flop"], i["total_s"] / factor), "speedup": factor}


@adapter
def speedup_efficiency(i: Inputs) -> object:
    times = i["t_seq"], i["t_par"]
    return {"efficiency": speedup.efficiency(*times, i["p"]), "speedup": speedup.speedup(*times)}
