"""Every record in one database, and what two sets of them tell."""
