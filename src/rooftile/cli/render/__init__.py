"""How the commands show what they computed: tables, lines and JSON."""
