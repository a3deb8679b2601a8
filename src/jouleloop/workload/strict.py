"""The base of all models of files: unknown keys are refused, types are not converted."""

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """A model that refuses unknown keys and does not convert types."""

    # Built when the first file is read: a command reads few kinds of files.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)
