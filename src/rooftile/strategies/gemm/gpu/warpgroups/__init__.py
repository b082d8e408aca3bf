"""The matrix product on Hopper's warpgroups."""
