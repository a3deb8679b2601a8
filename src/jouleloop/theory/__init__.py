"""Theory of the papers, one folder each: bounds, executed dataflows, tables and figures."""
