"""What to try where a layer has no mapping: the option that helps, by its name."""

from jouleloop.api.results import Result


def hints(result: Result) -> list[str]:
    """Return what may help a layer without a mapping on the architecture it was to be mapped onto."""
    files = result.architecture.files
    found = []
    if files.constraints is None and files.which != "none":
        found.append(
            f"{files.name} has no constraints: there is no mappings/{files.name}.yaml beside it; "
            "name a file by --constraints FILE.yaml"
        )
    elif files.which == "full":
        found.append("--constraints arch-only drops the constraints that only make the search easier")
    if "divisible" in result.reason:
        found.append("or ask for sizes that the constraints divide")
    return found
