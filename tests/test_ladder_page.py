"""docs/learn/gpu.md: in step with the records, and what it makes of a record."""

from __future__ import annotations

import re

import pytest

from rooftile.devices.gpu import Description
from rooftile.lab.measure.ceilings.gpu import GpuCeilings
from rooftile.lab.measure.environment import environment
from rooftile.lab.measure.records import Error, KernelResources, Ladder, Row, row_json
from rooftile.ops import named
from rooftile.runtime.timing.host import Timing
from rooftile_papers.reproduce.figures import tables

ROOF = GpuCeilings(
    fma_gflops=60_000.0, read_gbps=4_000.0, copy_gbps=4_200.0, mma_gflops={"tf32": 300_000.0},
    launch_us=9.0, replay_us=1.1, to_device_gbps=20.0, from_device_gbps=18.0,
    to_device_pinned_gbps=55.0, from_device_pinned_gbps=54.0, clocks=None,
)  # fmt: skip
GPU = Description(
    kind="cuda", index=0, name="NVIDIA H200", driver="CUDA 13.0", architecture="sm_90", units=132,
    memory_bytes=2**37, cache_bytes=60 * 2**20, warp=32, threads_per_block=1024,
    threads_per_unit=2048, shared_bytes_per_block=2**17, shared_bytes_per_unit=2**17,
    registers_per_unit=65536, constant_bytes=65536, clock_mhz=1980,
)  # fmt: skip


@pytest.fixture(scope="module")
def script(benchmark_script):
    return benchmark_script("ladder_page")


def passed(kind, name, milliseconds, precision="ieee", **more):
    timing = Timing(milliseconds, milliseconds, milliseconds, milliseconds, 20, True)
    return Row(
        kind, name, "cuda:0", precision, "passed", error=Error(1e-6, 2e-6, 0.25), time_ms=timing,
        cold_ms=timing, first_call_ms=100.0, gflops=1000.0, gbps=1.0, roof_fraction=0.5, **more,
    )  # fmt: skip


@pytest.fixture
def record():
    rows = (
        passed("strategy", "naive", 40.0, resources=KernelResources(40, 0, 0, 0.75)),
        Row("strategy", "restrict_unroll", "cuda:0", "ieee", "skipped", "it is Sunday"),
        passed("strategy", "constant", 10.0, reason="weights apart"),
        passed("peer", "torch eager", 30.0),
    )
    found = Ladder(named("conv2d", "lab-conv5", 1), "cuda:0", ROOF, environment(), rows, GPU)
    return {"shape": "lab-conv5", "peers": {"torch": "2.11.0"}, **found.to_json()}


def test_the_page_is_in_step_with_the_records(script):
    assert script.PAGE.read_text(encoding="utf-8") == script.page(
        script.records(), script.table_times()
    )
    assert script.WHOLE.read_text(encoding="utf-8") == script.whole(
        script.records(), script.table_times()
    )


def test_each_rung_says_what_it_changes(script):
    page = script.page({}, {})
    for rung in script.ladder("conv2d", "cuda"):
        assert f"### `{rung.name}`" in page
    assert "repeated reads of global memory" in page
    assert page.count("has no record yet") == len(script.PROBLEMS)


def test_gains_are_over_the_last_rung_that_has_a_time(script, record):
    page = script.page({"lab-conv5": record}, {})
    assert "- `lab-conv5`: 10 ms, 1.00 TFLOP/s: 4.00 times the speed of `naive`" in page
    assert "- `lab-conv5`: skipped, it is Sunday" in page
    assert "not in the record" not in page


def test_what_the_record_lacks_is_taken_from_the_table(script, record):
    page = script.page({"lab-conv5": record}, {("lab-conv5", "winograd"): 1.5})
    assert page.count("- `lab-conv5`: 1.5 ms, in the run of [the table](../reference/h200.md)") == 1
    assert script.table_times()["lenet-conv1", "direct_bulk"] > 0


def test_a_table_has_every_row_with_its_resources_and_remarks(script, record):
    lines = script.whole({"lab-conv5": record}, {}).splitlines()
    (naive,) = [line for line in lines if line.startswith("| `naive`")]
    cells = [cell.strip() for cell in naive.strip("|").split("|")]
    assert cells[1:6] == ["ieee", "40", "40", "1.00", "1.0e-06"]
    assert cells[6:12] == ["0.25", "50%", "40", "0", "0", "75%"]
    assert any(line.startswith("| torch eager | ieee | 30 |") for line in lines)
    assert any(line.startswith("| `restrict_unroll` | ieee | skipped |") for line in lines)
    assert "- constant: weights apart" in lines
    assert not any(line.startswith("- Newer") for line in lines)
    assert any("`constant`, 3.00 times the speed of the fastest peer" in line for line in lines)
    short = script.page({"lab-conv5": record}, {})
    assert "| `naive` | ieee | 40 | 1.00 | 50% | 40 | 75% |" in short
    assert "| skipped |" not in short


