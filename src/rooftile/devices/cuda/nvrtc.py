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
def library() -> Any:
    """NVRTC, as NVIDIA's package finds it. Raises `DeviceMissing`."""
    try:
        found = imported("cuda.pathfinder").load_nvidia_dynamic_lib("nvrtc")
        return ctypes.CDLL(found.abs_path)
    except (ImportError, OSError, RuntimeError) as error:
        raise DeviceMissing(f"NVRTC, NVIDIA's compiler ({error})", INSTALL) from None


def compiled(source: str, options: Sequence[str]) -> bytes:
    """The cubin of a source.  Raises `Refused`, `DeviceMissing`."""
    return compiled_kernel(source, options)[0]


def compiled_kernel(source: str, options: Sequence[str], name: str = "") -> tuple[bytes, str]:
    """The cubin of a source, and the name that a C++ kernel has in it: of `tile`, or of `tile<16>`,
    an instance of a template.  Raises `Refused`, `DeviceMissing`."""
    nvrtc, program = library(), ctypes.c_void_p()
    made = nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), _NAME, 0, None, None)
    if made:
        raise Refused(f"NVRTC's error {made}")
    try:
        if name and nvrtc.nvrtcAddNameExpression(program, name.encode()):
            raise Refused(f"{name} is no name of a kernel")
        words = [option.encode() for option in options]
        given = (ctypes.c_char_p * len(words))(*words)
        if nvrtc.nvrtcCompileProgram(program, len(words), given):
            log = _read(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
            raise Refused(log.rstrip(b"\0").decode(errors="replace"))
        lowered = ctypes.c_char_p()
        if name and nvrtc.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(lowered)):
            raise Refused(f"the text has no kernel {name}")
        code = _read(program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
        return code, (lowered.value or b"").decode()
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _read(program: ctypes.c_void_p, tell: Callable[..., int], write: Callable[..., int]) -> bytes:
    """Bytes whose size one function tells, and which another writes."""
    size = ctypes.c_size_t()
    code = tell(program, ctypes.byref(size))
    room = ctypes.create_string_buffer(size.value)
    code = code or write(program, room)
    if code:
        raise Refused(f"NVRTC's error {code}")
    return room.raw
