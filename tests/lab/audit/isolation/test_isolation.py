"""The walls around a stranger's process, from within and from without."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager
from pathlib import Path

import pytest

from rooftile.lab.audit.findings import plain_lines, plain_words
from rooftile.lab.audit.process.arena import HostArena
from rooftile.lab.audit.process.child import Child, Complained

JUDGE = """
import sys
from rooftile.lab.audit import Foreign, audit
from rooftile.ops import parse
audit(Foreign.parse(sys.argv[1] + ":kernel", "cpu"), parse("conv2d", "stride-1", 1))
"""
CLONE = """
import ctypes, platform
libc, clone = ctypes.CDLL(None), {"x86_64": 56, "aarch64": 220}[platform.machine()]
""".strip().replace("\n", "; ")
IGNORED = """
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if not (child := os.fork()):
    os._exit(3)
assert os.waitpid(child, 0)[1] == 3 << 8
"""
HANGS = """
import os
for _ in range(2):
    os.fork()
while True:
    pass
"""


@pytest.fixture
def load(tmp_path):
    """``load(text)``: what keeps a process that reads this file apart; it is read."""
    arena, made = HostArena(4096), []

    def run(text, hide=()):
        path = tmp_path / "kernel.py"
        path.write_text(f"{text}\ndef kernel(): pass", encoding="utf-8")
        child = Child("trampoline.py", arena.fd, 0, 20.0, hide=[*hide])
        made.append(child)
        request = {"do": "load", "file": str(path), "function": "kernel", "arrays": "numpy"}
        return child, {**request, "device": "cpu"}

    yield run
    for child in made:
        child.close()
    arena.close()


def test_what_is_missing_is_said(load):
    child, _ = load("")
    for name in ("PID namespace", "mount namespace", "seccomp", "Landlock"):
        assert (name in child.isolation.in_force) != (name in child.isolation.missing)
    assert "limits" in str(child.isolation)


@pytest.mark.parametrize(
    ("text", "one_of", "said"),
    [
        ("import os; os.kill(os.getppid(), 19)", {"PID namespace", "seccomp"}, "permitted"),
        ("import socket; socket.socket()", {"seccomp"}, "PermissionError"),
        ("open(__file__, 'a')", {"read-only files", "Landlock"}, "Error"),
        ("import signal, ctypes; assert ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)", {"seccomp"}, ""),
        ("import os; open(f'/proc/{os.getppid()}/mem', 'r+b')", {"own /proc", "Landlock"}, "Error"),
        ("import os; open(os.environ['TMPDIR'] + '/mine', 'w')", {"private scratch"}, ""),
        ("import os; assert not [n for n in os.environ if 'ROOFTILE' in n]", {"limits"}, ""),
        ("import os; os.kill(os.getpid(), 18)", {"seccomp"}, "permitted"),
        (f"{CLONE}; assert libc.syscall(clone, 18, 0, 0, 0, 0) < 0", {"seccomp"}, ""),
        ("import os; assert not {'tty', 'pts', 'kmsg'} & {*os.listdir('/dev')}", {"own /dev"}, ""),
        ("open('/dev/null', 'w').write('.'); open('/dev/urandom', 'rb').read(1)", {"limits"}, ""),
        (IGNORED, {"seccomp"}, ""),
    ],
)
def test_a_wall_holds(load, monkeypatch, text, one_of, said):
    monkeypatch.setenv("ROOFTILE_HISTORY", "/nowhere")
    child, request = load(text)
    if not one_of & {*child.isolation.in_force}:
        pytest.skip(f"none of {sorted(one_of)} is to be had: {child.isolation}")
    if said:
        with pytest.raises(Complained, match=said):
            child.ask(request)
    else:
        child.ask(request)


def test_what_is_hidden_is_empty(load, tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "reference").write_text("42")
    child, request = load(f"import os; assert not os.listdir({str(secret)!r})", [secret])
    if "hidden rooftile" not in child.isolation.in_force:
        pytest.skip(f"nothing can be hidden: {child.isolation}")
    child.ask(request)


def test_a_killed_judge_leaves_nothing(tmp_path):
    with judging(tmp_path, HANGS) as (judge, mark):
        deadline = time.monotonic() + 30
        while len(marked(mark)) < 6:
            assert judge.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.parametrize("kernel", ["honest_out.py", "fraud_daemon.py"])
@pytest.mark.parametrize("turn", range(2))
def test_killed_at_any_moment_it_leaves_nothing(tmp_path, kernel, turn):
    kernels = Path(__file__).parents[3] / "frauds" / "kernels"
    shutil.copy(kernels / "_direct.py", tmp_path)
    with judging(tmp_path, (kernels / kernel).read_text()) as _:
        time.sleep(random.uniform(0.1, 1.5))


@contextmanager
def judging(folder, text):
    """A process that judges a kernel; at the end it is killed, and must leave nothing."""
    # Kernels are told few of the user's variables: those of Python are.
    path, mark = folder / "kernel.py", f"PYTHON_OF_THIS_TEST={uuid.uuid4()}"
    path.write_text(text)
    (folder / "tmp").mkdir()
    mounts = Path("/proc/self/mounts").read_text()
    environment = {**os.environ, "TMPDIR": str(folder / "tmp"), **dict([mark.split("=")])}
    judge = subprocess.Popen([sys.executable, "-c", JUDGE, str(path)], env=environment)
    try:
        yield judge, mark
    finally:
        groups = [f"rooftile-audit-{pid}" for pid in marked(mark)]
        judge.kill()
        judge.wait()
    deadline = time.monotonic() + 30
    while marked(mark) or any(map(existing_group, groups)) or os.listdir(folder / "tmp"):
        assert time.monotonic() < deadline, (marked(mark), os.listdir(folder / "tmp"))
        time.sleep(0.05)
    assert Path("/proc/self/mounts").read_text() == mounts


def existing_group(name):
    return any(Path("/sys/fs/cgroup").rglob(name))


def marked(mark):
    """The processes with this in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark.encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


def test_a_strangers_words_are_escaped():
    assert plain_words("\x1b[31mred\u202e\r\nline") == "\\x1b[31mred\\u202e\\r\\nline"
    assert plain_lines("\x1b[31mred\nline") == "\\x1b[31mred\nline"
    assert plain_words("Größe 3 µs") == "Größe 3 µs"
