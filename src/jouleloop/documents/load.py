"""Loading Timeloop's YAML: its node tags, which strings were quoted, and jinja2 top files with their includes."""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from jouleloop.documents.flat import as_tree
from jouleloop.errors import Fault, InputError, unknown
from jouleloop.files import _SafeLoader, is_file, listed, parse_yaml, read_text, read_yaml

_LOG = logging.getLogger("jouleloop.documents")

#: Environment variable that lets designs include files from outside their folder; jobs inherit it.
ALLOW_OUTSIDE = "JOULELOOP_ALLOW_OUTSIDE"

#: Key under which a node's tag is kept.
TAG = "!"

#: Node tags of the v0.4 format.
NODE_TAGS = ("Architecture", "Component", "Container", "Hierarchical", "Nothing", "Parallel", "Pipelined")
#: CiMLoop's tag of a container that is an array.
ARRAY_TAG = "ArrayContainer"

#: Key of the front end's deep merge: ``<<<: *defaults``.
MERGE = "<<<"

_CONSTRAINT_TAGS = ("Spatial", "Temporal", "Dataspace", "Constraint")
#: Tag of what a deep merge leaves as it is: ``factors: !nomerge [M=1]``.
_WHOLE = "nomerge"
_MAX_INCLUDES = 200
_FUNCTIONS = "expression_custom_functions"


def read_plain(path: Path, wanted: str) -> Any:
    """Return the data of a YAML file; raise `InputError` with what is ``wanted`` where it is a Timeloop design."""
    try:
        return read_yaml(path)
    except InputError as error:
        if not isinstance(error.__cause__, yaml.constructor.ConstructorError):
            raise
        tags = {f"!{tag}" for tag in (*NODE_TAGS, ARRAY_TAG, *_CONSTRAINT_TAGS)}
        found = (getattr(event, "tag", None) for event in yaml.parse(read_text(path)))
        tag = next((one for one in found if one in tags), None)
        if tag is None:
            raise
        raise InputError(Fault(f"is a Timeloop design, by its tag {tag}", str(path), allowed=wanted)) from error


class _WholeList(list[Any]):
    """A list that a deep merge adds nothing to."""


class _WholeDict(dict[Any, Any]):
    """A mapping that a deep merge adds nothing to."""


class Quoted(str):
    """A string that stood in quotes: text, never an expression."""

    __slots__ = ()


# Names of a design are written again like any other text.
for _dumper in (yaml.SafeDumper, getattr(yaml, "CSafeDumper", yaml.SafeDumper)):
    _dumper.add_representer(Quoted, lambda dumper, text: dumper.represent_str(str(text)))


def load_document(path: Path, variables: dict[str, Any] | None = None) -> Any:
    """Return the data of one Timeloop YAML file; tagged nodes are plain dicts with the tag under `TAG`.

    A file with jinja2 markup is expanded first, in a sandbox, with Timeloop front end's ``include``, ``include_all``,
    ``include_text``, ``path_exists``, ``find_path``, ``find_paths``, ``add_to_path`` and ``cwd``; statements such as
    ``{% import %}`` name files beside it. A value ``!include FILE`` is what that file holds.

    Raises `InputError` where a file is missing, is no YAML, the template fails, or it includes a file from outside its
    folder (`own_folder`) while `ALLOW_OUTSIDE` is not set.

    Parameters
    ----------
    variables
        Values of the template's variables, such as ``{"architecture": "eyeriss_like"}``.
    """
    return load_asked(path, variables)[0]


def load_asked(path: Path, variables: dict[str, Any] | None = None) -> tuple[Any, set[str]]:
    """Return what `load_document` returns, and the variables that its templates ask for."""
    documents = _Documents(variables or {})
    return documents.design(path), documents.asked


def own_folder(path: Path) -> Path:
    """Return the folder that the design in ``path`` may read: the git checkout it lies in, or else its own folder."""
    folder = path.resolve().parent
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)


