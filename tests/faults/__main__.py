"""Histories of a federation under faults, see ``tests.faults.command``."""

import sys
from importlib import import_module

from tests import interpreter

if __name__ == "__main__":
    interpreter.settle("tests.faults")
    # Not before: what has to be started anew had better read nothing.
    sys.exit(import_module("tests.faults.command").main(sys.argv[1:]))
