"""Texts and rungs on GPUs that `linear` and `matmul` share."""
