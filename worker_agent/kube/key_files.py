"""Private keys as files for as long as it takes to read them: the ssl module takes nothing else."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def key_file(certificate: bytes, key: bytes) -> Iterator[Path]:
    """A PEM file of both that only we can read, gone again at the end."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pair.pem"
        path.touch(mode=0o600)
        path.write_bytes(certificate.rstrip() + b"\n" + key)
        yield path
