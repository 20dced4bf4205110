"""What a process still holds when what is free was given back: a leak grows in it, an allocator's reserve does not.

Resident memory by itself tells little here: reviews of several MB come four at a time, and how much the allocator
keeps of them for the next ones differs by 60 MB from run to run.
"""

import ctypes
import gc
import sys
from dataclasses import dataclass
from typing import Self

import psutil


@dataclass(frozen=True, slots=True)
class KeptMemory:
    """``resident`` bytes, and how many ``blocks`` of memory Python objects take."""

    resident: int
    blocks: int

    @classmethod
    def now(cls) -> Self:
        """After a full collection, with free memory returned to the system where the C library can (glibc)."""
        gc.collect()
        _return_free()
        return cls(psutil.Process().memory_info().rss, sys.getallocatedblocks())


def _return_free() -> None:
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
