"""Options of the whole test suite."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fix", action="store_true", help="write the generated files again instead of failing")
