"""Files whose bytes a test changes many times."""

import os
from pathlib import Path


def overwrite(path: Path, content: bytes | bytearray) -> None:
    """Write a file over what it held: one that is emptied first waits for the disk on some file systems, as ext4."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666), "wb") as stream:
        stream.write(content)
        stream.truncate()
