"""Private keys as files for as long as it takes to read them: the ssl module takes nothing else."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hub.local.apiserver.certificates import KeyPair


@contextmanager
def key_file(pair: KeyPair) -> Iterator[Path]:
    """A file that only we can read, gone again at the end."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pair.pem"
        path.touch(mode=0o600)
        path.write_bytes(pair.certificate + pair.key)
        yield path
