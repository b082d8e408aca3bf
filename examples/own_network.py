"""A network of one's own: made, trained on a few images, saved, loaded, and run."""

from pathlib import Path
from tempfile import TemporaryDirectory

import rooftile
from rooftile.nn import ConvLayer, LinearLayer, Network
from rooftile.nn.data import FASHION, load_images
from rooftile.nn.training import TrainingOptions, train

layers = (
    ConvLayer("conv", 8, 5, activation="relu", pool=("max", 2)),
    LinearLayer("hidden", 32, activation="relu"),
    LinearLayer("classes", 10),
)
network = Network("mine", (1, 28, 28), layers, pixels=FASHION)
print(network.summary())

# The sample that ships with rooftile; `load_images("train", download=True)` fetches all 60,000.
sample = load_images("test", limit=1000)
options = TrainingOptions(epochs=4, batch=50, learning_rate=0.005, seed=1)
trained = train(network, sample.images[:800], sample.labels[:800], options)

with TemporaryDirectory() as folder:
    file = Path(folder) / "mine.safetensors"
    trained.save(file)
    loaded = rooftile.load(file)  # `rooftile run mine.safetensors` takes it too.

held = sample.images[800:]
labels = loaded.predict(loaded.prepare(held))
print(f"{(labels == sample.labels[800:]).mean():.0%} of {len(held)} images it has not seen")
print(loaded.plan(batch=64).summary())
