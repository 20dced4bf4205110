"""A container's file system without a container: ``python -m tests.realcluster.pod_root ROOT MOUNTS MODE COMMAND...``.

Called in a mount namespace of its own (``unshare -m``, which ``command`` does). The program sees the machine's files,
all read-only, and in their place where the pod mounts something that folder: MOUNTS is JSON, path -> [source, "ro" or
"rw"]. It runs without any capability and can gain none. Its user stays that of the test: files of a checkout are often
readable by their owner alone.
"""

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

HOST = "host"
KERNEL = frozenset({"/proc", "/sys", "/dev"})
LAST_CAPABILITY = 63
_DROP_FROM_BOUNDING_SET, _NO_NEW_PRIVILEGES = 24, 38  # prctl(2)

VARIABLES = "FEDHUB_POD_VARIABLES"
"""In the environment: JSON of more variables for the program, in place of what finds this module."""


def command(
    root: Path, mounts: Mapping[str, tuple[Path, bool]], program: Sequence[str], *, keep_capabilities: bool = False
) -> list[str]:
    """The command line that runs ``program`` so; ``root`` is an empty folder. A mount is (source, whether writable).

    Capabilities are kept for a program that becomes another user by itself, and so loses them then.
    """
    told = json.dumps({path: (str(source), "rw" if writable else "ro") for path, (source, writable) in mounts.items()})
    options = "-m" if os.geteuid() == 0 else "-rm"
    mode = "keep" if keep_capabilities else "drop"
    launcher = [sys.executable, "-m", "tests.realcluster.pod_root", str(root), told, mode]
    return ["unshare", options, "--", *launcher, *program]


def main() -> None:
    root, mounts, capabilities, program = Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3], sys.argv[4:]
    _mount("--make-rprivate", "/")
    _mount("-t", "tmpfs", "none", str(root))
    _bind_machine(root / HOST)
    for name in os.listdir("/"):
        (root / name).symlink_to(f"/{HOST}/{name}")
    for path, (source, mode) in sorted(mounts.items()):
        target = _folder(root, path)
        _mount("--bind", source, str(target))
        if mode == "ro":
            _mount("-o", "remount,bind,ro", str(target))
    _mount("-o", "remount,ro", str(root))
    os.chroot(root)
    os.chdir("/")
    if capabilities == "drop":
        _give_up_privileges()
    told = os.environ.pop(VARIABLES, "")
    if told:
        del os.environ["PYTHONPATH"]
        os.environ.update(json.loads(told))
    os.execvp(program[0], program)


def _bind_machine(host: Path) -> None:
    """All of the machine under ``host``, read-only but for what the kernel itself shows there."""
    host.mkdir()
    _mount("--rbind", "/", str(host))
    for mounted in _mounted_below(host):
        if not any(mounted == f"{host}{path}" or mounted.startswith(f"{host}{path}/") for path in KERNEL):
            subprocess.run(["mount", "-o", "remount,bind,ro", mounted], check=False, capture_output=True)


def _mounted_below(host: Path) -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    found = [line.split()[4] for line in lines]
    return sorted({path for path in found if path == str(host) or path.startswith(f"{host}/")})


def _folder(root: Path, path: str) -> Path:
    """A real folder at ``path``; what else lies beside it on the machine is linked to as before."""
    at = root
    for name in path.strip("/").split("/"):
        at = at / name
        if not at.is_symlink():
            at.mkdir(exist_ok=True)
            continue
        shown = Path("/") / at.relative_to(root)
        at.unlink()
        at.mkdir()
        for neighbour in os.listdir(shown) if shown.is_dir() else ():
            (at / neighbour).symlink_to(f"/{HOST}{shown}/{neighbour}")
    return at


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def _give_up_privileges() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    for number in range(LAST_CAPABILITY + 1):
        libc.prctl(_DROP_FROM_BOUNDING_SET, number, 0, 0, 0)  # those that this kernel does not know are refused
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)


if __name__ == "__main__":
    main()
