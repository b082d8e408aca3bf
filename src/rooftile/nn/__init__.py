"""What for: layers, networks, plans, training, data sets, built-in models."""
