"""The convolution as a matrix product of patches on Hopper's warpgroups."""
