"""NVRTC's answers: machine code, or its log."""

from __future__ import annotations

import pytest

from rooftile.devices.cuda import nvrtc
from rooftile.errors import DeviceMissing

OPTIONS = ["-arch=sm_90a", "--std=c++17", "--minimal"]
TEXT = 'extern "C" __global__ void one(float* out) { out[0] = NUMBER; }'


@pytest.fixture
def there():
    try:
        nvrtc.library()
    except DeviceMissing as error:
        pytest.skip(str(error))


def test_a_text_becomes_a_cubin(there):
    one, two = (nvrtc.compiled(TEXT, [*OPTIONS, f"-DNUMBER={n}.0f"]) for n in (1, 2))
    assert one.startswith(b"\x7fELF")
    assert b"one" in one
    assert one != two


def test_the_log_says_what_is_wrong(there):
    with pytest.raises(nvrtc.Refused, match='identifier "NUMBER" is undefined'):
        nvrtc.compiled(TEXT, OPTIONS)
    with pytest.raises(nvrtc.Refused, match=r"NVRTC's error|unrecognized|invalid"):
        nvrtc.compiled(TEXT, ["--no-such-option"])


@pytest.mark.parametrize("error", [ImportError("no module"), RuntimeError("not found")])
def test_without_the_package_it_is_missing(monkeypatch, error):
    def imported(name):
        raise error

    monkeypatch.setattr(nvrtc, "imported", imported)
    with pytest.raises(DeviceMissing, match="pip install"):
        nvrtc.library.__wrapped__()
