"""Timeloop's YAML: node tags, deep merges, and jinja2 templates with their includes."""
