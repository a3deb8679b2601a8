"""Allow ``python -m jouleloop``."""

from jouleloop.cli import main

main()
