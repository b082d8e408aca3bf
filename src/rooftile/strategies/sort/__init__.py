"""Strategies of `sort`."""
