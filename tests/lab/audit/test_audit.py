from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.errors import InputError
from rooftile.lab.audit import CHECKS, Foreign, audit
from rooftile.lab.audit.checks.rounding import CLAIMS, ROUNDINGS, check_claim
from rooftile.lab.audit.findings import Findings
from rooftile.lab.audit.isolation.processes import running_libraries
from rooftile.lab.audit.isolation.supervised import environment
from rooftile.lab.audit.launch import LaunchLine, evaluate, names_of
from rooftile.lab.audit.poison import HEAP, bits, heap_bits, poison, strength, too_many
from rooftile.lab.audit.process import trampoline
from rooftile.lab.audit.process.arena import GUARD, HostArena, layout
from rooftile.lab.audit.process.child import Child, Complained, Died
from rooftile.ops import Array, Conv2d, Linear, Pool, Pool2d, Softmax, named

PROBLEM = Conv2d(6, 2, 20, 24, 3, (3, 5), padding=(1, 2), activation="relu")


class TestLaunchLine:
    def test_expressions_of_the_problem(self):
        line = LaunchLine.parse(
            "grid=ceil(columns/16),ceil(rows/16),batch*maps block=16,8 shared=4*(16+2)*(8+2) "
            "args=x,weights,bias,out,height,min(width,7) define=P:mask_height,FUSED"
        )
        launch = line.launch("conv", PROBLEM)
        assert (launch.grid, launch.block, launch.shared_bytes) == ((2, 2, 18), (16, 8, 1), 720)
        assert line.macros(PROBLEM) == {"P": 3, "FUSED": 1}
        assert line.arguments(PROBLEM) == ["x", "weights", "bias", "out", 20, 7]

    def test_every_output_is_an_argument(self):
        line = LaunchLine.parse("grid=1 block=1 args=x,weights")
        with pytest.raises(InputError, match="args without out"):
            line.arguments(PROBLEM)

    @pytest.mark.parametrize(
        ("expression", "expected"),
        [
            ("columns/16", "whole number"),
            ("__import__('os').system('true')", "not allowed"),
            ("x.shape", "not allowed"),
            ("2**1000", "not allowed"),
            ("depth", "a name among"),
            ("1//0", "division"),
            ("(", "integers and names"),
            ("1.5", "not allowed"),
            ("ceil(" * 50 + "1" + ")" * 50, "at most"),
        ],
    )
    def test_nothing_else_of_python_is_reachable(self, expression, expected):
        with pytest.raises(InputError, match=expected):
            evaluate(expression, names_of(PROBLEM))

    @pytest.mark.parametrize("line", ["", "grid=1 block=1", "grid=1,1,1,1 block=1 args=x", "a b=1"])
    def test_a_line_must_be_whole(self, line):
        with pytest.raises(InputError):
            LaunchLine.parse(line)

    @given(st.integers(1, 500), st.integers(1, 64))
    def test_a_ceiling_covers(self, size, tile):
        blocks = evaluate(f"ceil(size/{tile})", {"size": size})
        assert (blocks - 1) * tile < size <= blocks * tile

    def test_a_pool_has_names(self):
        names = names_of(named("conv2d", "lenet-conv1", 2))
        assert (names["pool_window_height"], names["rows"], names["out_size"]) == (2, 40, 12800)


class TestForeign:
    @pytest.fixture
    def file(self, tmp_path):
        (tmp_path / "kernel.py").write_text("", encoding="utf-8")
        (tmp_path / "kernel.cu").write_text("", encoding="utf-8")
        return tmp_path

    def test_a_function_of_a_file(self, file):
        kernel = Foreign.parse(f"{file}/kernel.py:conv", "cpu")
        assert (kernel.function, kernel.text, kernel.kind) == ("conv", False, "cpu")

    @pytest.mark.parametrize(
        ("given", "device", "arrays", "launch", "argument"),
        [
            ("kernel.py", "cpu", "auto", "", "kernel"),
            ("missing.py:conv", "cpu", "auto", "", "kernel"),
            ("kernel.py:conv", "opencl", "auto", "", "device"),
            ("kernel.cu:conv", "cpu", "auto", "grid=1 block=1 args=x", "device"),
            ("kernel.py:conv", "cpu", "cupy", "", "arrays"),
            ("kernel.py:conv", "cpu", "auto", "grid=1 block=1 args=x", "launch"),
            ("kernel.cu:conv", "cuda", "auto", "", "launch"),
        ],
    )
    def test_what_cannot_be_says_which_argument(
        self, file, given, device, arrays, launch, argument
    ):
        with pytest.raises(InputError) as caught:
            Foreign.parse(f"{file}/{given}", device, arrays, launch)
        assert caught.value.argument == argument


