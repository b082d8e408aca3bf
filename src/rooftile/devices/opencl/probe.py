"""A known kernel that tells whether a release of PoCL compiles correctly.

PoCL 3.0 loses the bound of a store that comes after a barrier in a loop with `continue`: kernels
then write beyond their arrays, which corrupts the process.  The probe is such a kernel.  Its own
array has room for what a wrong compiler stores.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rooftile._files import keep_sealed, sealed
from rooftile._locks import lock
from rooftile.devices.cache import cache_directory
from rooftile.devices.gpu import key_of
from rooftile.devices.opencl.quiet import unheard

TEXT = """
__kernel void probe(__global int* out, int bound, int rows, int first)
{
    __local int held[64];
    int lane = get_local_id(0), place = get_group_id(0) * 64 + lane;
    for (int row = 0; row < rows; row++) {
        if (row + first >= 3) continue;
        held[lane] = lane;
        barrier(CLK_LOCAL_MEM_FENCE);
        int found = held[63 - lane];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (place < bound) out[row * 128 + place] = found;
    }
}
"""
_BOUND, _ROWS, _PLACES, _LANES = 100, 3, 128, 64
_VERDICTS = (b"right", b"wrong")
known: dict[str, bool] = {}
_probing = lock()


def compiles_right(cl: Any, device: Any) -> bool:
    """True if a device stores what the probe's text says; ``cl`` is PyOpenCL.

    The verdict on a release is kept in the cache, for a compilation takes seconds.
    """
    key = key_of(TEXT, device.platform.version, device.version, device.driver_version)
    with _probing:
        if key not in known:
            known[key] = _kept(cl, device, key)
    return known[key]


def _kept(cl: Any, device: Any, key: str) -> bool:
    file = cache_directory() / "opencl" / f"probe-{key}.txt"
    if (found := sealed(file)) is not None:
        return found == b"right"
    right = _runs_right(cl, device)
    keep_sealed(file, _VERDICTS[not right])
    return right


def _runs_right(cl: Any, device: Any) -> bool:
    untouched = -1
    out = np.full((_ROWS, _PLACES), untouched, np.int32)
    expected = out.copy()
    expected[:, :_BOUND] = (_LANES - 1 - np.arange(_PLACES) % _LANES)[:_BOUND]
    try:
        context = cl.Context([device])
        queue = cl.CommandQueue(context)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        memory = cl.Buffer(context, flags, hostbuf=out)
        with unheard(cl.CompilerWarning):
            # PyOpenCL's own cache stays out of it: what is judged is this release's compiler.
            built = cl.Program(context, TEXT).build(["-cl-std=CL1.2", "-w"], cache_dir=False)
        sizes = (np.int32(size) for size in (_BOUND, _ROWS, 0))
        cl.Kernel(built, "probe")(queue, (_PLACES,), (_LANES,), memory, *sizes)
        cl.enqueue_copy(queue, out, memory, is_blocking=True)
    except cl.Error:
        return False
    return bool(np.array_equal(out, expected))
