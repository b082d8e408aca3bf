"""What an installation of the core takes on a disk, in README.md and docs/do/data-and-weights.md.

    python benchmarks/installation.py --measure   # builds a wheel, installs it in a new environment
    python benchmarks/installation.py             # the pages, from the record

The record is ``benchmarks/results/installation.json``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

from pages import filled

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "benchmarks" / "results" / "installation.json"
README, PAGE = ROOT / "README.md", ROOT / "docs" / "do" / "data-and-weights.md"
MARK = "installed"
_TOOLS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence.pth")
"""What an environment has before anything is installed."""
_DOWNLOADS = ("pooch", "requests", "urllib3", "certifi", "charset_normalizer", "idna")

Record = dict[str, Any]


def measure() -> Record:
    """Bytes of the wheel, and of what it brings, as the disk holds it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        wheels, environment = place / "wheels", place / "environment"
        _pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", str(wheels), str(ROOT))
        (wheel,) = wheels.glob("*.whl")
        venv.create(environment, with_pip=True)
        _pip(str(environment / "bin" / "python"), "install", str(wheel))
        (packages,) = environment.glob("lib/python*/site-packages")
        sizes: dict[str, int] = {}
        for path in packages.iterdir():
            if not path.name.startswith(_TOOLS):
                name = path.name.partition("-")[0].partition(".")[0].lower()
                sizes[name] = sizes.get(name, 0) + _bytes_on_disk(path)
        return {
            "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            "wheel_bytes": wheel.stat().st_size,
            "bytes": dict(sorted(sizes.items())),
        }


def _pip(python: str, *words: str) -> None:
    quiet = ("--quiet", "--disable-pip-version-check")
    subprocess.run([python, "-m", "pip", *words, *quiet], check=True)


def _bytes_on_disk(path: Path) -> int:
    """As ``du`` counts them."""
    every = [path, *path.rglob("*")] if path.is_dir() else [path]
    return sum(512 * one.lstat().st_blocks for one in every)


def readme(record: Record) -> list[str]:
    """The README's sentence."""
    sizes = record["bytes"]
    return [
        f"The core takes {_mb(sum(sizes.values()))} on a disk, of which {_mb(sizes['llvmlite'])} "
        f"are LLVM, which compiles the CPU's kernels, and {_mb(sizes['numpy'])} NumPy",
        "([more](docs/do/data-and-weights.md#what-an-installation-takes)).",
    ]


def page(record: Record) -> list[str]:
    """The paragraph of docs/do/data-and-weights.md."""
    sizes = record["bytes"]
    return [
        f"On {record['system']}, Python {record['python']}, {record['time'][:10]}, by `python "
        "benchmarks/installation.py --measure`:",
        f"the core takes {_mb(sum(sizes.values()))} in a fresh environment, as `du` counts: "
        f"{_mb(sizes['llvmlite'])} are llvmlite, which",
        f"brings LLVM, {_mb(sizes['numpy'])} NumPy, and {_mb(sizes['rooftile'])} rooftile itself "
        f"with what Python compiled. Its wheel is {_mb(record['wheel_bytes'])}.",
        f"pooch and what it downloads with take {_mb(sum(sizes[name] for name in _DOWNLOADS))}.",
    ]


def _mb(count: int) -> str:
    return f"{count / 2**20:.0f} MB"


def main() -> None:
    """Measure where that is asked for, and fill the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--measure", action="store_true", help="install anew first")
    if parser.parse_args().measure:
        RECORD.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    for path, words in ((README, readme(record)), (PAGE, page(record))):
        path.write_text(filled(path.read_text("utf-8"), words, MARK), encoding="utf-8")


if __name__ == "__main__":
    main()
