"""Times of a network's plans: layer by layer, whole, and as streams of images."""
