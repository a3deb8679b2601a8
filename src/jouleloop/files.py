"""Reading untrusted YAML and JSON safely, and writing results whole or not at all."""

import contextlib
import hashlib
import json
import logging
import os
import re
import socket
import stat
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import yaml

from jouleloop.errors import Fault, InputError, nearest

_LOG = logging.getLogger("jouleloop.files")

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # not a POSIX system
    _LOCKS = False
else:
    _LOCKS = True

MAX_INPUT_BYTES = 64 * 2**20
MAX_BINARY_BYTES = 2**31
MAX_NESTING = 60
MAX_NODES = 200_000
MAX_DIGITS = 1000
#: Whole numbers of more bits have no value in double precision.
MAX_BITS = 1000
_DAY_SECONDS = 86_400
#: The key of the digest in a sealed file.
_SEAL = "seal"
#: Who writes a temporary file, in its name: the machine, and the process there.
_WRITER = re.compile(r"\.([0-9a-f]{8})-(\d+)\.[^.]*\.part")


class _SafeLoader(yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader):  # type: ignore[misc]
    """Safe YAML with duplicate keys refused and growth by aliases bounded."""

    #: Whether a key may be given twice with one value, as in Timeloop's YAML; a warning tells of it.
    may_repeat = False
    source = ""


def _construct_mapping(loader: Any, node: Any) -> dict[Any, Any]:
    own = {id(key_node) for key_node, _ in node.value if key_node.tag != "tag:yaml.org,2002:merge"}
    loader.flatten_mapping(node)
    result: dict[Any, Any] = {}
    seen: set[Any] = set()
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        try:
            repeated = key in seen
        except TypeError as error:
            raise yaml.constructor.ConstructorError(
                None, None, "a key must be a plain value", key_node.start_mark
            ) from error
        value = loader.construct_object(value_node, deep=True)
        if repeated and not (loader.may_repeat and repr(value) == repr(result[key])):
            raise yaml.constructor.ConstructorError(None, None, f"key {key!r} is given twice", key_node.start_mark)
        if repeated:
            line = key_node.start_mark.line + 1
            _LOG.warning("%s: line %s: key %r is given twice, alike", loader.source, line, key)
        if id(key_node) in own:  # what a merge (<<) brings in, the mapping's own keys may replace
            seen.add(key)
        result[key] = value
    return result


def _short(kind: str) -> Any:
    """Return YAML's own constructor for numbers of ``kind``; long ones, which take quadratic time, are refused."""
    own = getattr(yaml.SafeLoader, f"construct_yaml_{kind}")

    def construct(loader: Any, node: Any) -> Any:
        if len(node.value) > MAX_DIGITS:
            raise yaml.constructor.ConstructorError(
                None, None, f"a number of more than {MAX_DIGITS} characters", node.start_mark
            )
        value = own(loader, node)
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise yaml.constructor.ConstructorError(
                None, None, f"a whole number of more than {MAX_BITS} bits", node.start_mark
            )
        return value

    return construct


def _plain_numbers() -> dict[Any, Any]:
    """Return what plain values are, without numbers of base 60: ``1:1`` is a text to all that Timeloop is made of."""
    kinds = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
    return {
        first: [
            (tag, re.compile(f"(?!.*:)(?:{pattern.pattern})", re.VERBOSE) if tag in kinds else pattern)
            for tag, pattern in listed
        ]
        for first, listed in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


_SafeLoader.yaml_implicit_resolvers = _plain_numbers()
_SafeLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _construct_mapping)
for _kind in ("int", "float"):
    _SafeLoader.add_constructor(f"tag:yaml.org,2002:{_kind}", _short(_kind))


def read_text(path: Path) -> str:
    """Return the UTF-8 text of ``path``; raise `InputError` where it cannot be read or is too large."""
    try:
        return read_bytes(path, MAX_INPUT_BYTES).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InputError(Fault("not UTF-8 text", str(path))) from error


def read_bytes(path: Path, most_bytes: int = MAX_BINARY_BYTES) -> bytes:
    """Return the content of ``path``; raise `InputError` where it cannot be read or is larger than ``most_bytes``."""
    with reading(path, most_bytes) as stream:
        return stream.read()


