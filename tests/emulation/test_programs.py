"""Programs of emulated kernels in the cache: one that is not as it was made is made again."""

from __future__ import annotations

import subprocess

import pytest

from rooftile.lab.emulation import missing, program
from tests.support.garbage import GARBAGE


@pytest.mark.skipif(bool(missing()), reason=missing())
@pytest.mark.parametrize("kind", ["truncated", "exchanged", "a directory", "unreadable"])
def test_garbage_is_compiled_anew(kind, tmp_path):
    made, texts = [], ("int main() { return 3; }", "int main() { return 4; }")

    def answers():
        made[:] = [
            program.made_program(tmp_path / name, "address", ("-x", "c++", "-"), 60, text)
            for name, text in zip(("one", "other"), texts, strict=True)
        ]
        return [subprocess.run([path]).returncode for path in made]

    assert answers() == [3, 4]
    for path in made:
        GARBAGE[kind](path, made)
    assert answers() == [3, 4]
