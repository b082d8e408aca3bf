"""``rooftile explain``: a page, an object, and its errors; no GPU needed."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from rooftile.lab.measure.ceilings.microbenchmarks import Latency, Microbenchmarks
from rooftile.lab.show.explain import processor

TILE = ("explain", "conv2d", "--shape", "lenet-conv1", "--strategy", "tile_output",
        "--device", "cuda", "--architecture", "sm_90")  # fmt: skip


def test_the_page_has_everything_in_its_order(call):
    code, out, _ = call(*TILE)
    assert code == 0
    words = (
        "FLOP", "tile_output", "H200", "blocks of", "divergence", "L1:", "device memory: reads",
        "traffic:", "limits:", "bound:", "measured:", "next:",
    )  # fmt: skip
    places = [out.index(word) for word in words]
    assert places == sorted(places)


def test_the_object_has_the_page_s_numbers(call_json):
    found = call_json(*TILE)
    assert found["problem"]["flops"] == 2508800000
    assert found["bound_ms"] == pytest.approx(max(found["limits_ms"].values()))
    (kernel,) = found["kernels"]
    assert kernel["blocks"] * kernel["block"][0] * kernel["block"][1] == kernel["threads"]
    assert found["advice"]
    assert found["counters"] == []


def test_the_picked_strategy_says_why(call_json):
    found = call_json("explain", "linear", "--shape", "lenet-linear1", "--device", "cuda",
                      "--architecture", "sm_80")  # fmt: skip
    assert found["picked"]
    assert found["target"]["name"].startswith("A100")


@pytest.mark.parametrize("operation", ["pool2d", "softmax"])
def test_other_operations(call, operation):
    shape = {"pool2d": "channels=3,height=40,width=40,pool=max:2", "softmax": "classes=100"}
    code, out, _ = call("explain", operation, "--shape", shape[operation], "--batch", 64,
                        "--device", "cuda", "--architecture", "9.0")  # fmt: skip
    assert code == 0
    assert "bound:" in out


STORED = ("explain", "linear", "--shape", "lenet-linear1", "--strategy", "mma_fp16",
          "--device", "cuda", "--architecture", "sm_90")  # fmt: skip


def test_an_array_that_is_stored_in_16_bits(call, call_json):
    plain = call_json(*STORED)
    stored = ("--stored", "x=float16", "--stored", "out=float16")
    found = call_json(*STORED, *stored)
    assert found["problem"]["bytes"] < plain["problem"]["bytes"]
    assert "stored x=float16,out=float16" in call(*STORED, *stored)[1]


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        ("x", "NAME=DTYPE"),
        ("xx=float16", "expected one of ['x', 'weights', 'bias', 'out']"),
        ("x=float12", "expected one of ['float32', 'float16'"),
    ],
)
def test_a_storage_that_there_is_not(call, stored, words):
    code, _, err = call(*STORED, "--stored", stored)
    assert code == 2
    assert words in err


def test_the_cpu_s_strategies(call, call_json, known_roof, monkeypatch):
    monkeypatch.setattr(processor, "known_cpu_microbenchmarks", lambda: None)
    asked = ("explain", "conv2d", "--shape", "lenet-conv1", "--batch", 8, "--strategy", "loops")
    code, out, _ = call(*asked)
    assert code == 0
    assert "floor:" in out
    assert "latency:" not in out
    known = Microbenchmarks((Latency("memory", 2**30, 100.0, 250.0),), (), 0)
    monkeypatch.setattr(processor, "known_cpu_microbenchmarks", lambda: known)
    assert "answers after 100 ns, so 4 kB" in call(*asked)[1]
    found = call_json(*asked)
    assert found["bound"]["limit"] == "compute"
    assert found["floor_ms"] == pytest.approx(1e-6 * found["problem"]["flops"] / 200.0)


def test_a_record_s_time_is_set_beside(call, tmp_path):
    from rooftile.lab.measure.records import problem_json
    from rooftile.ops import named

    path = tmp_path / "climb.json"
    row = {"kind": "strategy", "strategy": "tile_output", "time_ms": {"median": 1.5}}
    problem = problem_json(named("conv2d", "lenet-conv1"))
    path.write_text(
        json.dumps({"problem": problem, "device": "cuda:0", "environment": {}, "rows": [row]})
    )
    code, out, _ = call(*TILE, "--record", path)
    assert code == 0
    assert "measured: 1.50 ms" in out
    share = json.loads(call(*TILE, "--record", path, "--json")[1])["bound_fraction"]
    # 31 % of the bound's speed is 3.2 times the bound's time, and reads as no share of the bound.
    assert f"{1 / share:.3g} times the bound" in out
    assert "% of the bound" not in out


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--config", "TILE_X=0"), "TILE_X"),
        (("--config", "TILE=16"), "tunables among"),
        (("--architecture", "sm_12"), "sm_90"),
        (("--record", "/nowhere.json"), "climb --json"),
        (("--device", "cpu"), "cpu"),
    ],
)
def test_errors(call, more, words):
    code, _, err = call(*TILE, *more)
    assert code == 2
    assert words in err


def test_counters_stand_beside_the_prediction(call, call_json, monkeypatch):
    from pathlib import Path

    from rooftile.lab.show.explain import profile
    from rooftile.lab.show.explain.counters import parse

    text = Path(__file__).parents[1] / "lab" / "show" / "explain" / "ncu_im2col.csv"
    counted = parse(text.read_text(encoding="utf-8"))
    monkeypatch.setattr(profile, "profile", lambda run: counted)
    asked = ("explain", "conv2d", "--shape", "lenet-conv1", "--batch", 100, "--strategy", "im2col",
             "--device", "cuda", "--architecture", "sm_90", "--profile")  # fmt: skip
    code, out, _ = call(*asked)
    assert code == 0
    assert "counted" in out
    assert "wait most for long scoreboard" in out
    found = call_json(*asked)
    assert [each["kernel"] for each in found["counters"]] == ["im2col_unroll", "im2col_multiply"]
    assert any(row["why"] for row in found["compared"])


def test_nobody_reads_the_counters_of_opencl(call):
    asked = "explain", "conv2d", "--shape", "lenet-conv1", "--device", "opencl"
    code, _, err = call(*asked, "--profile")
    assert code == 2
    assert "device cuda or cpu" in err


def test_a_processors_counters_stand_beside_its_bytes(call, call_json, monkeypatch, known_roof):
    from rooftile.lab.show.explain import perf, processor

    values = {"cycles": 2e6, "instructions": 5e6, "branches": 1e5, "branch_misses": 3e3,
              "l1_misses": 1e4, "cache_misses": 100.0}  # fmt: skip
    counts = perf.PerfCounts(values, page_faults=0.25, switches=0.0, calls=40)
    monkeypatch.setattr(processor, "read_counters", lambda *given: counts)
    asked = "explain", "conv2d", "--shape", "lenet-conv1", "--strategy", "im2col", "--profile"
    code, out, _ = call(*asked)
    assert code == 0
    told = " ".join(out.split())
    assert "2 million cycles a call, 5 million instructions: 2.5 a cycle" in told
    assert "640 kB of lines came to L1, 6.4 kB of lines came to the last level" in told
    assert "lie between its parts" in told
    assert "3.0 % of them foretold wrongly" in told
    assert "0.25 page faults and 0 switches" in told
    assert call_json(*asked)["counts"]["values"] == values


def test_a_processor_without_counters_is_told(call, monkeypatch, known_roof):
    from rooftile.lab.show.explain import perf, processor

    for module in (perf, processor):
        monkeypatch.setattr(module, "unreadable", lambda: "the machine shows none")
    asked = "explain", "conv2d", "--shape", "lenet-conv1"
    code, out, _ = call(*asked)
    assert code == 0
    assert "counters: not read: the machine shows none" in out
    code, _, err = call(*asked, "--profile")
    assert code == 1
    assert "the machine shows none" in err


def test_a_picture_is_drawn(call, tmp_path):
    path = tmp_path / "tile.svg"
    asked = (
        "explain",
        "conv1d",
        "--shape",
        "length=40,mask=5",
        "--strategy",
        "tile_two_loads",
        "--config",
        "BLOCK=8",
        "--device",
        "cuda",
        "--architecture",
        "sm_90",
    )
    code, out, _ = call(*asked, "--picture", path)
    assert code == 0
    assert path.read_text(encoding="utf-8").startswith("<svg")
    assert str(path) in out.replace("\n", "")
    code, _, err = call(*asked[:5], "naive", *asked[8:], "--picture", path)
    assert code == 2
    assert "picture" in err
    code, _, err = call("explain", "conv1d", "--picture", path)
    assert code == 2


def test_a_page_draws_the_threads_and_the_loop(call, tmp_path, known_roof):
    path = tmp_path / "softmax.html"
    code, out, _ = call("explain", "softmax", "--shape", "classes=100", "--html", path)
    assert code == 0
    assert path.name in out.replace("\n", "")
    text = path.read_text("utf-8")
    assert "units of work over" in text
    assert "vector registers" in text
    assert "busiest loop:" in text
    assert text.count("<svg") == 1
    ElementTree.fromstring(text[text.index("<svg") : text.index("</svg>") + len("</svg>")])


def test_a_page_of_a_librarys_work_draws_what_lies_between_its_parts(call, tmp_path, known_roof):
    path = tmp_path / "im2col.html"
    asked = "explain", "conv2d", "--shape", "mnist-conv", "--strategy", "im2col", "--html", path
    assert call(*asked)[0] == 0
    text = path.read_text("utf-8")
    assert "a library's threads" in text.replace("&#x27;", "'")
    assert "the unrolled matrix: 163 MB" in text


def test_a_page_of_a_gpus_rung_draws_its_tile(call, tmp_path):
    path = tmp_path / "tile.html"
    asked = ("explain", "conv1d", "--device", "cuda", "--architecture", "sm_90", "--strategy")
    shape = ("--shape", "length=40,mask=5")
    for name, drawn in (("tile_two_loads", True), ("naive", False)):
        config = ("--config", "BLOCK=8") if drawn else ()
        code, _, err = call(*asked, name, "--html", path, *shape, *config)
        assert code == 0, err
        text = path.read_text("utf-8")
        assert ("loaded by the block" in text) == drawn
        assert text.count("<svg") == 1 + drawn
        assert "threads of a block, a warp a row" in text
        assert "a thread loads" in text
        assert "next: " in text
