"""The strategies of `conv1d`."""
