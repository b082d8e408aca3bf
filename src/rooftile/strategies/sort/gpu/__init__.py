"""The GPU ladder of `sort`."""
