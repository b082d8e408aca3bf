"""Other libraries that compute the same, at the same precision, on the same inputs."""
