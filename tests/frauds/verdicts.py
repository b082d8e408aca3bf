"""Which check each kernel of the folder ``kernels`` must fail."""

from pathlib import Path

KERNELS = Path(__file__).parent / "kernels"
SHAPE = "channels=2,height=20,width=24,maps=3,mask=3x3,padding=1x1,activation=relu"

FRAUDS = {
    "fraud_background_thread": "on_time",
    "fraud_blas": "library",
    "fraud_blas_at_first": "library",
    "fraud_blas_copied": "library",
    "fraud_blas_until_profiled": "library",
    "fraud_cache_content": "cache",
    "fraud_cache_fingerprint": "cache",
    "fraud_cache_identity": "cache",
    "fraud_cache_shape": "cache",
    "fraud_clock": "timers",
    "fraud_clock_restored": "timers",
    "fraud_copy": "on_time",
    "fraud_daemon": "processes",
    "fraud_every_other_call": "complete",
    "fraud_first_of_request": "complete",
    "fraud_forged_answer": "on_time",
    "fraud_fp16": "precision",
    "fraud_fp16_sums": "precision",
    "fraud_half_batch": "complete",
    "fraud_honest_at_first": "complete",
    "fraud_inputs_zeroed": "inputs",
    "fraud_judges_memory": "runs",
    "fraud_known_seed": "seed",
    "fraud_large_batches": "off_grid",
    "fraud_late_items": "complete",
    "fraud_lazy": "lazy",
    "fraud_median": "timers",
    "fraud_one_shape": "off_grid",
    "fraud_other_process": "processes",
    "fraud_poisoned_only": "complete",
    "fraud_recognised": "complete",
    "fraud_reference": "reference",
    "fraud_rooftile": "reference",
    "fraud_rooftile_unseen": "reference",
    "fraud_scaled_cache": "cache",
    "fraud_sibling": "processes",
    "fraud_socket": "runs",
    "fraud_stale_memory": "stale",
    "fraud_stops_judge": "runs",
    "fraud_tf32": "precision",
    "fraud_unwaited": "processes",
    "fraud_wakes_itself": "on_time",
    "fraud_wakes_parent": "on_time",
    "fraud_wrong_use": "runs",
}
WRONG = {
    "wrong_clamped": "values",
    "wrong_clipped_weights": "values",
    "wrong_noise": "runs",
    "wrong_not_numbers": "values",
    "wrong_slow": "runs",
    "wrong_stuck_spawn": "runs",
    "wrong_subnormals": "values",
    "wrong_crash": "runs",
    "wrong_dtype": "form",
    "wrong_exception": "runs",
    "wrong_exit": "runs",
    "wrong_flipped_mask": "values",
    "wrong_hang": "runs",
    "wrong_last_bits": "repeatable",
    "wrong_last_row": "complete",
    "wrong_layout": "form",
    "wrong_nan": "values",
    "wrong_no_bias": "values",
    "wrong_one_channel": "degenerate",
    "wrong_one_element": "values",
    "wrong_overrun": "bounds",
    "wrong_tiles_only": "off_grid",
}
LIMITS = {"wrong_hang": 1.0, "wrong_slow": 1.0, "wrong_stuck_spawn": 1.0}
"""Seconds for those that take all that they are given."""
ALSO = {
    "fraud_inputs_zeroed": {"complete"},
    "fraud_one_shape": {"degenerate"},
    "fraud_rooftile": {"library"},
    "fraud_reference": {"library"},
    "wrong_dtype": {"values"},
    "wrong_tiles_only": {"degenerate"},
}
"""What else follows from the same deed."""
INSTEAD = {"fraud_first_of_request": {"off_grid"}, "fraud_late_items": {"off_grid"}}
"""What meets the deed first, by the draw of what is run: samples at other sizes may."""
BLAS = "channels=16,height=20,width=24,maps=32,mask=3x3,padding=1x1,activation=relu"
SHAPES = {name: BLAS for name in FRAUDS if name.startswith("fraud_blas")}
"""Where the usual shape is too small for what is to be seen."""
NEEDS = {
    "fraud_judges_memory": {"own /proc", "Landlock"},
    "fraud_rooftile_unseen": {"hidden rooftile"},
    "fraud_sibling": {"seccomp"},
    "fraud_socket": {"seccomp", "network namespace"},
    "fraud_stops_judge": {"PID namespace", "seccomp", "Landlock"},
}
"""What only isolation catches: one of these must be in force."""
HONEST = (
    "honest_ctypes", "honest_double", "honest_einsum", "honest_numba", "honest_numpy",
    "honest_out", "honest_threads", "honest_workspace",
)  # fmt: skip
