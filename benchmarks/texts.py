"""LLVM's texts of the package's C, which users need no C compiler for.

    python benchmarks/texts.py [--clang clang-15]

Each ``NAME.c`` becomes ``NAME.ll`` beside it, for any processor with 64-bit addresses: what clang
says of its target is left out, and LLVM compiles the text for the user's processor.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np

DEVICES = Path(__file__).resolve().parent.parent / "src/rooftile/devices"
SOURCES = {
    "cpu/quick.c": ("cpu/team.h",),
    "cpu/team.c": ("cpu/team.h",),
    "cuda/replay.c": (),
}
"""Files of C, and which of the package's headers they include."""
_TARGET = "x86_64-linux-gnu"
_FLAGS = (
    *("-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-fno-strict-aliasing"),
    *("-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops", "-fno-discard-value-names"),
)
_LEFT_OUT = (
    r"^(source_filename|target|attributes|!).*\n",
    r"^; (ModuleID|Function Attrs).*\n",
    r"^.*@llvm\.lifetime\..*\n",
    r",? !(tbaa|llvm\.loop|srcloc|range) !\d+",
    r" +; preds = .*",
    r" #\d+",
    r" (local_unnamed_addr|unnamed_addr|dso_local)\b",
    r" (noundef|nocapture|nonnull|readonly|writeonly|readnone|noalias)\b",
    r" (align|dereferenceable)\(?\d+\)?(?= %)",
)
"""What depends on clang's version or target, or only helps to optimise."""


def digest(source: str) -> str:
    """That of a file of C with the headers that it includes."""
    files = (source, *SOURCES[source])
    return hashlib.sha256(b"".join((DEVICES / file).read_bytes() for file in files)).hexdigest()


def tools(clang: str) -> str:
    """The compiler, and whose headers it reads."""
    told = subprocess.run([clang, "--version"], check=True, stdout=subprocess.PIPE, text=True)
    python = ".".join(map(str, sys.version_info[:2]))
    return f"{told.stdout.splitlines()[0]}, Python {python}, NumPy {np.__version__}"


def text_of(source: str, clang: str) -> str:
    """The text of a file of C.  Raises `subprocess.CalledProcessError` where clang refuses it."""
    headers = (np.get_include(), sysconfig.get_path("include"))
    command = [clang, "-target", _TARGET, *_FLAGS, *(f"-isystem{path}" for path in headers)]
    command += ["-S", "-emit-llvm", str(DEVICES / source), "-o", "-"]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    for pattern in _LEFT_OUT:
        text = re.sub(pattern, "", text, flags=re.MULTILINE)
    name = source.rpartition("/")[2]
    head = (
        f"; LLVM's text of {name}, by `make texts` with\n"
        f"; {tools(clang)}\n"
        f"; SHA-256 of the C: {digest(source)}\n"
    )
    return head + re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--clang", default="clang-15", help="a compiler, by default clang-15")
    options = parser.parse_args()
    for source in SOURCES:
        path = (DEVICES / source).with_suffix(".ll")
        path.write_text(text_of(source, options.clang), "utf-8")
        print(path.relative_to(DEVICES))


if __name__ == "__main__":
    main()
