"""Rungs for masks of one tap: a matrix product of weights and images as they lie."""