def test_a_record_names_the_rungs_that_only_the_table_has(script, record):
    times = {("lab-conv5", "naive"): 1.0, ("lab-conv5", "fft"): 2.0, ("lenet-conv1", "im2col"): 3.0}
    page = script.page({"lab-conv5": record}, times)
    assert "- Newer, in the run of [the table](../reference/h200.md): `fft`.\n" in page


def test_published_figures_stand_beside_the_rungs_of_their_variants(script, record):
    variants = {"row_global": 420, "row_private": 130, "row_local": 635, "row_pair": 655}
    rows = [{**record["rows"][0], "strategy": name} for name in (*variants, "naive")]
    page = script.whole({"lab-conv5": {**record, "rows": rows}}, {})
    for name, rate in variants.items():
        (line,) = [line for line in page.splitlines() if line.startswith(f"| `{name}`")]
        assert line.endswith(f"| about {rate} |")
    (naive,) = [line for line in page.splitlines() if line.startswith("| `naive`")]
    assert naive.endswith("|  |")
    assert "| published" not in script.whole({"lenet-conv1": record}, {})


def test_each_published_figure_of_the_page_is_that_of_its_rungs_row(script):
    """A rung's section has its variant's number, with document and place; no other has one."""
    sections = script.PAGE.read_text(encoding="utf-8").split("\n### ")[1:]
    found = {}
    for section in sections:
        name = re.match(r"`(\w+)`", section)[1]
        for line in re.findall(r"^- published for .*$", section, re.MULTILINE):
            rate, document, place = re.search(r"about (\S+) GFLOP/s \((.*?), (.*)\)", line).groups()
            found[name] = float(rate), document, place
    figures = tables()["opencl.variants"].figures
    assert found == {one.key: (one.value, one.document, one.place) for one in figures}


def test_records_without_ceilings_are_left_out(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "RESULTS", tmp_path)
    (tmp_path / "h200-lab-conv5.json").write_text('{"rows": []}')
    assert script.records() == {}


def test_a_rung_is_compared_with_peers_of_its_own_precision_only(script, record):
    rows = [
        passed("strategy", "pool_folded_fp16", 5.0, "fp16"),
        passed("strategy", "winograd", 4.0, "fast"),
        passed("strategy", "pool_folded_tf32", 2.0, "tf32"),
        passed("peer", "torch compile", 20.0, "fp16"),
    ]
    more = [row_json(row) for row in rows]
    page = script.page({"lab-conv5": {**record, "rows": record["rows"] + more}}, {})
    said = [line for line in page.splitlines() if line.startswith("- Fastest")]
    assert [line.split(", ", 1) for line in said] == [
        ["- Fastest here at `ieee`: `constant`",
         "3.00 times the speed of the fastest peer, torch eager (`ieee`)."],
        ["- Fastest here at `fast`: `winograd`",
         "7.50 times the speed of the fastest peer, torch eager (`ieee`)."],
        ["- Fastest here at `fp16`: `pool_folded_fp16`",
         "4.00 times the speed of the fastest peer, torch compile (`fp16`)."],
    ]  # fmt: skip
    assert "compared with a peer of another precision" in page
    assert "float32 without TF32.\n" in script.page({"lab-conv5": record}, {})


def test_ceilings_show_every_matrix_rate_with_what_cublas_reaches(script, record):
    page = script.page({"lab-conv5": record}, {})
    assert "| `mma.sync` tf32, TFLOP/s | 300 | 350 |" in page
    assert "`wgmma` tf32" not in page
    assert "hence the difference" in page
    more = {"wgmma_gflops": {"tf32": 420_000.0}, "wgmma_zeros_gflops": {"tf32": 500_000.0}}
    page = script.page({"lab-conv5": {**record, "ceilings": {**record["ceilings"], **more}}}, {})
    assert "| `mma.sync` tf32, TFLOP/s | 300 |  |" in page
    assert "| `wgmma` tf32, TFLOP/s | 420 | 350 |" in page
    assert "| `wgmma` of zeros tf32, TFLOP/s | 500 |  |" in page
    assert "decides the power" in page
    old = {k: v for k, v in record["ceilings"].items() if not k.startswith("wgmma")}
    assert "| 300 | 350 |" in script.page({"lab-conv5": {**record, "ceilings": old}}, {})
