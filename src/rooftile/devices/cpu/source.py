"""Generated Python source as real files in the user's cache, imported by path.

Numba's disk cache only serves functions that live in files.  A file's name
carries a hash of its text and of the package's modules that the text imports, so a
file is written once, never changed, and never stale.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path
from types import ModuleType

import numba

from rooftile._files import write_atomically
from rooftile.devices.cache import cache_directory

_lock = threading.RLock()
_IMPORT = re.compile(r"^from (rooftile[\w.]*) import", re.MULTILINE)


@cache
def _writable_directory() -> Path:
    directory = cache_directory() / "kernels"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return directory
    except OSError:
        # With a read-only home calls still work; each process compiles anew.
        return Path(tempfile.mkdtemp(prefix="rooftile-kernels-"))


def _imported(text: str) -> str:
    """Sources of the package's modules that a text imports, and of those that they import."""
    found: dict[str, str] = {}
    waiting = _IMPORT.findall(text)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        spec = importlib.util.find_spec(name)
        origin = spec.origin if spec is not None else None
        found[name] = Path(origin).read_text(encoding="utf-8") if origin else ""
        waiting += _IMPORT.findall(found[name])
    return "\0".join(found[name] for name in sorted(found))


def load(stem: str, text: str) -> ModuleType:
    """Import generated source, writing it to the cache first where it is new.

    ``stem`` makes the file findable by a person.
    """
    versions = f"{numba.__version__} {sys.version_info[:2]}"
    key = hashlib.sha256("\0".join([text, _imported(text), versions]).encode())
    name = f"rooftile_kernel_{stem}_{key.hexdigest()[:16]}"
    with _lock:
        if name in sys.modules:
            return sys.modules[name]
        path = _writable_directory() / f"{name}.py"
        if not path.exists():
            write_atomically(path, text.encode())
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module
