"""The JSON objects that commands print with ``--json``, as types; keys are added, none renamed.

`rooftile.cli.commands.schema` prints them as JSON Schema (draft 2020-12).  Numbers that are not
finite are null.  A dictionary without named keys holds one entry for each name that its command
found: an operation's fields, a device's own properties, a strategy's tunables.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Number = float | None
"""A finite number, or null."""
Object = dict[str, Any]


class TimesObject(TypedDict):
    """Times of calls in milliseconds: median, 20 % quantiles, least, and how many."""

    median: float
    p20: float
    p80: float
    min: float
    n: int
    waited: Number


class KeptTimesObject(TimesObject):
    """Times with their samples, and whether the median had settled."""

    steady: bool
    samples: list[float]


class ErrorObject(TypedDict):
    """The largest errors, and the share of the budget that they take."""

    max_abs: Number
    max_rel: Number
    budget_fraction: Number


class ResourcesObject(TypedDict):
    """The most demanding kernel's resources on a GPU."""

    registers: int | None
    shared_bytes: int | None
    spill_bytes: int | None
    occupancy: Number


class RowObject(TypedDict):
    """A strategy or a peer; times, rates and share of the roof are null unless it passed."""

    kind: Literal["strategy", "peer"]
    strategy: str
    device: str
    precision: str
    status: Literal["passed", "failed", "skipped", "error"]
    reason: str
    cause: Literal[
        "", "unsupported", "precision", "device", "not installed", "time limit", "interrupted",
        "wrong", "invalid time", "out of memory", "compile", "crashed", "error",
    ]  # fmt: skip
    config: Object
    error: ErrorObject | None
    time_ms: TimesObject | None
    cold_ms: TimesObject | None
    first_call_ms: Number
    gflops: Number
    gbps: Number
    roof_fraction: Number
    resources: ResourcesObject
    clocks: Object | None


class ClimbObject(TypedDict):
    """``climb``: every strategy of an operation on a problem."""

    problem: Object
    device: str
    ceilings: Object
    environment: Object
    rows: list[RowObject]
    shapes: NotRequired[dict[str, list[str]]]


class DrawnObject(TypedDict):
    """One problem of ``sweep``; times by strategy are in milliseconds."""

    problem: Object
    shape: str
    number: int
    precision: str
    chosen: str
    status: str
    reason: str
    best: str
    regret: Number
    times_ms: dict[str, float]
    fast_ms: dict[str, float]
    estimates_ms: dict[str, Number]


class DistributionObject(TypedDict):
    """The regrets of an operation's problems."""

    problems: int
    mean: float
    quantiles: list[float]
    near: float
    worst: DrawnObject


class SweepObject(TypedDict):
    """``sweep``: random problems."""

    device: str
    seed: int
    regret: bool
    interrupted: bool
    operations: dict[str, DistributionObject]
    problems: list[DrawnObject]


class TrialObject(TypedDict):
    """One config of a tuning."""

    config: Object
    status: str
    reason: str
    median_ms: Number
    resumed: bool


class ComparedObject(TypedDict):
    """A ratio of times with its interval; null where an end is infinite."""

    outcome: Literal["faster", "slower", "same", "cannot tell"]
    ratio: Number
    low: Number
    high: Number
    effect: float
    level: float
    samples: list[int]
    more: int | None


class AxisObject(TypedDict):
    """A tunable with its values."""

    name: str
    values: list[int]


class GridObject(TypedDict):
    """The medians of two tunables' values, row by row."""

    rows: AxisObject
    columns: AxisObject
    fixed: dict[str, int]
    median_ms: list[list[Number]]


class TuneObject(TypedDict):
    """``tune``: a search of tunables; with ``--grid`` a grid instead of a winner."""

    problem: Object
    device: str
    hardware: str
    strategy: str
    precision: str
    tunables: dict[str, list[int]]
    default: dict[str, int]
    trials: list[TrialObject]
    winner: NotRequired[RowObject]
    against_default: NotRequired[ComparedObject | None]
    against_pick: NotRequired[ComparedObject | None]
    preferred: NotRequired[bool]
    grid: NotRequired[GridObject]


class CheckObject(TypedDict):
    """One thing that an audit looked at, and what it saw."""

    name: str
    status: Literal["passed", "failed", "not applicable", "not reached"]
    evidence: str


class AuditObject(TypedDict):
    """``audit``: a stranger's kernel; it has no times unless it passed."""

    kernel: str
    device: str
    precision: str
    problem: Object
    status: Literal["passed", "failed"]
    checks: list[CheckObject]
    error: ErrorObject | None
    time_ms: KeptTimesObject | None
    cold_ms: KeptTimesObject | None
    hard_time_ms: KeptTimesObject | None
    near_times_ms: list[list[Any]]
    first_call_ms: Number
    gflops: Number
    gbps: Number
    floor_ms: Number
    roof_fraction: Number
    limit: Literal["compute", "memory"] | None
    resources: ResourcesObject
    isolation: Object
    printed: str
    environment: Object


