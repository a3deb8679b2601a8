"""Files made to do harm: every reader answers with faults within seconds, runs nothing and writes nothing."""

import importlib.util
import os
import re
import signal
import sys
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, ModuleType

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from jouleloop.api.project import load_target
from jouleloop.arch.read import read_architecture
from jouleloop.documents.templates import expand
from jouleloop.errors import MOST_FAULTS, Fault, InputError, JouleloopError
from jouleloop.expressions import MAX_ITEMS, MAX_WORK, ExpressionError, evaluate, one_budget
from jouleloop.files import MAX_NODES, parse_yaml, read_json, read_text
from jouleloop.parquet import write_sealed
from jouleloop.stats.expression import evaluate_variable
from jouleloop.validation import validate
from overwritten import overwrite
from paths import ROOT

SECONDS = 120.0
"""Of processor time. A fast core needs five for the worst; what is not bounded would need hours."""
WAITED_S = 300.0
"""Of time, where a reader could only wait: for the other end of a pipe, say."""


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"fuzz_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


FUZZ = module(ROOT / "tests" / "fuzz" / "loaders.py")
NAMES = list(FUZZ.LOADERS)
#: A store leaves out what is damaged, a file without a mapper has none, a strange case is one that differs: no faults.
NEVER_REFUSE = {"store", "mapper", "cases"}


class TooSlowError(BaseException):
    """Not an Exception, so that no reader can take it for one of its own."""


@contextmanager
def limited(seconds: float = SECONDS) -> Iterator[None]:
    """Fail after so many seconds of CPU time, whatever else the machine does."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise TooSlowError(f"{number} {frame}")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@pytest.fixture(autouse=True, scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compile what a case runs, which is not what the limit is for."""
    path = tmp_path_factory.mktemp("cases") / "x.json"
    path.write_text(SMALL["cases without levels"])
    FUZZ.LOADERS["cases"].read(path)


def refused(name: str, path: Path) -> tuple[Fault, ...]:
    """Return the faults of a file; none where it was read."""
    try:
        with limited():
            FUZZ.LOADERS[name].read(path)
    except JouleloopError as error:
        found = error.faults
        sound = bool(found) and all(fault.message and len(str(fault)) < 3000 for fault in found)
        return found if sound else pytest.fail(f"faults that say nothing, or too much: {found[:3]}")
    return ()


def layers_of_aliases(style: str, depth: int) -> str:
    first = "a0: &a0 {x: 1}\n"
    return first + "".join(f"a{i}: &a{i} {style.format(f'*a{i - 1}', i)}\n" for i in range(1, depth))


