"""The versions of Timeloop's counting rules that the model follows, and where they differ."""

#: Whether the first fill of an output is left out, by version; the change of 2 May 2023 leaves it out.
FIRST_FILLS_ELIDED = {"timeloop-3.0.3": True, "timeloop-2023-04": False}
