"""Objects as the commands print them, for the tests of the report."""

from __future__ import annotations

import copy

from rooftile.lab.show.report.sources import content

PROBLEM = {
    "operation": "conv2d", "batch": 64, "channels": 1, "height": 86, "width": 86, "maps": 4,
    "mask": [7, 7], "stride": [1, 1], "padding": [0, 0], "activation": "relu",
    "pool": {"kind": "max", "window": [2, 2], "stride": [2, 2]},
    "flops": 160563200, "bytes": 3532576, "output_shape": [64, 4, 40, 40],
}  # fmt: skip
RATES = {"threads": 2, "fma_gflops": 200.0, "read_gbps": 30.0, "copy_gbps": 30.0}
CEILINGS = {
    "one_core": {**RATES, "threads": 1, "stream_copy_gbps": 20.0},
    "all_cores": {**RATES, "stream_copy_gbps": 40.0},
    "undisturbed": True,
}
GPU_CEILINGS = {
    "fma_gflops": 60000.0, "read_gbps": 4400.0, "copy_gbps": 4000.0,
    "mma_gflops": {"tf32": 350e3, "fp16": 650e3, "bf16": 655e3}, "launch_us": 5.0,
    "replay_us": 1.0, "to_device_gbps": 8.0, "from_device_gbps": 7.0,
    "to_device_pinned_gbps": None, "from_device_pinned_gbps": None, "clocks": None,
}  # fmt: skip
FLOOR_MS = PROBLEM["flops"] / 200.0 * 1e-6
ENVIRONMENT = {
    "time": "2026-11-21T11:02:19+00:00", "cpu": "Some Processor", "cores": 2, "numpy": "2.4.6",
    "revision": "abc123", "load": 0.5,
}  # fmt: skip
NO_RESOURCES = {"registers": None, "shared_bytes": None, "spill_bytes": None, "occupancy": None}


def timing(median):
    return {"median": median, "p20": 0.9 * median, "p80": 1.2 * median, "min": 0.8 * median, "n": 9}


def passed(name, share, *, cold=None, precision="ieee", kind="strategy", device="cpu", **more):
    """A row at a share of the roof."""
    time = FLOOR_MS / share
    return {
        "kind": kind, "strategy": name, "device": device, "precision": precision,
        "status": "passed", "reason": "", "config": {},
        "error": {"max_abs": 1e-6, "max_rel": 1e-7, "budget_fraction": 0.4},
        "time_ms": timing(time), "cold_ms": timing(cold * time) if cold else None,
        "first_call_ms": 20.0 if cold else None, "gflops": PROBLEM["flops"] / time * 1e-6,
        "gbps": PROBLEM["bytes"] / time * 1e-6, "roof_fraction": share,
        "resources": NO_RESOURCES, "clocks": None, **more,
    }  # fmt: skip


def without_time(name, status, reason, *, budget_fraction=None, **more):
    """A row that failed, broke or was skipped."""
    row = passed(name, 1.0, **more)
    for key in ("time_ms", "cold_ms", "first_call_ms", "gflops", "gbps", "roof_fraction"):
        row[key] = None
    error = {**row["error"], "budget_fraction": budget_fraction} if budget_fraction else None
    return {**row, "status": status, "reason": reason, "error": error}


def climb(*rows, ceilings=CEILINGS, device="cpu", gpu=None):
    """What ``climb --json`` prints."""
    environment = {"device": {"name": gpu}} if gpu else {}
    return copy.deepcopy({
        "problem": PROBLEM, "device": device, "ceilings": ceilings,
        "environment": {**ENVIRONMENT, **environment}, "rows": list(rows),
    })  # fmt: skip


def typical():
    """A ladder with every status, two precisions and a peer."""
    return climb(
        passed("loops", 0.01), passed("tiled", 0.5, cold=1.3),
        passed("winograd", 1.4, precision="fast"),
        without_time("broken", "failed", "worst element (1, 2) is 3", budget_fraction=40.0),
        without_time("slow", "skipped", "would take 34 s"),
        without_time("crash", "error", "CompileFailure: no such thing"),
        passed("torch eager", 0.1, kind="peer"),
    )  # fmt: skip


