"""Built-in networks and their trained weights."""

from __future__ import annotations

from pathlib import Path

from rooftile.errors import InputError, unknown
from rooftile.nn.data import FASHION
from rooftile.nn.definition import MODEL_KEY
from rooftile.nn.layers import ConvLayer, LinearLayer
from rooftile.nn.network import Network
from rooftile.nn.serialisation import ARCHITECTURE_KEY, from_text
from rooftile.nn.tensors import read_tensors
from rooftile.ops import Pool

MODELS: dict[str, Network] = {
    network.name: network
    for network in (
        Network(
            "lenet5",
            (1, 86, 86),
            (
                ConvLayer("conv1", 4, 7, activation="relu", pool=Pool.of("max", 2), init="he"),
                ConvLayer("conv2", 16, 7, activation="relu", pool=Pool.of("max", 4), init="he"),
                LinearLayer("linear1", 32, activation="relu", init="he"),
                LinearLayer("linear2", 10, init="he"),
            ),
            pixels=FASHION,
        ),
        Network(
            "mnist8",
            (1, 28, 28),
            (
                ConvLayer("conv1", 8, 5, padding=2, activation="relu", init="he"),
                LinearLayer("linear1", 512, activation="relu", init="he"),
                LinearLayer("linear2", 10, init="he"),
            ),
            pixels=FASHION,
        ),
    )
}
"""The architectures by name, without weights.

Their layers name He's initialisation, which the weights that ship and the recorded trainings began
with.

``lenet5`` follows LeCun, Bottou, Bengio, Haffner, "Gradient-based learning applied to
document recognition", Proc. IEEE 86 (1998), in its two convolution-and-pool stages.
"""

SUMMARIES = {
    "lenet5": "two convolutions with pools and two linear layers, after LeNet-5; for clothing, "
    "enlarged to 86 x 86.",
    "mnist8": "one convolution and two linear layers, the larger with 3.2 million weights; for "
    "clothing as it is.",
}
"""A sentence of what each is."""

WEIGHTS = Path(__file__).parent / "weights"
"""The folder of the built-in networks' trained weights."""


def architecture(name: str) -> Network:
    """A built-in network without weights.  Raises `InputError` for an unknown name."""
    if name not in MODELS:
        raise unknown("model", name, sorted(MODELS))
    return MODELS[name]


def load(name_or_file: str | Path) -> Network:
    """A built-in network with its shipped weights, or the network of a safetensors file.

    A file that `Network.save` wrote holds its own architecture; an older one names the built-in
    model whose weights it holds.  Raises `InputError` for an unknown name, and for a file that does
    not fit its model.
    """
    if str(name_or_file) in MODELS:
        return MODELS[str(name_or_file)].load(WEIGHTS / f"{name_or_file}.safetensors")
    path = Path(name_or_file)
    if not path.is_file():
        raise unknown("model", str(name_or_file), sorted(MODELS), more=", or a file")
    _, metadata = read_tensors(path)
    name, text = metadata.get(MODEL_KEY), metadata.get(ARCHITECTURE_KEY)
    if text is not None:
        return Network(name or path.stem, *from_text(text, str(path))).load(path)
    if name not in MODELS:
        raise InputError(
            str(path),
            f"metadata with {MODEL_KEY}={name!r} and no {ARCHITECTURE_KEY}",
            f"one of {sorted(MODELS)}, or a file that a network's save wrote",
        )
    return MODELS[name].load(path)