@contextlib.contextmanager
def reading(path: Path, most_bytes: int | None = None) -> Iterator[BinaryIO]:
    """Yield ``path`` open for reading; raise `InputError` where it cannot be read or is larger than ``most_bytes``."""
    try:
        if path.is_dir():
            raise InputError(Fault("is a folder, a file is wanted", str(path)))
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a device or pipe may never end
            raise InputError(Fault("is not a plain file", str(path)))
        if most_bytes is not None and status.st_size > most_bytes:
            raise InputError(Fault("file too large", str(path), allowed=f"at most {most_bytes} bytes"))
        with path.open("rb") as stream:
            yield stream
    except FileNotFoundError as error:
        raise InputError(Fault("no such file", str(path), nearest=_nearest_file(path))) from error
    except (OSError, ValueError) as error:  # a name with a null character is a ValueError
        raise InputError(Fault(f"cannot be read: {getattr(error, 'strerror', error)}", str(path))) from error


def read_yaml(path: Path) -> Any:
    """Return the data in the YAML file ``path``, plain Python values only; raise `InputError` for anything else."""
    return parse_yaml(read_text(path), str(path))


def parse_yaml(text: str, source: str, loader: type[Any] = _SafeLoader) -> Any:
    """Return the data in YAML ``text``; ``source`` names it in errors.

    Aliases are allowed as long as what they expand to stays small: a "billion laughs" document is refused.
    """
    try:
        _check_nesting(text, source, loader)
        try:
            return _document(text, source, loader)
        except yaml.composer.ComposerError as error:
            if error.problem != "second occurrence":
                raise
            return _document(text, source, _naming_again(loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError(Fault(f"not valid YAML{where}: {problem}", source)) from error
    except RecursionError as error:
        raise InputError(Fault("nested too deeply", source, allowed=f"at most {MAX_NESTING} levels")) from error
    except (ValueError, OverflowError, LookupError, AttributeError, TypeError) as error:
        # The last three are what PyYAML makes of "!!int ''", "!!bool x" and "!!timestamp x".
        raise InputError(Fault(f"a value cannot be read: {error}", source)) from error


def _document(text: str, source: str, loader: type[Any]) -> Any:
    reader = loader(text)
    reader.source = source
    try:
        node = reader.get_single_node()
        if node is None:
            return None
        _check_size(node, source)
        return reader.construct_document(node)
    finally:
        reader.dispose()


def _naming_again(loader: type[Any]) -> type[Any]:
    """Return a slower loader that lets an anchor stand for the last node of its name, as YAML and Timeloop do."""

    class Loader(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            if not isinstance(event, yaml.AliasEvent):
                self.anchors.pop(event.anchor, None)
            return super().compose_node(parent, index)

    for name, value in vars(loader).items():
        if not name.startswith("__"):
            setattr(Loader, name, value)
    return Loader


def _check_nesting(text: str, source: str, loader: type[Any]) -> None:
    """Refuse deep and huge documents while they are read as a stream: building them may overflow the C stack."""
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=loader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_NESTING:
                raise InputError(Fault("nested too deeply", source, allowed=f"at most {MAX_NESTING} levels"))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if count > 2 * MAX_NODES:
            raise InputError(Fault("too many values", source, allowed=f"at most {MAX_NODES}"))


def _check_size(root: Any, source: str) -> None:
    sizes: dict[int, int] = {}
    active: set[int] = set()

    def size(node: Any, depth: int) -> int:
        if depth > MAX_NESTING:
            raise InputError(Fault("nested too deeply", source, allowed=f"at most {MAX_NESTING} levels"))
        key = id(node)
        if key in sizes:
            return sizes[key]
        if key in active:
            raise InputError(Fault("a value contains itself through an alias", source))
        active.add(key)
        total = 1
        if isinstance(node, yaml.MappingNode):
            total += sum(size(k, depth + 1) + size(v, depth + 1) for k, v in node.value)
        elif isinstance(node, yaml.SequenceNode):
            total += sum(size(child, depth + 1) for child in node.value)
        active.discard(key)
        sizes[key] = total
        if total > MAX_NODES:
            raise InputError(Fault("too many values", source, allowed=f"at most {MAX_NODES} after expanding aliases"))
        return total

    size(root, 0)


def _whole_number(text: str) -> int:
    value = int(text)
    if value.bit_length() > MAX_BITS:
        raise ValueError(f"a whole number of more than {MAX_BITS} bits")
    return value


def read_json(path: Path) -> Any:
    """Return the data in the JSON file ``path``; raise `InputError` where it is none."""
    try:
        return json.loads(read_text(path), parse_int=_whole_number)
    except (ValueError, RecursionError) as error:  # a number of too many digits is a ValueError
        raise InputError(Fault(f"not valid JSON: {error}", str(path))) from error


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` and rename it there at the end, so no half-written file is ever seen."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        writer = f".{path.name}.{_machine()}-{os.getpid()}."
        handle, name = tempfile.mkstemp(prefix=writer, suffix=".part" + path.suffix, dir=path.parent)
    except OSError as error:
        raise InputError(Fault(f"cannot be written: {error.strerror}", str(path))) from error
    _held(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputError(Fault(f"cannot be written: {error.strerror or error}", str(path))) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)


def _umask() -> int:
    """Return what the user leaves out of the rights of new files: 002 is for who shares a folder with a group."""
    found = os.umask(0o077)
    os.umask(found)
    return found


def remove_left_over(folder: Path, *, below: bool = True) -> list[Path]:
    """Remove the temporary files in ``folder`` and ``below`` that `replacing` left where its process was killed.

    A file goes where its process is none of this machine any more. That of another machine, where a file system's locks
    may mean nothing, stays for a day; and whatever is locked stays.
    """
    removed = []
    for path in (folder.rglob if below else folder.glob)(".*.part*"):
        writer = _WRITER.search(path.name)
        with contextlib.suppress(OSError), path.open("r+b") as stream:
            if writer and writer[1] == _machine():
                over = not _lives(int(writer[2]))
            else:
                over = time.time() - path.stat().st_mtime > _DAY_SECONDS
            if over and not _held(stream.fileno()):
                path.unlink()
                removed.append(path)
    return removed


def _held(handle: int) -> bool:
    """Lock an open file; return whether another process holds it. The system frees the lock when a process ends."""
    if not _LOCKS:
        return False
    try:
        flock(handle, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    return False


@cache
def _machine() -> str:
    """Return what tells this machine from others, and a container from others that call themselves alike."""
    with contextlib.suppress(OSError):
        return _short_digest(f"{socket.gethostname()} {Path('/proc/self/ns/pid').readlink()}")
    return _short_digest(socket.gethostname())


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
        return True
    return True


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any, *, indent: int | None = 1) -> None:
    """Write ``value`` as JSON with sorted keys to ``path`` whole or not at all."""
    write_text(path, json.dumps(value, indent=indent, sort_keys=True, allow_nan=False) + "\n")


def write_sealed_json(path: Path, value: dict[str, Any]) -> None:
    """Write ``value`` as `write_json` does, with a digest of it."""
    write_json(path, {**value, _SEAL: _digest(value)})


def read_sealed_json(path: Path) -> dict[str, Any]:
    """Return what `write_sealed_json` wrote; raise `InputError` where the file holds anything else."""
    found = read_json(path)
    seal = found.pop(_SEAL, None) if isinstance(found, dict) else None
    if seal is None or seal != _digest(found):
        raise InputError(Fault("the file is damaged: remove it, and it is made again", str(path)))
    return dict(found)


def write_yaml(path: Path, value: Any) -> None:
    """Write ``value`` as block YAML to ``path`` whole or not at all."""
    write_text(path, yaml.safe_dump(value, sort_keys=False, width=120, default_flow_style=None))


def is_file(path: Path) -> bool:
    """Whether there is a file called ``path``; what can be no name at all (too long, say) is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def listed(folder: Path, pattern: str) -> list[Path]:
    """Return what is called like ``pattern`` in a folder; one whose name no folder can have holds nothing."""
    try:
        return sorted(folder.glob(pattern))
    except (OSError, ValueError):
        return []


def shown_path(path: Path) -> str:
    """Return ``path`` as it is written into results: relative where it lies below the current folder."""
    here = Path.cwd()
    return (path.relative_to(here) if path.is_absolute() and path.is_relative_to(here) else path).as_posix()


def is_whole(value: object) -> bool:
    """Whether ``value`` is an integer, given as an int or an integral float, and not a bool."""
    return not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))


def _nearest_file(path: Path) -> str | None:
    found = nearest(path.name, [child.name for child in listed(path.parent, "*")])
    return str(path.parent / found) if found else None
