"""Options and fixtures of the whole test suite."""

import signal
from collections.abc import Iterator

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fix", action="store_true", help="write the generated files again instead of failing")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let the programs that a test starts take SIGINT: a shell's background job hands down that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
