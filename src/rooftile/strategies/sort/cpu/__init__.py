"""The CPU's ladder of `sort`."""
