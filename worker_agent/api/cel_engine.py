"""The CEL engine alone. Its package also loads a command line with its terminal toolkit, half a second that every
program would pay at its start."""

from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any


@cache
def engine() -> Any:
    """``compile``, ``Context``, ``OptionalValue`` and the rest, as the package itself exports them; loaded when asked.

    Raises ImportError where the package is missing.
    """
    package = find_spec("cel")
    if package is None or package.submodule_search_locations is None:
        raise ImportError("the package common-expression-language is not installed")
    extension = PathFinder.find_spec("cel", list(package.submodule_search_locations))
    if extension is None or extension.loader is None:
        raise ImportError("the package common-expression-language has no compiled engine for this Python")
    module = module_from_spec(extension)
    extension.loader.exec_module(module)
    return module
