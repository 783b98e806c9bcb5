"""Shell completion of names in registries."""

from collections.abc import Callable
from importlib import import_module

import click


def names_in(*places: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return the shell completion of names in registries or mappings, ``module:attribute``, imported when called."""

    def complete(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
        registries = [getattr(import_module(module), name) for module, name in (place.split(":") for place in places)]
        return sorted({name for names in registries for name in names if name.startswith(typed)})

    return complete


FORM_NAMES = names_in("tokbench.adapters.forms:FORMS")
PATTERN_NAMES = names_in("tokbench.pretokenization:schemes")
SEGMENTATION_NAMES = names_in("tokbench.segmentation:segmentations")