class TestShapes:
    @pytest.mark.parametrize(
        "problem",
        [
            PROBLEM,
            named("conv2d", "lenet-conv2"),
            named("conv2d", "stride-4"),
            Linear(8, 64, 32, "relu"),
            Pool2d(4, 8, 32, 32, Pool.of("max", 3, 2)),
            Softmax(128, 10),
        ],
    )
    def test_neighbours_are_small_and_fit_no_tile(self, problem):
        found = problem.neighbours()
        assert found
        for one in found:
            assert one.flops <= 10**8
            assert type(one) is type(problem)
        first = found[0].input_shape[1:]
        assert all(size % 2 for size in first)
        least = problem.smallest()
        assert least[0].batch == 1
        assert np.prod(least[0].output_shape[2:]) == 1
        fixed = ("mask", "stride", "padding", "activation", "pool")
        for one in (*found, *least):
            for name in fixed:
                assert getattr(one, name, None) == getattr(problem, name, None)


class TestRounding:
    @given(st.floats(-6e4, 6e4, width=32).filter(lambda v: v == 0 or abs(v) > 1e-4))
    def test_rounded_values_are_within_the_unit(self, value):
        given = np.array([value], np.float32)
        for name, rounded in ROUNDINGS.items():
            unit = 2 * CLAIMS["tf32"].unit if name == "tf32, cut" else CLAIMS[name].unit
            assert abs(float(rounded(given)[0]) - float(given[0])) <= unit * abs(float(given[0]))
            assert rounded(rounded(given)) == rounded(given)

    def test_a_claim_is_one_of_those(self):
        check_claim("tf32")
        with pytest.raises(InputError):
            check_claim("fp8")


@pytest.mark.parametrize("wrong", [{"limit_s": 0.0}, {"seed": -1}, {"precision": "exact"}])
def test_wrong_arguments_are_refused_before_the_kernel_runs(wrong):
    with pytest.raises(InputError, match=next(iter(wrong)).removesuffix("_s")):
        audit(Foreign(Path(__file__), "kernel", "cpu", "numpy"), PROBLEM, **wrong)


def test_a_failure_stays():
    findings = Findings()
    findings.passed("cache")
    findings.failed("cache", "first")
    findings.failed("cache", "second")
    findings.passed("cache")
    findings.skipped("cache", "third")
    (check,) = (one for one in findings.checks() if one.name == "cache")
    assert (check.status, check.evidence) == ("failed", "first")
    assert not findings.right
    assert [one.name for one in findings.checks()] == list(CHECKS)


def test_a_stranger_is_told_no_keys(monkeypatch):
    for name in ("AWS_SECRET_ACCESS_KEY", "ROOFTILE_CACHE_DIR", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "something")
    told = environment(isolate=True)
    assert told["OMP_NUM_THREADS"] == "something"
    assert told["PATH"] == os.environ["PATH"]
    assert not {"AWS_SECRET_ACCESS_KEY", "ROOFTILE_CACHE_DIR"} & told.keys()


def test_arrays_and_guards_do_not_overlap():
    slots, nbytes = layout(PROBLEM, 3, "cpu")
    taken = np.zeros(nbytes, int)
    for slot in slots:
        for place in slot.given:
            taken[place.offset : place.offset + place.array.nbytes] += 1
            assert place.offset % 16 == 0
        (place,) = slot.outs
        taken[place.offset - GUARD : place.offset + place.array.nbytes + GUARD] += 1
        # No more than NumPy promises: a wider alignment would hide a wrong assumption.
        assert place.offset % 32 == 16
    assert taken.max() == 1


class TestPoison:
    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
    def test_a_number_holds_a_nan(self, dtype):
        out = Array("out", (5, 3), dtype, "output")
        generator = np.random.default_rng()
        made, again = (poison(out, GUARD, generator).view(out.numpy) for _ in range(2))
        inside = slice(GUARD // out.numpy.itemsize, GUARD // out.numpy.itemsize + out.size)
        assert np.isnan(made[inside]).all()
        assert made.nbytes == out.nbytes + 2 * GUARD
        assert too_many(1, 10**9, strength(out))
        # Nobody knows the poison or the guards: they are others in each call.
        assert (bits(made) != bits(again)).mean() > 0.9
        plain = poison(out, GUARD, generator, plain=True).view(out.numpy)
        assert np.isfinite(plain[inside]).all()

    @pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "bool"])
    def test_an_integer_holds_other_bits_in_each_run(self, dtype):
        out, generator = Array("out", (10000,), dtype, "output"), np.random.default_rng(1)
        some, others = (poison(out, 0, generator).view(out.numpy) for _ in range(2))
        assert set(np.unique(some.view(np.uint8))) == set(range(2 if dtype == "bool" else 256))
        equal = int((some == others).sum())
        assert not too_many(equal, out.size, strength(out))
        assert too_many(equal + 600, out.size, strength(out))

    def test_what_lay_in_memory_is_known_at_every_width(self):
        memory = np.full(8, HEAP, np.uint32)
        for dtype in ("float16", "float32", "int64", "uint8"):
            assert (bits(memory.view(dtype)) == heap_bits(memory.view(dtype))).all()


