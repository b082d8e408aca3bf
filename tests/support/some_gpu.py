"""A GPU that is not there: enough of one for what asks only for its description."""

from types import SimpleNamespace

from rooftile.devices.gpu import Description
from rooftile.strategies.contract.machine import preset


def some_gpu(architecture):
    machine = preset(architecture)
    description = Description(
        kind="cuda", index=0, name=f"a GPU of {architecture}", driver="CUDA 13.0",
        architecture=architecture, units=machine.multiprocessors, memory_bytes=2**34,
        cache_bytes=2**25, warp=32, threads_per_block=1024, threads_per_unit=2048,
        shared_bytes_per_block=machine.block_shared_bytes,
        shared_bytes_per_unit=machine.shared_bytes, registers_per_unit=machine.registers,
        constant_bytes=2**16, clock_mhz=1500,
    )  # fmt: skip
    return SimpleNamespace(description=description)
