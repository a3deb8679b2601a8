"""The optimum over a mapspace, with a certificate."""