SMALL: dict[str, str | bytes] = {
    "list bomb": "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)),
    "merge bomb": layers_of_aliases("{{<<: [{0}, {0}], y{1}: 1}}", 30),
    "mapping bomb": layers_of_aliases("{{l: {0}, r: {0}}}", 30),
    "contains itself": "&a [*a]",
    "contains itself as value": "&a {a: *a}",
    "merges itself": "&a {<<: *a}",
    "open lists": "[" * 100_000,
    "nested lists": "[" * 30_000 + "]" * 30_000,
    "nested mappings": "{a: " * 10_000 + "}" * 10_000,
    "nested keys": "? " * 10_000 + "a",
    "nested items": "- " * 10_000 + "a",
    "nested blocks": "\n".join(" " * i + "a:" for i in range(2000)),
    "huge integer": "a: " + "9" * 1_000_000,
    "huge size": "kind: fc\nfixed: {C: " + "9" * 900 + ", M: 2}\nvariable: C\nexpected: linear\n",
    "huge hexadecimal": "a: 0x" + "f" * 1_000_000,
    "huge sexagesimal": "a: " + "1:" * 200_000 + "1",
    "huge binary": "a: 0b" + "1" * 500_000,
    "huge exponent": "a: 1e999999999",
    "huge fraction": "a: " + "1" * 200_000 + ".5",
    "integer of nothing": "a: !!int ''",
    "number of nothing": "a: !!float ''",
    "truth of nothing": "a: !!bool x",
    "time of nothing": "a: !!timestamp x",
    "unhashable key": "{[1]: 2}",
    "key of keys": "{{a: 1}: 2}",
    "key twice": "a: 1\na: 2",
    "two documents": "a: 1\n---\nb: 2\n",
    "impossible date": "a: 2020-13-45",
    "impossible time": "a: 2001-12-14t21:59:43.10-99:99",
    "set": "!!set {a, b}",
    "ordered": "!!omap [a: 1]",
    "binary": '!!binary "####"',
    "null character": "a: \0",
    "control character": "a: \x07",
    "Latin": b"a: \xff\xfe",
    "UTF-16": "kind: fc".encode("utf-16"),
    "half a character": 'a: "\\ud800"',
    "merge of a number": "<<: 1",
    "equals sign": "=: 1",
    "no number": '[{"dims": {"C": NaN, "M": Infinity}}]',
    "huge number in JSON": "[" + "9" * 1_000_000 + "]",
    "lone half in JSON": '["\\ud800"]',
    "cases without dims": '[{"dims": {}}]',
    "cases of text": '[{"dims": {"C": "a", "M": null}, "arch": ["x"]}]',
    "cases of huge layers": '[{"dims": {"C": 4000000000000000000000, "M": 4}, "arch": "simba", "name": "x"}]',
    "cases without levels": '[{"dims": {"C": 4, "M": 4}, "arch": "simba", "mapping": 5, "levels": 3}]',
    "huge loop": "DRAM [ Weights:1 ]\n| for C in [0:" + "9" * 5000 + ")\n",
    "header without end": "a [ " * 100_000,
}
TAGS = (
    '!!python/object/apply:os.system ["touch owned"]',
    "a: !!python/name:os.system",
    '!!python/object/new:os.system ["touch owned"]',
    "!!python/module:os",
    'a: !Component {name: !!python/object/apply:os.system ["touch owned"]}',
    "!unknown bar",
)
#: Much of them is read, of the first all, which takes a second a reader.
MOST_VALUES = "as many values as allowed"
LONG = (MOST_VALUES, "anchors", "list", "mapping")
LARGE: dict[str, str] = {
    "text": 'a: "' + "x" * 10_000_000 + '"',
    "list": "a: [" + "1," * 5_000_000 + "1]",
    "mapping": "".join(f"k{i}: {i}\n" for i in range(800_000)),
    "lines": "\n" * 10_000_000,
    "comment": "#" * 10_000_000,
    "braces": "{" * 10_000_000,
    "dashes": "- " * 5_000_000,
    "anchors": "a: [" + ", ".join(f"&b{i} x" for i in range(700_000)) + "]",
    "key": '"' + "k" * 10_000_000 + '": 1',
    MOST_VALUES: "a: [" + "1," * (MAX_NODES - 10) + "1]",
    "more bytes than allowed": "a" * 70_000_000,
}
TEMPLATES = (
    '{{ "x" * 10**9 }}',
    "{% for i in range(10**9) %}x{% endfor %}",
    "{% for i in range(9999) %}{% for j in range(9999) %}{% if 0 %}x{% endif %}{% endfor %}{% endfor %}",
    "{{ [].__class__.__mro__ }}",
    "{{ ''.__class__ }}",
    '{{ "{0.__class__}".format(1) }}',
    '{{ "%1000000000d" % 1 }}',
    "{{ 9**9**9 }}",
    "{{ (9**999)**999 }}",
    '{% include "x" %}',
    '{% import "x" as y %}',
    "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}",
    "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
    "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}{{ n.x }}",
    "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = [n.x, n.x]|join %}{% endfor %}",
    "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x %}{{n.x}}{{n.x}}{% endset %}{% endfor %}",
    "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
    '{{ "x"|center(10**10) }}',
    '{{ "x"|indent(10**9) }}',
    "{{ lipsum(n=100000) }}",
    "{{ range(10**10)|list }}",
    "{{ [1] * 10**10 }}",
    '{{ include_all("/**/*") }}',
    '{{ include_all("../**/*") }}',
    '{{ include_all("*/*/*") }}',
    '{{ include_text("/dev/zero") }}',
    "{{ include(5) }}",
    '{{ include("x.yaml") }}',
    '{{ find_path("\\0") }}',
    "{{ 1/0 }}",
    "{{ x.y }}",
    "{{ cwd.__globals__ }}",
    "{{",
    "{% if %}",
)


