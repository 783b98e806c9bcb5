"""Where tables are declared: the modules of a package, found without importing any."""

from collections.abc import Iterable

from tokbench.submodules import entry_points_of, submodules

PLACES: dict[str, tuple[str, ...]] = {
    "tabulate": ("tokbench.tabulation",),
    "analyse": ("tokbench.statistics", "tokbench.published.beside", "tokbench.published.translated"),
    "cut_examples": ("tokbench.examples",),
}
"""The packages, and modules by themselves, whose tables each command makes."""


def modules_in(place: str, folders: Iterable[str] | None) -> list[str]:
    """Names of modules that may declare tables.

    Args:
        place: name of a package or module, and of the entry-point group of other distributions.
        folders: where the package lies; None for a module by itself.

    Returns:
        The module, or those of the package in alphabetical order, then those of other distributions.
    """
    own = [place] if folders is None else [f"{place}.{name}" for name in submodules(folders)]
    return [*own, *(entry.module for entry in entry_points_of(place))]
