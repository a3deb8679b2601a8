"""The HTML report: one file with tables, interactive charts and the mapping of every point."""
