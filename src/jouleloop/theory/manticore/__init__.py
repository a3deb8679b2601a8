"""Paper 003: layers on a Manticore chiplet."""