@pytest.mark.parametrize("document", SMALL)
def test_small_files_that_do_harm(document: str, tmp_path: Path) -> None:
    data = SMALL[document]
    for name in NAMES:
        path = tmp_path / f"x{FUZZ.LOADERS[name].ending}"
        path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
        assert refused(name, path) or name in NEVER_REFUSE, name


@pytest.mark.parametrize("document", TAGS)
def test_tags_build_nothing(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        path = tmp_path / f"x{FUZZ.LOADERS[name].ending}"
        path.write_text(document)
        assert refused(name, path) or name in NEVER_REFUSE, name
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    "document", [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in LARGE]
)
def test_files_of_ten_megabytes(document: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(LARGE[document])
    for name in ("sweep", "constraints", "printed mapping", "mapping of levels"):
        assert refused(name, path), name


@pytest.mark.parametrize("document", TEMPLATES)
def test_templates_are_bounded(document: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(document)
    assert refused("architecture v0.4", path)
    assert refused("constraints", path)


def test_templates_still_do_what_they_are_for() -> None:
    text = (
        "{% set n = namespace(total=0) %}{% macro double(x) %}{{ x * 2 }}{% endmacro %}"
        "{% for key, value in sizes.items() %}{{ loop.index }}:{{ key|upper ~ '=' ~ double(value) }};"
        "{% set n.total = n.total + value %}{% endfor %}{{ n.total }} {{ names|join(',') }} {{ half(8) }} {{ 2**10 }}"
    )
    given_ = {"sizes": {"c": 3, "m": 4}, "names": ["a", "b"]}
    expanded = expand(text, {"half": lambda x: x // 2}, given_)
    assert expanded == ("1:C=6;2:M=8;7 a,b 4 1024", {"sizes", "names"})


@pytest.mark.parametrize(
    "text",
    [
        *("9**9**9", "2**100000", "(9**999)**999", "'a'*10**9", "[1]*10**9", "range(10**9)", "'%1000000000d'%1"),
        *("().__class__", "x.__class__", "(1).real", "open('x')", "__import__('os')", "lambda: 1", "[i for i in x]"),
        *("x" * 3000, "(" * 500 + ")" * 500, "-" * 1900 + "1", "f'{x}'", "prod(range(99999))", "int('9'*1000)**99"),
        *(
            "str(9**1500)+str(9**1500)",
            "pow(9, 9**9)",
            "round(5, -10**9)",
            "(-8)**0.5",
            "prod(range(1, 99999))",
            "10**400*1.0",
            "round(1e308*10)",
            "max()",
            "min([])",
            "1/0",
        ),
        *("str(range(99999))", "sum(range(99999))*1e999//1", "'a'*3", "len(5)", "float('x')", "inf//1", "nan**'a'"),
        *("factorial(10**9)", "comb(10**6, 10**5)", "perm(4000)", "factorial(-1)", "gamma(1e9)", "acos(2)", "fsum(1)"),
    ],
)
def test_expressions_are_bounded(text: str) -> None:
    names = {"x": {"a": 1}}
    with limited():
        try:
            value = evaluate(text, names)
        except ExpressionError as error:
            value = error
    assert len(str(value)) < 10_000


@contextmanager
def within(megabytes: float) -> Iterator[None]:
    """Fail where Python's objects take more memory at any moment."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * 10**6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("+".join(["sum(range(99999))"] * 110), marks=pytest.mark.slow),
        "len([" + ",".join(["range(99999)"] * 150) + "])",
        "f'" + "{x}" * 600 + "'",
        "+".join(["[1]*99999"] * 200) + " == 1",
        "max(" + ",".join(["prod(range(1,9))"] * 110) + ")",
    ],
)
def test_the_work_of_one_expression_is_bounded(text: str) -> None:
    with limited(), within(200), suppress(ExpressionError):
        evaluate(text, {"x": list(range(90_000))})


BUILT = {
    "lists": {"a0": "[1, 2, 3]", **{f"a{i}": f"a{i - 1} + a{i - 1} + a{i - 1}" for i in range(1, 40)}},
    "lists of lists": {"a0": "[1, 2]", **{f"a{i}": f"[a{i - 1}, a{i - 1}, a{i - 1}]" for i in range(1, 40)}},
    "texts of lists": {"a0": "range(99999)", **{f"a{i}": f"len(str([a{i - 1}, a0]))" for i in range(1, 40)}},
    "numbers": {"a0": "2**4000", **{f"a{i}": f"(a{i - 1} * a{i - 1}) % (a0 - 1)" for i in range(1, 40)}},
    "many lists": {f"a{i}": f"[{i}] * 99999" for i in range(500)},
}


@pytest.mark.parametrize("which", BUILT)
def test_variables_that_build_on_each_other_are_bounded(which: str, tmp_path: Path) -> None:
    """All expressions of a design share one budget of steps and items."""
    sound = yaml.safe_dump({"variables": BUILT[which]})
    path = tmp_path / "x.yaml"
    design, count = re.subn(r"depth: \d+", "depth: a39", (ROOT / "arch/simba.yaml").read_text())
    assert count
    path.write_text(sound + design)
    with limited(), within(300), suppress(InputError):
        read_architecture(path)


def test_a_budget_is_shared_and_ends_with_what_it_is_for() -> None:
    half = f"len(range({MAX_ITEMS - 1}))"
    with one_budget():
        for _ in range(MAX_WORK // MAX_ITEMS - 1):
            assert evaluate(half, {}) == MAX_ITEMS - 1
        with one_budget(), pytest.raises(ExpressionError, match="together take more than"):
            evaluate(" + ".join([half] * 3), {})
    assert evaluate(half, {}) == MAX_ITEMS - 1


@pytest.mark.parametrize(
    "text",
    [
        "architecture_constraints:\n  targets: [{target: DRAM, type: bypass, bypass: {Inputs: 1}}]\n",
        "bypass: {Inputs: 1}\n",
        "bypass: !!set {Inputs}\n",
        "targets: [{level: !!set {a}, keep: {b: [c]}}]\n",
    ],
)
def test_faults_carry_values_of_any_kind(text: str, tmp_path: Path) -> None:
    path = tmp_path / "constraints.yaml"
    path.write_text(text)
    with pytest.raises(InputError):
        load_target("simba", semantics="timeloop-3.0.3", constraints=path)
    with pytest.raises(InputError) as raised:
        validate(Keys, {"a": {"x": 1}, "b": {1, 2}}, "x")
    assert len(raised.value.faults) == 2
    same = [Fault("wrong", value={"x": 1}), Fault("wrong", value={"x": 1}), Fault("wrong", value={"x": 2})]
    assert len(InputError(same).faults) == 2


class Keys(BaseModel):
    a: int
    b: int


@pytest.mark.parametrize("number", ["9" * 400, "0x" + "f" * 400, "-" + "9" * 400])
@pytest.mark.parametrize("name", ["energy table", "architecture v0.4", "components"])
def test_whole_numbers_have_a_value_in_double_precision(name: str, number: str, tmp_path: Path) -> None:
    """What is larger was an OverflowError wherever it met a fraction."""
    path = tmp_path / "x.yaml"
    sound = FUZZ.LOADERS[name].sound.read_text()
    changed, count = re.subn(r"(depth|width|entries|memory_depth): \d+", rf"\1: {number}", sound, count=1)
    assert count == 1
    path.write_text(changed)
    assert any("bits" in str(fault) for fault in refused(name, path))
    (tmp_path / "x.json").write_text("[" + "9" * 400 + "]")
    with pytest.raises(InputError, match="bits"):
        read_json(tmp_path / "x.json")


@given(st.text("0123456789x.*/+-%()[]',<>= efintragesmbd_", max_size=60))
@settings(max_examples=500, deadline=None)
def test_any_expression(text: str) -> None:
    table = pd.DataFrame({"x": np.arange(1.0, 4.0), "C": [1, 2, 3]})
    with limited():
        with suppress(ExpressionError):
            evaluate(text, {"x": 2})
        with suppress(InputError):
            evaluate_variable(text, table)


def test_what_is_no_plain_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    loop = tmp_path / "loop.yaml"
    loop.symlink_to(loop)
    dangling = tmp_path / "dangling.yaml"
    dangling.symlink_to("nowhere.yaml")
    for path in (pipe, Path("/dev/zero"), loop, dangling, tmp_path, Path("a\0b"), Path("x" * 5000)):
        started = time.monotonic()
        with pytest.raises(InputError):
            read_text(path)
        assert time.monotonic() - started < WAITED_S


def test_faults_are_reported_up_to_a_number() -> None:
    error = InputError(Fault(str(index)) for index in range(100_000))
    assert len(error.faults) == MOST_FAULTS + 1
    assert str(error).endswith(f"and {100_000 - MOST_FAULTS} faults more")
    assert len(str(InputError(Fault("x", value=9**9999)))) < 200


def changed(text: bytes, places: list[tuple[float, int, bytes]]) -> bytes:
    for where, cut, new in places:
        at = int(where * len(text))
        text = text[:at] + new + text[at + cut :]
    return text


PIECES = st.sampled_from(
    [
        *(
            b"",
            b"\n",
            b" ",
            b":",
            b"-",
            b"[",
            b"]",
            b"{",
            b"}",
            b"*",
            b"&a ",
            b"*a",
            b"!!int ",
            b"!x ",
            b"'",
            b'"',
            b"#",
        ),
        *(b"~", b"0", b"-1", b".inf", b".nan", b"1e99", b"9" * 30, b"\xff", b"\x00", b"<<: ", b"? ", b"|", b">", b"%"),
        *(b"{{", b"}}", b"{%", b"C", b"name: x", b"[[]]", b"{}", b"true", b"2001-01-01", b"../", b"=1", b"\t", b",,"),
    ]
)
CHANGES = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), PIECES), min_size=1, max_size=4)


@pytest.mark.parametrize("name", [name for name in NAMES if FUZZ.LOADERS[name].sound])
@given(places=CHANGES)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_sound_files_with_errors(name: str, places: list[tuple[float, int, bytes]], tmp_path: Path) -> None:
    loader = FUZZ.LOADERS[name]
    path = tmp_path / f"x{loader.ending}"
    overwrite(path, changed(loader.sound.read_bytes(), places))
    refused(name, path)


@given(data=st.binary(max_size=200))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_bytes_for_every_reader(data: bytes, tmp_path: Path) -> None:
    for name in NAMES:
        path = tmp_path / f"x{FUZZ.LOADERS[name].ending}"
        overwrite(path, data)
        refused(name, path)


def test_sound_files_are_read() -> None:
    for name in NAMES:
        sound = FUZZ.LOADERS[name].sound
        if sound is not None and name != "ERT":
            assert refused(name, sound) == (), name


@pytest.mark.parametrize("places", [[(0.5, 1, b"")], [(0.0, 1, b"x")], [(0.9, 3, b"\0\0")], [(0.5, 10**9, b"")]])
def test_damaged_tables(places: list[tuple[float, int, bytes]], tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    write_sealed(path, pa.table({"key": ["a"] * 50, "record": ["{}"] * 50}))
    path.write_bytes(changed(path.read_bytes(), places))
    refused("store", path)
    refused("table", path)


def test_huge_numbers_in_json_and_yaml(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("[" + "9" * 5000 + "]")
    with pytest.raises(InputError, match="not valid JSON"):
        read_json(path)
    with pytest.raises(InputError, match="a number of more than 1000 characters"):
        parse_yaml("a: 0x" + "f" * 5000, "x")
    assert parse_yaml("a: 1_000\nb: 1:30\nc: 0x10\nd: 1.5e+3\ne: 017", "x") == {
        "a": 1000, "b": "1:30", "c": 16, "d": 1500.0, "e": 15,
    }  # fmt: skip
