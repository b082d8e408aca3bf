"""Images of one's own: written where the commands find them, learned, and looked at.

The same from a shell:

    rooftile train signs.safetensors --data signs --epochs 20 --overwrite
    rooftile predict signs.safetensors photo.png
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from rooftile.nn import ConvLayer, LinearLayer, Network, Pixels
from rooftile.nn.data import load_images
from rooftile.nn.training import TrainingOptions, train

COLOURS = ("red", "green", "blue")
generator = np.random.default_rng(0)


def signs(count: int) -> dict[str, np.ndarray]:
    """Noisy pictures of 40 x 30 pixels with a disc of one colour, and which colour it is."""
    labels = generator.integers(0, len(COLOURS), count)
    images = generator.integers(0, 100, (count, 3, 40, 30), np.uint8)
    row, column = np.ogrid[:40, :30]
    disc = (row - 20) ** 2 + (column - 15) ** 2 < 100
    for image, label in zip(images, labels, strict=True):
        image[label, disc] += 120
    return {"images": images, "labels": labels, "classes": np.array(COLOURS)}


with TemporaryDirectory() as folder:
    for split, count in (("train", 300), ("test", 100)):
        np.savez(Path(folder) / f"{split}.npz", **signs(count))
    training, test = (load_images(split, Path(folder)) for split in ("train", "test"))

# Pixels are scaled to [0, 1]; mean and deviation of each channel make them a network's numbers.
scaled = training.images / 255
pixels = Pixels(
    tuple(map(float, scaled.mean(axis=(0, 2, 3)))), tuple(map(float, scaled.std(axis=(0, 2, 3))))
)
layers = (ConvLayer("conv", 6, 5, activation="relu", pool=("max", 2)), LinearLayer("colour", 3))
network = Network("signs", (3, 20, 20), layers, pixels=pixels)  # Images are resized to its input.
trained = train(network, training.images, training.labels, TrainingOptions(epochs=5, batch=20))

labels = trained.predict(trained.prepare(test.images))
print(f"{(labels == test.labels).mean():.0%} of {len(test)} signs are right")
print("the first is", test.name(int(labels[0])))
