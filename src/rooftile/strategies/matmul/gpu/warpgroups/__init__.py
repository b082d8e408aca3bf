"""The matrix product on Hopper's warpgroups, b laid by a kernel before."""
