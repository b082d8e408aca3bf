"""What strategies of several operations share: headers of texts, grids, split products."""
