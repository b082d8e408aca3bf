"""Launches whose arguments are made once: a start only writes addresses and calls the driver."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile.devices.cuda.contexts import address_of
from rooftile.devices.cuda.driver import check, library
from rooftile.devices.cuda.tensor_map import Descriptor
from rooftile.devices.gpu import Argument, TensorMap
from rooftile.devices.launches import Call, FillConstant

_POINTER_BYTES = 8


class _Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        *((name, ctypes.c_uint) for name in ("x", "y", "z", "across", "down", "deep", "shared")),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint),
    )


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute of an integer value."""

    _fields_ = (
        ("name", ctypes.c_int),
        ("_", ctypes.c_int),
        ("value", ctypes.c_int),
        ("_rest", ctypes.c_char * 60),
    )


_OVERLAPS = _Attribute(6, 0, 1)
"""CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION."""
_COOPERATIVE = _Attribute(2, 0, 1)
"""CU_LAUNCH_ATTRIBUTE_COOPERATIVE."""


class CudaLaunches:
    """See `rooftile.devices.launches.Launches`; starts take turns.

    The driver has read a launch's arguments when the call that launches it returns, so one copy of
    them serves every start.
    """

    def __init__(
        self, device: Any, work: Sequence[Call | FillConstant], names: Sequence[str]
    ) -> None:
        self._device = device
        self._numbers = {name: number for number, name in enumerate(names)}
        self._addresses: Any = (ctypes.c_uint64 * max(1, len(names)))()
        self._all = slice(0, len(names))
        self._started_on = 0
        self._stream = ctypes.c_void_p()
        self._configs: list[_Config] = []
        self._maps: list[tuple[int, Descriptor]] = []
        self._sources: list[tuple[int, int, ctypes.c_uint64]] = []
        self._held: list[Any] = [work]
        self._calls = [self._made(one) for one in work]
        self._follows = bool(self._maps or self._sources)
        self._turn = threading.Lock()
        self.overlaps = len(work) == 1 and isinstance(work[0], Call) and work[0].launch.overlaps

    def start(self, buffers: Sequence[Any], stream: int = 0) -> None:
        """See `Launches.start`; or on another stream than the present one, by its address."""
        # As a block with the lock, in half of the time.
        self._turn.acquire()
        try:
            try:
                self._addresses[self._all] = buffers
            except TypeError:
                self._addresses[self._all] = list(map(address_of, buffers))
            if self._follows:
                self._follow()
            stream = stream or self._device.stream_address
            if stream != self._started_on:
                self._go_to(stream)
            for function, arguments in self._calls:
                if code := function(*arguments):
                    check(code)
        finally:
            self._turn.release()

    def _follow(self) -> None:
        """Update what was made from addresses to the buffers' present addresses."""
        for number, descriptor in self._maps:
            descriptor.point_to(self._addresses[number])
        for number, offset, source in self._sources:
            source.value = self._addresses[number] + offset

    def _go_to(self, stream: int) -> None:
        self._started_on = self._stream.value = stream
        for config in self._configs:
            config.stream = stream

    def _made(self, one: Call | FillConstant) -> tuple[Callable[..., int], tuple[Any, ...]]:
        """A function of the driver with its arguments."""
        return self._fill(one) if isinstance(one, FillConstant) else self._call(one)

    def _call(self, one: Call) -> tuple[Callable[..., int], tuple[Any, ...]]:
        kernel = one.program.launchable(one.launch)
        places = [self._place(argument) for argument in one.arguments]
        parameters = (ctypes.c_void_p * max(1, len(places)))(*places)
        config = _Config(*one.launch.grid, *one.launch.block, one.launch.shared_bytes)
        asked = [
            attribute
            for attribute, wanted in (
                (_OVERLAPS, one.launch.overlaps),
                (_COOPERATIVE, one.launch.cooperative),
            )
            if wanted
        ]
        if asked:
            attributes = (_Attribute * len(asked))(*asked)
            self._held.append(attributes)
            config.attributes, config.count = ctypes.addressof(attributes), len(asked)
        self._configs.append(config)
        function = library().cuLaunchKernelEx
        return function, (ctypes.byref(config), ctypes.c_void_p(kernel), parameters, None)

    def _fill(self, one: FillConstant) -> tuple[Callable[..., int], tuple[Any, ...]]:
        to = ctypes.c_uint64(one.program.constant_address(one.constant, 4 * one.count))
        source, offset = ctypes.c_uint64(), 4 * one.first
        if isinstance(one.source, str):
            self._sources.append((self._numbers[one.source], offset, source))
        else:
            source.value = address_of(one.source) + offset
        count = ctypes.c_size_t(4 * one.count)
        return library().cuMemcpyDtoDAsync_v2, (to, source, count, self._stream)

    def _place(self, argument: Argument) -> int:
        """The address of an argument's value in the host's memory."""
        if isinstance(argument, str):
            return ctypes.addressof(self._addresses) + _POINTER_BYTES * self._numbers[argument]
        if isinstance(argument, TensorMap):
            descriptor = Descriptor(argument)
            self._maps.append((self._numbers[argument.array], descriptor))
            return descriptor.address
        value: Any
        if isinstance(argument, np.generic):
            value = ctypes.create_string_buffer(argument.tobytes())
        else:
            value = ctypes.c_uint64(address_of(argument))
        self._held.append(value)
        return ctypes.addressof(value)