class ExplainObject(TypedDict):
    """``explain``: a strategy on a GPU (with ``target`` and ``kernels``) or on the CPU."""

    problem: Object
    device: str
    strategy: str
    summary: str
    precision: str
    picked: str
    bound_fraction: Number
    floor_ms: Number
    measured: Object | None
    advice: list[str]
    config: NotRequired[dict[str, int]]
    target: NotRequired[Object]
    kernels: NotRequired[list[Object]]
    limits_ms: NotRequired[dict[str, Number]]
    bound_ms: NotRequired[Number]
    bound_by: NotRequired[str]
    moved_bytes: NotRequired[Number]
    input_loads: NotRequired[Number]
    adds_per_load: NotRequired[Number]
    uncached_ms: NotRequired[Number]
    missing: NotRequired[Any]
    counters: NotRequired[Any]
    compared: NotRequired[list[Object]]
    threads: NotRequired[int]
    units: NotRequired[int | None]
    rates: NotRequired[Object]
    bound: NotRequired[Object]
    latency_ns: NotRequired[Number]
    step_ns: NotRequired[Number]
    cores: NotRequired[int]
    vector_lanes: NotRequired[int]
    cache_bytes: NotRequired[int | None]
    loop: NotRequired[Object | None]
    round_trips: NotRequired[dict[str, int]]
    parts: NotRequired[Object]
    counts: NotRequired[Object | None]
    not_counted: NotRequired[str]


class RecordObject(TypedDict):
    """One result of the history."""

    id: int
    run: str
    command: str
    time: str
    operation: str
    problem: Object
    batch: int
    device: str
    hardware: str
    kind: str
    strategy: str
    precision: str
    status: str
    seed: int
    revision: str | None
    fingerprint: str
    row: Object
    environment: Object


class HistoryObject(TypedDict):
    """``history``: what was measured."""

    records: list[RecordObject]


class BothObject(TypedDict):
    """The same of both sides."""

    before: Any
    after: Any


class ChangeObject(TypedDict):
    """The change of one strategy on one problem."""

    problem: Object
    hardware: str
    device: str
    kind: str
    strategy: str
    precision: str
    runs: list[int]
    config: BothObject
    status: BothObject
    reason: BothObject
    median_ms: BothObject
    outcome: Literal[
        "faster", "slower", "same", "cannot tell", "same record", "broken", "mended", "not timed"
    ]
    comparison: ComparedObject | None


class CompareObject(TypedDict):
    """``compare``: two sets of records."""

    before: str
    after: str
    effect: float
    level: float
    changes: list[ChangeObject]
    counts: dict[str, int]


class ScoredObject(TypedDict):
    """A network's scores; of a regression the last two instead of a confusion matrix."""

    accuracy: Number
    confusion: NotRequired[list[list[int]]]
    class_precision: NotRequired[list[Number]]
    class_recall: NotRequired[list[Number]]
    mean_squared_error: NotRequired[Number]
    r2: NotRequired[Number]


class RunObject(ScoredObject):
    """``run``: a network on images or rows; with ``--stream`` the rows of its segments."""

    model: str
    device: str
    precision: str
    batch: int
    images: int
    total_ms: Number
    images_per_s: Number
    strategies: dict[str, str]
    environment: Object
    op_times_ms: NotRequired[dict[str, float]]
    device_ms: NotRequired[Number]
    peers: NotRequired[list[RowObject]]
    plan: NotRequired[RowObject]
    dtype: NotRequired[str]
    segments: NotRequired[int | None]
    model_segments: NotRequired[int]
    stream: NotRequired[list[Object]]


class PredictObject(TypedDict):
    """``predict``: what a network sees in pictures or rows."""

    model: str
    device: str
    pictures: NotRequired[list[Object]]
    rows: NotRequired[list[Object]]


class TrainObject(TypedDict, total=False):
    """``train``: a network of images, or with ``layers`` one of a table."""

    model: str
    device: str
    layers: list[Object]
    options: Object
    images: int
    test_images: int
    losses: list[Number]
    loss: Number
    epochs: list[Object]
    profile: Object
    accuracy: Any
    confusion: list[list[int]]
    class_precision: list[Number]
    class_recall: list[Number]
    precision: list[Number] | None
    recall: list[Number] | None
    mean_squared_error: Number
    r2: Number
    seconds: float
    out: str
    environment: Object


class DevicesObject(TypedDict):
    """``devices``: what was found to compute on."""

    devices: list[Object]
    ceilings: Object
    environment: Object


class ReportObject(TypedDict):
    """``report``: where the page is, and what it shows."""

    out: str
    ladders: int
    networks: int
    experiments: int
    trainings: int
    rows: int


class ListedObject(TypedDict, total=False):
    """``list``: what there is, under the word that was asked for."""

    operations: list[Object]
    shapes: list[Object]
    strategies: list[Object]
    models: list[Object]
    experiments: list[Object]


OBJECTS: dict[str, type] = {
    "audit": AuditObject,
    "climb": ClimbObject,
    "compare": CompareObject,
    "devices": DevicesObject,
    "explain": ExplainObject,
    "history": HistoryObject,
    "list": ListedObject,
    "predict": PredictObject,
    "report": ReportObject,
    "run": RunObject,
    "sweep": SweepObject,
    "train": TrainObject,
    "tune": TuneObject,
}
"""The object of each command."""
