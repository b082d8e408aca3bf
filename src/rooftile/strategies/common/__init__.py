"""Parts that strategies of several operations share: headers of texts, grids, split products."""
