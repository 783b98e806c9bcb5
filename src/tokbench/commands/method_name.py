"""The name of a construction on the command line, checked before anything of its method is imported."""

from functools import cache
from importlib.util import find_spec
from typing import Any

import click

from tokbench.errors import TokbenchError, unknown
from tokbench.submodules import entry_points_of, submodules

KIND = "construction"
PACKAGE = "tokbench.construction"


class ConstructionName(click.ParamType):
    """A construction's name.

    A built-in one stands in the module of its name. Where other distributions bring constructions of theirs, only these
    modules tell how they are called, and the registry decides.
    """

    name = "name"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if value not in built_in() and not entry_points_of(PACKAGE):
            raise TokbenchError(unknown(value, KIND, built_in()))
        return value


@cache
def built_in() -> frozenset[str]:
    """The constructions that come with Tokbench."""
    spec = find_spec(PACKAGE)
    assert spec is not None
    return frozenset(submodules(spec.submodule_search_locations or ()))
