"""Expanding jinja2 templates of architecture files: in a sandbox, and with a budget, so that none runs without end."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jinja2
import jinja2.environment
import jinja2.meta
import jinja2.nodes
import jinja2.runtime
import jinja2.sandbox

from jouleloop.expressions import multiply, power

#: Loop rounds and calls of one template, and characters of what it writes or joins.
MAX_STEPS = 20_000
MAX_CHARACTERS = 2_000_000

_METHODS: dict[Any, tuple[str, ...]] = {
    dict: ("get", "items", "keys", "values"),
    str: ("lower", "upper", "strip", "startswith", "endswith"),
}
_FILTERS = (
    *("abs", "capitalize", "count", "d", "default", "first", "float", "int", "last", "length", "list", "lower", "max"),
    *("min", "round", "sort", "string", "sum", "title", "trim", "unique", "upper"),
)


class TemplateLimitError(jinja2.TemplateRuntimeError):
    """A template does more than is allowed."""


class BoundedEnvironment(jinja2.sandbox.SandboxedEnvironment):
    """A sandbox where loops, calls, text and numbers are bounded, and only ``functions`` and few methods are called."""

    intercepted_binops = frozenset({"*", "**", "+", "%"})

    def __init__(self, functions: Mapping[str, Callable[..., Any]], source: Callable[[str], str | None]) -> None:
        loader = jinja2.FunctionLoader(source)
        super().__init__(undefined=jinja2.StrictUndefined, autoescape=False, finalize=self._written, loader=loader)
        self.filters = {name: self.filters[name] for name in _FILTERS} | {"join": self._join, "indent": self._indent}
        self.globals = {**functions, "range": self._range, "namespace": jinja2.utils.Namespace}
        self._functions = frozenset(functions.values())
        self.steps = self.characters = 0
        #: Variables that templates ask for.
        self.asked: set[str] = set()

    def _parse(self, source: str, name: str | None, filename: str | None) -> jinja2.nodes.Template:
        tree = super()._parse(source, name, filename)
        self.asked |= jinja2.meta.find_undeclared_variables(tree) - set(self.globals)
        for loop in list(tree.find_all(jinja2.nodes.For)):
            loop.iter = _filtered(loop.iter, "__rounds")
        for joined in list(tree.find_all(jinja2.nodes.Concat)):
            joined.nodes = [_filtered(jinja2.nodes.List(joined.nodes, lineno=joined.lineno), "__text")]
        self.filters |= {"__rounds": self._rounds, "__text": self._text}
        return tree

    def _spend(self, steps: int = 0, characters: int = 0) -> None:
        self.steps += steps
        self.characters += characters
        if self.steps > MAX_STEPS:
            raise TemplateLimitError(f"more than {MAX_STEPS} rounds of loops and calls")
        if self.characters > MAX_CHARACTERS:
            raise TemplateLimitError(f"more than {MAX_CHARACTERS} characters")

    def _written(self, value: Any) -> Any:
        self._spend(characters=len(str(value)))
        return value

    def _rounds(self, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            self._spend(steps=1)
            yield value

    def _text(self, parts: list[Any]) -> str:
        texts = [str(part) for part in parts]
        self._spend(characters=sum(map(len, texts)))
        return "".join(texts)

    def _join(self, values: Iterable[Any], separator: str = "") -> str:
        parts: list[str] = []
        for value in self._rounds(values):
            parts += [separator, str(value)]
            self._spend(characters=len(separator) + len(parts[-1]))
        return "".join(parts[1:])

    def _indent(self, text: str, width: int = 4) -> str:
        self._spend(characters=width * (text.count("\n") + 1))
        return str(jinja2.filters.do_indent(text, width))

    def _range(self, *bounds: int) -> range:
        values = range(*bounds)
        if len(values) > MAX_STEPS:
            raise TemplateLimitError(f"a range of more than {MAX_STEPS} numbers")
        return values

    def call_binop(self, context: jinja2.runtime.Context, operator: str, left: Any, right: Any) -> Any:
        """Return ``left operator right`` for numbers within bounds, and ``+`` for short texts and lists."""
        if operator == "*":
            return multiply(left, right)
        if operator == "**":
            return power(left, right)
        if operator == "%" and isinstance(left, str):
            raise TemplateLimitError("formatting by % is not allowed")
        if operator == "+" and not isinstance(left, (int, float)):
            self._spend(characters=len(left) + len(right))
        return super().call_binop(context, operator, left, right)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether an attribute may be read: few methods of texts and dicts, what loops and templates hold."""
        for kind, names in _METHODS.items():
            if isinstance(obj, kind):
                return attr in names
        known = (jinja2.runtime.LoopContext, jinja2.utils.Namespace, jinja2.environment.TemplateModule)
        return isinstance(obj, known) and not attr.startswith("_") and super().is_safe_attribute(obj, attr, value)

    def is_safe_callable(self, obj: Any) -> bool:
        """Whether something may be called: the given functions, macros and the few methods."""
        if obj in self._functions or obj == self._range or obj is jinja2.utils.Namespace:
            return True
        if isinstance(obj, (jinja2.runtime.Macro, jinja2.runtime.LoopContext)):
            return True
        holder = getattr(obj, "__self__", None)
        return any(isinstance(holder, kind) and obj.__name__ in names for kind, names in _METHODS.items())

    def call(self, context: jinja2.runtime.Context, obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call ``obj`` and count it."""
        self._spend(steps=1)
        return super().call(context, obj, *args, **kwargs)


def _filtered(node: Any, name: str) -> jinja2.nodes.Filter:
    return jinja2.nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def expand(
    text: str,
    functions: Mapping[str, Callable[..., Any]],
    variables: Mapping[str, Any],
    source: Callable[[str], str | None] = lambda _: None,
) -> tuple[str, set[str]]:
    """Return the template ``text`` expanded, and the variables that it asks for.

    ``source`` gives the text of others that it includes or imports by name.

    Raises `jinja2.TemplateError` where the template is none, does what is not allowed, or too much;
    `jinja2.UndefinedError` for an unknown name; `ValueError` or `TypeError` or `ArithmeticError` or `LookupError` or
    `RecursionError` where a computation in it fails.
    """
    environment = BoundedEnvironment(functions, source)
    return environment.from_string(text).render(**variables), environment.asked
