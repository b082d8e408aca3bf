"""The matrix product on Hopper's warpgroups, in four precisions."""
