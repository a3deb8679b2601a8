"""Options and fixtures of the whole test suite."""

import gc
import signal
from collections.abc import Generator, Iterator

import pytest

#: Files of which one part takes minutes, besides those of the workflow.
LONG = ("test_fused_certificates.py", "test_grouped_unrollings.py", "test_residual_search.py", "test_divisible.py")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fix", action="store_true", help="write the generated files again instead of failing")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage among 400,000 objects that stay: modules and tests; and seldom afterwards."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000)  # the default of 700 takes up to a tenth of some tests' time
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take longest first, so that no worker has one left when the others have ended."""
    items.sort(key=lambda item: ("workflow" not in item.path.parts, item.path.name not in LONG))


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let the programs that a test starts take signals that a shell's background job or nohup hands down as ignored."""
    numbers = (signal.SIGINT, signal.SIGHUP)
    before = [signal.signal(number, signal.default_int_handler) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)
