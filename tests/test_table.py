"""The table: its page in step with its record, what the page makes of one, and how it is measured.

The page's tests make up a record of their own; no number of it is measured.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rooftile.lab.measure.ceilings.gpu import GpuCeilings
from rooftile.lab.measure.networks.streams import StreamTiming
from rooftile.lab.measure.records import Error, Row, row_json
from rooftile.nn.data import ImageSet
from rooftile.ops import named
from rooftile.runtime.timing import device as measure_gpu
from rooftile.runtime.timing.host import Timing
from rooftile.runtime.timing.telemetry import Clocks

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
ROOF = GpuCeilings(
    fma_gflops=60_000.0, read_gbps=4_000.0, copy_gbps=4_000.0,
    mma_gflops={"tf32": 300_000.0, "fp16": 600_000.0},
    launch_us=9.0, replay_us=1.1, to_device_gbps=20.0, from_device_gbps=18.0,
    to_device_pinned_gbps=50.0, from_device_pinned_gbps=50.0, clocks=None,
)  # fmt: skip


@pytest.fixture
def scripts(benchmark_script):
    names = ("table", "table_page", "table_images", "table_rows", "table_stream")
    return SimpleNamespace(**{name: benchmark_script(name) for name in names})


def times(median):
    return Timing(median, 0.9 * median, 1.1 * median, 0.8 * median, 20, True)


def passed(kind, name, median, precision="fp16", **config):
    return row_json(Row(
        kind, name, "cuda:0", precision, "passed", config=config, error=Error(1e-3, 2e-3, 0.25),
        time_ms=times(median), cold_ms=times(2 * median), first_call_ms=9.0, gflops=5000.0,
        gbps=1.0, roof_fraction=0.5, clocks=Clocks(1980, 1965, 600.0, 50, 20, 0, ()),
    ))  # fmt: skip


def a_row(case, rows, **more):
    return {
        "key": case.key, "case": dataclasses.asdict(case), "problem": {}, "flops": 10**9,
        "measured": {"time": "2026-11-21T10:00:00+00:00", "revision": "abc"}, "seconds": 3.0,
        "floor": {"ms": 0.1, "by": "memory", "memory_ms": 0.1, "arithmetic_ms": 0.05, "bytes": 1},
        "picked": rows[0]["strategy"], "layers_ms": {}, "rows": rows, **more,
    }  # fmt: skip


@pytest.fixture
def record(scripts):
    case = scripts.table.Case
    convolution = a_row(case("lenet-conv1", 10000, "fp16", 0.3, narrow_out=True), [
        passed("strategy", "one", 0.4),
        passed("strategy", "two", 0.2, X_NARROW=0, OUT_NARROW=1),
        passed("strategy", "three", 0.05, X_NARROW=1, OUT_NARROW=1),
        row_json(Row("strategy", "four", "cuda:0", "fp16", "failed", "wrong by a mile")),
        row_json(Row("strategy", "five", "cuda:0", "fp16", "skipped", "too slow",
                     cause="time limit")),
        passed("peer", "torch eager", 2.0), passed("peer", "torch compile", 1.0),
    ])  # fmt: skip
    network = a_row(
        case("lenet5", 10000, "ieee", 0.5, network=True),
        [passed("strategy", "plan", 0.8, "ieee", conv1="direct_tile", linear1="tiled")],
        layers_ms={"conv1": 0.6, "linear1": 0.3},
    )
    gpu = {"name": "NVIDIA H200", "driver": "CUDA 13.0", "architecture": "sm_90",
           "libraries": {"cuda-core": "1.2.0"}}  # fmt: skip
    return {
        "environment": {"python": "3.12.3", "time": "2026-11-21", "device": gpu},
        "libraries": {"torch": "2.11.0"}, "ceilings": {}, "rows": [convolution, network],
        "stream": None, "accuracy": None,
    }  # fmt: skip


def test_pages_are_in_step_with_their_records(scripts):
    for path in scripts.table.RESULTS.glob("*-table.json"):
        found = json.loads(path.read_text(encoding="utf-8"))
        page = scripts.table_page.path_of(path).read_text(encoding="utf-8")
        assert page == scripts.table_page.page(found, path.name), path
        beside = path.with_name(scripts.table_page.whole_of(path.name)).read_text(encoding="utf-8")
        assert beside == scripts.table_page.whole(found, path.name), path


def test_the_fastest_counts_in_the_formats_that_the_row_admits(scripts, record):
    text = scripts.table_page.whole(record, "h200-table.json")
    (line,) = [line for line in text.splitlines() if line.startswith("| `lenet-conv1` |")]
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        "`lenet-conv1`", "10,000", "`fp16`", "**0.2**", "`two` (float32 to 16 bit)", "0.25", "1",
        "compile", "5.0", "0.1", "memory", "50%", "0.3", "yes",
    ]  # fmt: skip
    record["rows"][0]["case"]["narrow_out"] = False
    text = scripts.table_page.whole(record, "h200-table.json")
    (line,) = [line for line in text.splitlines() if line.startswith("| `lenet-conv1` |")]
    assert "**0.4** | `one` |" in line
    assert line.endswith("| no |")


def test_a_network_without_peers_has_its_layers(scripts, record):
    text = scripts.table_page.whole(record, "h200-table.json")
    assert "| **0.8** | the plan | 0.25 |  |  |  | 0.1 | memory | 12% | 0.5 | no |" in text
    assert "| `lenet5@10000:ieee` | conv1 | `direct_tile` | 0.6 |" in text
    assert "| `lenet5@10000:ieee` | sum |  | 0.9 |" in text
    assert "| `lenet5@10000:ieee` | **whole** |  | **0.8** |" in text
    assert "1 of 2 rows reach what they were to reach. Ours is 5.0 to 5.0 times as fast" in text
    assert "Not beside `torch.compile`: `lenet5@10000:ieee`. Measured 2026-11-21" in text


def test_who_has_no_time_says_why(scripts, record):
    text = scripts.table_page.whole(record, "h200-table.json")
    assert "- `lenet-conv1@10000:fp16`, four: failed, wrong by a mile" in text
    assert "five" not in text
    assert text.count("Not measured yet.") == 2
    line = scripts.table_rows.summary(record["rows"][0])
    assert "four: failed, wrong by a mile" in line
    assert "picked would be one" in line
    record["rows"] = []
    assert scripts.table_page.whole(record, "x").count("Not measured yet.") == 3


def test_the_stream_stands_beside_the_peers_and_the_copy(scripts, record):
    row = {"segments": 8, "time_ms": {"median": 1.5}, "host_ms": {"median": 1.6},
           "copy_in_ms": 1.2, "compute_ms": 0.5, "copy_out_ms": 0.1, "hidden": 0.5,
           "contradiction": "", "wrong_labels": 0}  # fmt: skip
    wrong = {**row, "segments": 4, "time_ms": {"median": 0.1}, "wrong_labels": 2}
    none = {**row, "segments": 2, "time_ms": None, "host_ms": None, "hidden": None,
            "contradiction": "clocks"}  # fmt: skip
    peers = [
        {"name": "torch eager", "segments": 1, "status": "passed", "time_ms": {"median": 6.0},
         "host_ms": {"median": 6.1}},
        {"name": "torch eager", "segments": 8, "status": "failed", "agree": 0.5},
    ]  # fmt: skip
    record["stream"] = {
        "model": "lenet5", "precision": "fp16", "images": 10000, "bytes": 73_960_000,
        "source": "a sample", "target_ms": 1.5, "floor_ms": 1.2, "rows": [none, wrong, row],
        "peers": peers,
    }  # fmt: skip
    text = scripts.table_page.whole(record, "h200-table.json")
    assert "| ours | 8 | 1.5 | 1.6 | 1.2 | 0.5 | 0.1 | 50% |" in text
    assert "| ours | 4 | 2 wrong labels |" in text
    assert "| ours | 2 | clocks | - |" in text
    assert "| torch eager | 8 | failed" in text
    assert "Best: 8 segments, 1.5 ms, 6.67 million images a second" in text
    assert "to reach were 1.5 ms: reached" in text
    assert "takes 6 ms, 4.0 times as long" in text
    assert "take 400 times as long to arrive" in text


def test_accuracy_names_the_images(scripts, record):
    record["accuracy"] = {"images": 1000, "source": "a sample", "rows": [
        {"model": "lenet5", "device": "cuda:0", "precision": "bf16", "accuracy": 0.92, "differ": 3}
    ]}  # fmt: skip
    text = scripts.table_page.whole(record, "h200-table.json")
    assert "1,000 images, a sample." in text
    assert "| `lenet5` | cuda:0 | `bf16` | 92.00 % | 3 |" in text


def test_the_floor_knows_split_products_and_narrow_results(scripts):
    table, problem = scripts.table, named("conv2d", "lenet-conv1", 10)
    found = table.floor(problem, table.Case("lenet-conv1", 10, "ieee", 1.0), ROOF)
    assert found["arithmetic_ms"] == pytest.approx(problem.flops / 200_000e6)
    assert found["bytes"] == problem.bytes
    narrow = table.Case("lenet-conv1", 10, "fp16", 1.0, narrow_out=True)
    found = table.floor(problem, narrow, ROOF)
    assert found["bytes"] == problem.bytes - 2 * np.prod(problem.output_shape)
    assert found["by"] == "memory"
    assert found["ms"] == pytest.approx(found["bytes"] / 4000e6)


def test_only_takes_keys_and_their_beginnings(scripts):
    wanted = scripts.table.wanted_keys
    assert wanted([])[-2:] == ["stream", "accuracy"]
    assert len(wanted([])) == len(scripts.table.CASES) + 2
    assert wanted(["lenet5"]) == [f"lenet5@10000:{p}" for p in ("ieee", "tf32", "fp16")]
    assert wanted(["stream", "mnist8@1"]) == ["mnist8@1:ieee", "stream"]
    with pytest.raises(SystemExit, match="no such row"):
        wanted(["lenet"])


def test_a_new_row_takes_the_place_of_the_former(scripts):
    rows = [{"key": "lenet5@10000:ieee", "n": 1}, {"key": "lab-conv5@1:ieee", "n": 1}]
    for key in ("lab-conv5@1:ieee", "lenet-conv1@10000:ieee"):
        rows = scripts.table.merged(rows, {"key": key, "n": 2})
    assert [(row["key"], row["n"]) for row in rows] == [
        ("lenet-conv1@10000:ieee", 2), ("lenet5@10000:ieee", 1), ("lab-conv5@1:ieee", 2),
    ]  # fmt: skip


def test_in_16_bits_are_what_counts_and_what_lies_between_layers(scripts, opencl_device):
    table = scripts.table
    bench = table.Bench(opencl_device, None, table.peers_of("none"), False, 1.0)
    narrow = table.Case("lenet-conv1", 1, "fp16", 1.0, narrow_out=True)
    wide = dataclasses.replace(narrow, narrow_out=False)
    plain = named("conv2d", "lenet-conv1", 1)
    out, both = plain.stored(out="float16"), plain.stored(x="float16", out="float16")
    assert list(bench._stored(narrow)) == [plain, out]
    assert list(bench._stored(wide)) == [plain, out, both]
    assert list(dataclasses.replace(bench, quick=True)._stored(wide)) == [plain]


@pytest.mark.alone
@pytest.mark.usefixtures("plainly_compiled")
def test_rows_are_measured_and_kept_where_one_fails(scripts, device, tmp_path, monkeypatch):
    monkeypatch.setattr(measure_gpu, "MOST_SAMPLES", 3)
    monkeypatch.setattr(measure_gpu, "WARM_UP_S", 0)
    table = scripts.table
    cases = (
        table.Case("lenet-conv1", 2, "ieee", 1e9),
        table.Case("mnist8", 2, "ieee", 1e9, network=True),
        table.Case("no-such-problem", 2, "ieee", 1.0),
    )
    path = tmp_path / "gpu-table.json"
    bench = table.Bench(device, None, table.peers_of("none"), True, 9.0)
    assert table.measure(bench, [case.key for case in cases], path, None, cases) == 1
    found = json.loads(path.read_text())
    assert {row["key"] for row in found["rows"]} == {"lenet-conv1@2:ieee", "mnist8@2:ieee"}
    for row in found["rows"]:
        (ours,) = row["rows"]
        assert (ours["status"], row["floor"]) == ("passed", None)
    assert list(found["rows"][1]["layers_ms"] or found["rows"][0]["layers_ms"]) == [
        "conv1", "linear1", "linear2",
    ]  # fmt: skip
    text = scripts.table_page.whole(found, path.name)
    assert text.count("| yes |") == 2
    # A later run keeps what it does not measure.
    assert table.measure(bench, [], path, None, cases) == 0
    assert len(json.loads(path.read_text())["rows"]) == 2


def test_accuracy_is_that_of_every_precision(scripts, device):
    generator = np.random.default_rng(0)
    images = ImageSet(generator.integers(0, 256, (3, 28, 28), np.uint8), np.zeros(3, np.uint8), "")
    name = f"{device.description.kind}:{device.description.index}"
    found = scripts.table_images.accuracy(images, name, lambda line: None)
    precisions = {"cuda": 5, "opencl": 2}[device.description.kind]
    assert len(found["rows"]) == 2 * (1 + precisions)
    assert "its first 3 images" in found["source"]
    assert all(row["differ"] == 0 for row in found["rows"] if row["precision"] == "ieee")


def test_the_streams_labels_are_compared_and_its_times_kept(scripts, monkeypatch):
    module = scripts.table_images
    labels = np.zeros(module.STREAMED, np.int64)

    class Stream:
        def pinned(self, shape, dtype):
            return np.empty(shape, dtype)

        def segments(self, x):
            return 16

        def classify(self, x, segments):
            return labels if segments != 4 else labels + 1

    class Plan:
        stream, strategies = Stream(), {"conv1": "naive"}

        def __call__(self, x):
            return np.eye(1, 10).repeat(len(x), axis=0)

    def timed(stream, x, segments):
        return StreamTiming(len(x), segments, times(2.0), times(2.1), 1.4, 0.5, 0.1, "")

    plan = Plan()
    monkeypatch.setattr(module, "time_stream", timed)
    network = SimpleNamespace(input_shape=(1, 86, 86), plan=lambda **options: plan)
    monkeypatch.setattr(module, "load", lambda name: network)
    monkeypatch.setattr(module, "prepare", lambda x, size: x)
    images = ImageSet(np.zeros((2, 28, 28), np.uint8), np.zeros(2, np.uint8), "")
    device = SimpleNamespace(description=SimpleNamespace(kind="cuda", index=0))
    found = module.stream(images, device, ROOF, None, False, lambda line: None)
    assert [row["segments"] for row in found["rows"]] == list(module._SWEEP)
    assert {row["wrong_labels"] for row in found["rows"]} == {0, module.STREAMED}
    assert found["floor_ms"] == pytest.approx(1.4)
    assert scripts.table_stream.best_stream(found)["segments"] == 1
    json.dumps(found, allow_nan=False)
    quick = module.stream(images, device, None, None, True, lambda line: None)
    assert [row["segments"] for row in quick["rows"]] == [16]


@pytest.mark.parametrize(
    ("device", "host", "words"),
    [(2.0, 2.1, ""), (2.0, 4.0, "longer than its stream's marks"), (2.0, 1.5, "further apart")],
)
def test_a_peers_clocks_that_contradict_each_other_give_no_time(
    benchmark_script, scripts, monkeypatch, device, host, words
):
    module = benchmark_script("torch_stream")
    made = object.__new__(module.TorchStream)
    made.run = lambda: (device, host, None)
    monkeypatch.setattr(module, "sampled", lambda run: [run() for _ in range(3)])
    found = made.times()
    if not words:
        assert found["time_ms"]["median"] == pytest.approx(device)
        assert found["host_ms"]["median"] == pytest.approx(host)
        return
    assert found["status"] == "failed"
    assert words in found["reason"]
    row = {"name": "torch", "precision": "fp16", "segments": 1, "agree": 1.0, **found}
    (cells,) = scripts.table_stream._cells({"rows": [], "peers": [row]})
    assert "failed invalid time" in cells[2]


@pytest.mark.alone
@pytest.mark.gpu
def test_the_peers_stream_gives_the_networks_labels(scripts, cuda_device):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch sees no CUDA device")
    from rooftile.lab.measure.peers.gpu import gpu_peers
    from rooftile.nn import load
    from rooftile.nn.data import load_images, prepare, resize

    network = load("lenet5")
    pixels = resize(load_images("test", limit=40).images, 86)
    expected = network.predict(prepare(pixels, 86))
    peer = gpu_peers("fp16")[0]
    for row in scripts.table_images._peers(peer, network, pixels, expected, 0, lambda line: None):
        assert row["status"] == "passed", row
        assert row["time_ms"]["median"] > 0
