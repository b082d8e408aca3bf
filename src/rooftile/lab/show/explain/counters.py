"""A GPU's counters, from the CSV that Nsight Compute (``ncu``) prints."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rooftile.errors import InputError

LOAD_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
COPY_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts.sum"
STORE_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
DRAM_READ, DRAM_WRITE = "dram__bytes_read.sum", "dram__bytes_write.sum"
BANK_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
ISSUE = "smsp__issue_active.avg.pct_of_peak_sustained_active"
LANES = "smsp__thread_inst_executed_per_inst_executed.ratio"
ACHIEVED = "sm__warps_active.avg.pct_of_peak_sustained_active"
SHARED_PASSES = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
OCCUPANCY = "sm__maximum_warps_per_active_cycle_pct"
TIME = "gpu__time_duration.sum"
_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
STALLS = {
    _STALL.format(name): name.replace("_", " ")
    for name in (
        "long_scoreboard",
        "short_scoreboard",
        "barrier",
        "lg_throttle",
        "mio_throttle",
        "math_pipe_throttle",
        "wait",
        "not_selected",
        "no_instruction",
        "dispatch_stall",
        "branch_resolving",
        "imc_miss",
        "membar",
        "drain",
        "tex_throttle",
        "sleeping",
    )
}
"""Why a warp waits, by the metric that counts for how many cycles on average."""
METRICS = (
    TIME,
    LOAD_SECTORS,
    COPY_SECTORS,
    STORE_SECTORS,
    DRAM_READ,
    DRAM_WRITE,
    "lts__t_sectors_srcunit_tex_op_read.sum",
    "l1tex__t_sector_hit_rate.pct",
    "lts__t_sector_hit_rate.pct",
    SHARED_PASSES,
    BANK_CONFLICTS,
    "launch__registers_per_thread",
    OCCUPANCY,
    ACHIEVED,
    ISSUE,
    LANES,
    *STALLS,
)
"""Metrics that are asked for."""
_KERNEL = "Kernel Name"


@dataclass(frozen=True)
class Counters:
    """The counters of one kernel: sums over all its launches, and means weighted by their time."""

    kernel: str
    launches: int
    values: Mapping[str, float]
    """The values by metric; what the device does not count is missing."""

    def sectors_loaded(self) -> float | None:
        """Sectors of ordinary loads and of asynchronous copies to shared memory."""
        found = [self.values[m] for m in (LOAD_SECTORS, COPY_SECTORS) if m in self.values]
        return sum(found) if found else None

    @property
    def stall(self) -> tuple[str, float] | None:
        """The reason that warps wait for most, and its cycles an issued instruction."""
        found = {name: self.values[m] for m, name in STALLS.items() if m in self.values}
        return max(found.items(), key=lambda item: item[1]) if found else None


def parse(text: str, metrics: Sequence[str] = METRICS) -> list[Counters]:
    """The counters of each kernel in what ``ncu --csv --page raw --print-units base`` printed.

    Lines before the table (``==PROF==``, and what the program printed) are passed over; the
    table has a row of names, a row of units, and a row for each launch.  Raises `InputError` where
    there is none.
    """
    rows = list(csv.reader(text.splitlines()))
    start = next((i for i, row in enumerate(rows) if _KERNEL in row), None)
    if start is None:
        lines = " / ".join(line for line in text.splitlines() if line)[-500:]
        raise InputError("ncu's output", repr(lines), f"a table with a column {_KERNEL!r}")
    names = rows[start]
    launches = [
        dict(zip(names, row, strict=True))
        for row in rows[start + 1 :]
        if len(row) == len(names) and row[names.index(_KERNEL)]
    ]
    kernels = dict.fromkeys(_kernel_name(launch[_KERNEL]) for launch in launches)
    return [
        _joined(kernel, [_numbers(found) for found in launches if _named(found, kernel)], metrics)
        for kernel in kernels
    ]


def _named(launch: Mapping[str, str], kernel: str) -> bool:
    return _kernel_name(launch[_KERNEL]) == kernel


def _kernel_name(full: str) -> str:
    """A kernel's name without its arguments."""
    return full.partition("(")[0].strip()


def _numbers(launch: Mapping[str, str]) -> dict[str, float]:
    found = {}
    for name, text in launch.items():
        try:
            found[name] = float(text.replace(",", ""))
        except ValueError:
            continue  # A name, or "n/a" for what this device does not count.
    return found


def _joined(kernel: str, launches: list[dict[str, float]], metrics: Sequence[str]) -> Counters:
    weights = [launch.get(TIME, 1.0) for launch in launches]
    values = {}
    for metric in metrics:
        counted = [
            (launch[metric], weight)
            for launch, weight in zip(launches, weights, strict=True)
            if metric in launch
        ]
        if not counted:
            continue
        if metric.endswith(".sum"):
            values[metric] = sum(value for value, _ in counted)
        else:
            total = sum(weight for _, weight in counted)
            values[metric] = sum(value * weight for value, weight in counted) / total
    return Counters(kernel, len(launches), values)
