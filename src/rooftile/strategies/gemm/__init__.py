"""The product of two matrices, with an epilogue or without: what `linear` and `matmul` share."""