def network():
    """What ``run --json`` prints."""
    return {
        "model": "lenet5", "device": "cpu", "precision": "ieee", "batch": 256, "images": 1000,
        "accuracy": 0.9, "op_times_ms": {"conv1": 8.0, "conv2": 11.9, "linear1": 0.1},
        "total_ms": 17.0, "images_per_s": 15000.0,
        "strategies": {"conv1": "register_tile", "conv2": "register_tile", "linear1": "blocked"},
        "environment": ENVIRONMENT,
    }  # fmt: skip


def record(number, row, *, command="climb", run="a", **more):
    """One of those that ``history --json`` lists."""
    derived = ("operation", "batch", "flops", "bytes", "output_shape")
    problem = {key: PROBLEM[key] for key in sorted(PROBLEM) if key not in derived}
    for key in ("time_ms", "cold_ms"):
        if row[key]:
            row[key] = {**row[key], "steady": True, "samples": [1.0, 2.0]}
    return {
        "id": number, "run": run, "command": command, "time": f"2026-11-21T11:00:{number:02}+00:00",
        "operation": "conv2d", "problem": problem, "batch": 64, "device": row["device"],
        "hardware": "Some Processor", "kind": row["kind"], "strategy": row["strategy"],
        "precision": row["precision"], "status": row["status"], "seed": 0, "revision": "abc123",
        "fingerprint": "", "row": row, "environment": {**ENVIRONMENT, "ceilings": CEILINGS}, **more,
    }  # fmt: skip


def tuning(times, *, strategy="tiled"):
    """A history with a trial for each config, as in ``{(A, B): ms or a reason}``."""
    records = []
    for number, ((a, b), time) in enumerate(times.items()):
        config = {"A": a, "B": b}
        if isinstance(time, str):
            row = without_time(strategy, "error", time, config=config)
        else:
            row = passed(strategy, FLOOR_MS / time, config=config)
        records.append(record(number % 60, row, command="tune"))
    return {"records": records}


def section(found):
    """The one section that an object makes."""
    (made,) = content(found).sections
    return made


def reproduced(word):
    """What ``reproduce`` prints of one experiment, in which every text of a document is a word."""

    def number(key, value, ours, verdict, reason):
        known = {"table": "made.up", "unit": "ms", "document": word, "place": "a place"}
        return {**known, "key": key, "value": value, "ours": ours, "verdict": verdict,
                "reason": reason}  # fmt: skip

    verdicts = [
        number("a", 2.0, 2.0, "holds", "the same"),
        number("b", 3.0, 2.0, "cannot be", "a slip"),
        number("c", 4.0, None, "not measured", "not there"),
        {**number("d", 2e3, 3e3, "measured something else", "why"), "unit": "elements"},
    ]
    record = {
        "experiment": "exams", "device": "cpu", "hardware": "a processor", "quick": True,
        "checks": [{"name": word, "passed": True, "said": ""}],
        "claims": [{"words": word, "true": False, "because": "because"}],
        "notes": [word], "verdicts": verdicts, "environment": {"time": "2026-11-23T01:00:00+00:00"},
    }  # fmt: skip
    return {"records": [record]}


PHASES = ("forward", "backward", "update")


def trained(*, held_out=True, steps=5, device="cuda"):
    """An object as train prints it."""
    epochs = [
        {
            "epoch": number + 1,
            "loss": 1 / (number + 1),
            "holdout_loss": abs(number - 2) + 0.5 if held_out else None,
            "holdout_accuracy": 0.5 + number / 10 if held_out else None,
        }
        for number in range(4)
    ]
    timeline = [
        {"phase": phase, "layer": "h" if k < 2 else "", "start_ms": 10.0 * step + k, "ms": 0.9}
        for step in range(steps)
        for k, phase in enumerate(PHASES)
    ]
    told = {"calls": steps, "average_ms": 0.9, "least_ms": 0.8, "most_ms": 1.0, "share": 1 / 3}
    phases = [
        {"phase": phase, "layer": "h" if k < 2 else "", **told} for k, phase in enumerate(PHASES)
    ]
    return {
        "model": "mlp",
        "device": device,
        "options": {"optimiser": "sgd", "batch": None, "precision": "bf16"},
        "epochs": epochs,
        "seconds": 2.5,
        "profile": {"phases": phases, "timeline": timeline if steps else []},
        "environment": {"cpu": "Some Processor", "time": "2026-11-21T11:02:19+00:00"},
    }
