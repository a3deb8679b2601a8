"""The base of all models of files: unknown keys are refused, types are not converted, every key says what it means."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator


class Strict(BaseModel):
    """A model that refuses unknown keys and does not convert types."""

    # Built when the first file is read: a command reads few kinds of files.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    @field_validator("*")
    @classmethod
    def _is_shown(cls, value: Any) -> Any:
        """Refuse texts with characters that no figure, table or page can show."""
        hidden = (
            [sign for sign in value if not sign.isprintable() and sign not in "\n\t"] if isinstance(value, str) else []
        )
        if hidden:
            raise ValueError(f"the character U+{ord(hidden[0]):04X} cannot be shown")
        return value


def unit(text: str) -> dict[str, Any]:
    """Return the JSON-schema entry that names the unit of a key."""
    return {"unit": text}


def key(meaning: str, of_unit: str, default: Any = ..., **limits: Any) -> Any:
    """Return the field of a key: meaning, unit, default (none where it is required), and limits as of `Field`."""
    return Field(default, description=meaning, json_schema_extra=unit(of_unit), **limits)