def ticks(pid):
    """Of the clock, that a process has used."""
    return Path(f"/proc/{pid}/stat").read_text().split(")")[-1].split()[11:13]


class TestChild:
    @pytest.fixture
    def load(self, tmp_path):
        arena, made = HostArena(4096), []

        def start(text, limit_s=20.0):
            path = tmp_path / "kernel.py"
            path.write_text(text, encoding="utf-8")
            child = Child("trampoline.py", arena.fd, 0, limit_s, hide=[])
            made.append(child)
            request = {"do": "load", "file": str(path), "function": "kernel", "arrays": "auto"}
            return child, {**request, "device": "cpu"}

        yield start
        for child in made:
            child.close()
        arena.close()

    def test_it_is_frozen_unless_it_is_asked(self, load):
        busy = "import threading; threading.Thread(target=lambda: all(iter(int, 1))).start()"
        child, request = load(f"{busy}\ndef kernel(): pass")
        answer, seconds = child.ask(request)
        assert answer.text == "numpy"
        assert seconds > 0
        used = ticks(child.pid)
        if "cgroup freezer" in child.isolation.in_force:
            os.kill(child.pid, signal.SIGCONT)
        time.sleep(0.05)
        assert ticks(child.pid) == used

    def test_what_it_runs_is_seen_from_outside(self, load):
        child, request = load("while True: pass")
        child.begin(request)
        seen = []
        for _ in range(50):
            child.answered(0.02)
            child.freeze()
            try:
                seen += running_libraries(child.pid)
            except OSError as error:
                pytest.skip(f"the system does not let one process look at another: {error}")
            child.go_on()
        assert any("python" in Path(name).name for name in seen), seen

    @pytest.mark.parametrize(
        ("text", "how"),
        [
            ("import os; os._exit(3)", "ended its process with exit code 3"),
            ("import os; os.abort()", "SIGABRT"),
            ("while True: pass", "did not answer within 0.5 s"),
            (
                "import mmap, os, sys; memory, _, done = map(int, sys.argv[1:4]);"
                "mmap.mmap(memory, 4096)[:3] = b'\\xff\\xff\\xff';"
                "os.write(done, b'.'); __import__('time').sleep(2)",
                "no answer",
            ),
            ("import os, sys; os.close(int(sys.argv[3])); os._exit(0)", "exit code 0"),
            ("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", "stopped itself"),
            ("while True: print('much' * 10**6)", "printed more than 16 MiB"),
        ],
    )
    def test_an_end_is_told(self, load, text, how):
        child, request = load(text, 0.5 if text.endswith("pass") else 20.0)
        with pytest.raises(Died, match=how):
            child.ask(request)

    @pytest.mark.parametrize(
        ("text", "kind", "what"),
        [
            ("raise ValueError('no')", "raised", "ValueError: no"),
            ("raise SystemExit(0)", "exit", "ended the process"),
            ("def other(): pass", "usage", "no function 'kernel'"),
        ],
    )
    def test_an_error_is_told(self, load, text, kind, what):
        child, request = load(text)
        with pytest.raises(Complained, match=what) as caught:
            child.ask(request)
        assert caught.value.kind == kind

    def test_much_printing_hangs_nothing(self, load):
        child, request = load("print('noise' * 10**6)\ndef kernel(): pass")
        child.ask(request)
        assert child.noise.endswith("noise")
        assert len(child.noise) <= 2000


@pytest.mark.parametrize("kind", ["torch", "cupy"])
def test_arrays_of_a_gpu_open_the_driver_once_the_library_has_a_context(kind, monkeypatch):
    """On fakes of the libraries: what is opened, and after what."""
    calls = []

    def seen(name):
        return lambda *_, **__: calls.append(name)

    torch = SimpleNamespace(
        set_grad_enabled=seen("gradients"),
        zeros=seen("context"),
        cuda=SimpleNamespace(set_device=seen("device")),
    )
    cupy = SimpleNamespace(
        zeros=seen("context"),
        cuda=SimpleNamespace(
            Device=lambda index: SimpleNamespace(use=seen("device")), get_elapsed_time=None
        ),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    request = {"device": "cuda:1"}

    def driver(asked):
        assert asked is request
        calls.append("driver")
        return SimpleNamespace(base=4096)

    made = trampoline.sibling("worker_arrays").library(kind, request, None, driver)
    assert calls[-3:] == ["device", "context", "driver"]
    assert made._driver.base == 4096
    assert callable(trampoline.sibling("worker_driver").Driver)