class _Documents:
    """One load: search path, included parts, the templates and the files that are being read."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self.variables = variables
        self.asked: set[str] = set()
        self.search: list[Path] = []
        self.parts: list[Any] = []
        self.stack: list[Path] = []
        self.loading: list[Path] = []
        self.count = 0
        self.folder: Path | None = None

    def load(self, path: Path) -> Any:
        def include(name: str, *, whole_folder: bool = False) -> Any:
            beside = path.parent / name.removesuffix(",")
            return [self.load(file) for file in listed(beside, "*.yaml")] if whole_folder else self.load(beside)

        self.loading.append(path.resolve())
        try:
            return _merged(parse_yaml(self.text(path), str(path), _loader(self.parts, include)), str(path), {})
        finally:
            self.loading.pop()

    def design(self, path: Path) -> Any:
        """Return the data of a file, the files of functions that it names by their paths."""
        self.folder = own_folder(path)
        try:
            data = as_tree(self.load(path))
        except InputError as error:
            raise error.at(path) from error
        for key, value in data.items() if isinstance(data, dict) else ():
            files = value.get(_FUNCTIONS) if isinstance(value, dict) and "globals" in str(key) else None
            if isinstance(files, list):
                named = [self._need(path.parent, str(name)) for name in files]
                value[_FUNCTIONS] = [str(self._allowed(file)) for file in named]
        return data

    def text(self, path: Path) -> str:
        self.count += 1
        again = path.resolve() in self.stack or self.loading.count(path.resolve()) > 1
        if again or self.count > _MAX_INCLUDES:
            raise InputError(Fault("includes itself, or too many files", str(path)))
        text = read_text(self._allowed(path))
        if path.suffix not in (".jinja2", ".j2", ".jinja") and "{{" not in text and "{%" not in text:
            return text
        self.stack.append(path.resolve())
        try:
            return self._render(path, text)
        finally:
            self.stack.pop()

    def _is_inside(self, path: Path) -> bool:
        return self.folder is None or path.resolve().is_relative_to(self.folder)

    def _allowed(self, path: Path) -> Path:
        """Return a path that may be read; raise `InputError` for one outside the design's folder."""
        if not self._is_inside(path):
            if not os.environ.get(ALLOW_OUTSIDE):
                text = "lies outside the design's folder, from where it is included"
                allowed = f"files below {self.folder}, or the option --allow-outside ({ALLOW_OUTSIDE}=1)"
                raise InputError(Fault(text, str(path), allowed=allowed))
            _LOG.warning("%s is read, from outside the design's folder %s", path, self.folder)
        return path

    def _render(self, path: Path, text: str) -> str:
        folder = path.parent
        functions: dict[str, Callable[..., Any]] = {
            "cwd": lambda: str(folder.absolute()),  # what it begins is looked up below the folder again
            "add_to_path": lambda *paths: self._add(folder, paths),
            "path_exists": lambda name: self._find(folder, name) is not None,
            "find_path": lambda name: str(self._need(folder, name)),
            "find_paths": lambda name: [str(self._need(folder, name))],
            "include": lambda name, key=None: self._include(self.load(self._need(folder, name)), key, path),
            "include_text": lambda name: self.text(self._need(folder, name)),
            "include_all": lambda pattern, key=None: self._include_all(folder, pattern, key, path),
        }
        # Most files are no templates, and jinja2 is slow to import.
        import jinja2  # noqa: PLC0415

        from jouleloop.documents.templates import expand  # noqa: PLC0415

        try:
            expanded, asked = expand(text, functions, self.variables, lambda name: self._beside(folder, name))
        except jinja2.UndefinedError as error:
            text = f"the template needs a variable that is not given: {error.message}"
            raise InputError(Fault(text, str(path), allowed="--variable NAME=VALUE")) from error
        except (jinja2.TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise InputError(Fault(f"the template fails: {error}", str(path))) from error
        except (RecursionError, MemoryError, AttributeError, OSError) as error:
            raise InputError(Fault(f"the template fails: {type(error).__name__}", str(path))) from error
        self.asked |= asked
        return expanded

    def _beside(self, folder: Path, name: str) -> str | None:
        """Return the text of another template, in the folder or below it; None where there is none."""
        self.count += 1
        path = folder / name
        inside = not Path(name).is_absolute() and ".." not in Path(name).parts
        return read_text(path) if inside and self.count <= _MAX_INCLUDES and is_file(path) else None

    def _add(self, folder: Path, paths: tuple[str, ...]) -> str:
        self.search += [folder / name for name in paths]
        return ""

    def _find(self, folder: Path, name: str) -> Path | None:
        found = (base / name for base in (folder, *self.search))
        # What may not be read is not looked for either, so that a design does not learn what else there is.
        anywhere = bool(os.environ.get(ALLOW_OUTSIDE))
        return next((path for path in found if (anywhere or self._is_inside(path)) and is_file(path)), None)

    def _need(self, folder: Path, name: str) -> Path:
        found = self._find(folder, name)
        return folder / name if found is None else found

    def _store(self, value: Any) -> str:
        self.parts.append(value)
        return f"!included {len(self.parts) - 1}"

    def _include(self, value: Any, key: str | None, path: Path) -> str:
        for part in key.split(".") if key else ():
            if not isinstance(value, dict) or part not in value:
                raise InputError(Fault(f"the included file has no {key!r}", str(path)))
            value = value[part]
        return self._store(value)

    def _include_all(self, folder: Path, pattern: str, key: str | None, path: Path) -> str:
        *above, _ = Path(pattern).parts or ("",)
        if Path(pattern).is_absolute() or any(mark in part for part in above for mark in "*?[") or "**" in pattern:
            allowed = "a relative path; * and ? in the name of the file only"
            raise InputError(Fault("cannot be searched for", str(path), "include_all", pattern, allowed))
        for base in (folder, *self.search):
            files = sorted(base.glob(pattern))
            if files:
                break
        else:
            raise InputError(Fault("no file is called that", str(path), "include_all", pattern))
        items: list[Any] = []
        for file in files:
            value = self.load(file)
            for part in key.split(".") if key else ():
                value = value.get(part, []) if isinstance(value, dict) else []
            items += value if isinstance(value, list) else [value]
        return self._store(items)


def _merged(value: Any, source: str, known: dict[int, tuple[Any, Any]]) -> Any:
    """Return loaded data with the front end's deep merges done: under `MERGE` stand mappings whose keys come in too.

    A key's own value wins; of two mappings the keys are joined, of two lists the items, unless it is tagged
    ``!nomerge``. Keys are done in turn, so what a merge brings in wins over later merges inside the keys after it
    (Accelergy ``utils/yaml.py``, ``merge_check``). `parse_yaml` limits the size after expanding aliases, and so that of
    the result. ``known`` holds what was merged, so that no identity is used twice.
    """
    if id(value) in known:
        return known[id(value)][1]
    result = value
    if isinstance(value, dict):
        result = _WholeDict(value) if isinstance(value, _WholeDict) else dict(value)
        for key in value:
            if key != MERGE:
                result[key] = _merged(result[key], source, known)
                continue
            base = _merged(result.pop(MERGE), source, known)
            combined: dict[Any, Any] = {}
            for mapping in base if isinstance(base, list) else [base]:
                if not isinstance(mapping, dict):
                    raise InputError(Fault(f"only mappings can be merged by {MERGE}", source, value=mapping))
                combined = _joined(combined, mapping)
            result = _joined(result, combined)
    elif isinstance(value, list):
        items = [_merged(child, source, known) for child in value]
        result = _WholeList(items) if isinstance(value, _WholeList) else items
    known[id(value)] = value, result
    return result


def _joined(own: dict[Any, Any], base: dict[Any, Any]) -> dict[Any, Any]:
    result = _WholeDict(own) if isinstance(own, _WholeDict) else dict(own)
    for key, value in base.items():
        if key not in result:
            result[key] = value
            continue
        mine = result[key]
        if isinstance(mine, (_WholeDict, _WholeList)):
            continue
        if isinstance(mine, dict) and isinstance(value, dict):
            result[key] = _joined(mine, value)
        elif isinstance(mine, list) and isinstance(value, list):
            result[key] = mine + value
    return result


def _loader(parts: list[Any], include: Callable[..., Any]) -> type[Any]:
    """Return a safe loader that knows the node tags and files to include, nothing that builds objects."""

    class Loader(_SafeLoader):
        may_repeat = True

    def node(loader: Any, suffix: str, yaml_node: Any) -> Any:
        if suffix == "included":
            index = str(yaml_node.value)
            if not index.isdigit() or int(index) >= len(parts):
                raise yaml.constructor.ConstructorError(None, None, "nothing was included there", yaml_node.start_mark)
            return parts[int(index)]
        if yaml_node.id == "mapping":
            value = loader.construct_mapping_of(yaml_node)
        elif yaml_node.id == "sequence":
            value = {"nodes": loader.construct_sequence(yaml_node, deep=True)}
        else:
            value = {}
        return {TAG: suffix, **value}

    def whole(loader: Any, yaml_node: Any) -> Any:
        if yaml_node.id == "mapping":
            return _WholeDict(loader.construct_mapping_of(yaml_node))
        if yaml_node.id == "sequence":
            return _WholeList(loader.construct_sequence(yaml_node, deep=True))
        plain = not yaml_node.style
        tag = loader.resolve(yaml.ScalarNode, yaml_node.value, (plain, not plain))
        return loader.construct_object(yaml.ScalarNode(tag, yaml_node.value, style=yaml_node.style), deep=True)

    def mapping_of(loader: Any, yaml_node: Any) -> Any:
        return Loader.yaml_constructors["tag:yaml.org,2002:map"](loader, yaml_node)

    def text(loader: Any, yaml_node: Any) -> str:
        value = loader.construct_scalar(yaml_node)
        return Quoted(value) if yaml_node.style in ("'", '"') else str(value)

    def undefined(loader: Any, yaml_node: Any) -> Any:
        if not yaml_node.tag.startswith("!"):
            return loader.construct_undefined(yaml_node)
        known = [str(tag) for tag in Loader.yaml_constructors if str(tag).startswith("!")]
        what = f"tag at line {yaml_node.start_mark.line + 1}"
        raise InputError(unknown(yaml_node.tag, known, what, source=loader.source))

    Loader.construct_mapping_of = mapping_of
    Loader.add_constructor(None, undefined)
    Loader.add_constructor("tag:yaml.org,2002:str", text)
    for tag in (*NODE_TAGS, ARRAY_TAG, *_CONSTRAINT_TAGS, "included"):
        Loader.add_constructor(f"!{tag}", lambda loader, yaml_node, tag=tag: node(loader, tag, yaml_node))
    Loader.add_constructor(f"!{_WHOLE}", whole)
    for tag, whole_folder in (("include", False), ("includedir", True)):
        Loader.add_constructor(
            f"!{tag}",
            lambda loader, yaml_node, whole_folder=whole_folder: include(
                loader.construct_scalar(yaml_node), whole_folder=whole_folder
            ),
        )
    return Loader
