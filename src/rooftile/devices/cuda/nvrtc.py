"""NVRTC, NVIDIA's compiler at run time, through `ctypes`: it needs no driver."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from rooftile.devices.first_use import imported
from rooftile.errors import DeviceMissing

INSTALL = 'pip install "cuda-core[cu13]>=0.4", which brings NVRTC too'
_NAME = b"rooftile"


class Refused(Exception):
    """The compiler's log of a text that it does not take."""


@cache
def _library() -> Any:
    """Where NVIDIA's package for that finds it.  Raises `DeviceMissing`."""
    try:
        found = imported("cuda.pathfinder").load_nvidia_dynamic_lib("nvrtc")
        return ctypes.CDLL(found.abs_path)
    except (ImportError, OSError, RuntimeError) as error:
        raise DeviceMissing(f"NVRTC, NVIDIA's compiler ({error})", INSTALL) from None


def compiled(source: str, options: Sequence[str]) -> bytes:
    """The cubin of a source.  Raises `Refused`, `DeviceMissing`."""
    nvrtc, program = _library(), ctypes.c_void_p()
    made = nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), _NAME, 0, None, None)
    if made:
        raise Refused(f"NVRTC's error {made}")
    try:
        words = [option.encode() for option in options]
        given = (ctypes.c_char_p * len(words))(*words)
        if nvrtc.nvrtcCompileProgram(program, len(words), given):
            log = _read(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
            raise Refused(log.rstrip(b"\0").decode(errors="replace"))
        return _read(program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _read(program: ctypes.c_void_p, tell: Callable[..., int], write: Callable[..., int]) -> bytes:
    """What one function tells the size of, and another writes."""
    size = ctypes.c_size_t()
    code = tell(program, ctypes.byref(size))
    room = ctypes.create_string_buffer(size.value)
    code = code or write(program, room)
    if code:
        raise Refused(f"NVRTC's error {code}")
    return room.raw
