"""The mistakes beside those of type: where single values are wrong, the rest of a configuration is checked, too.

What is wrong gives place to a stand-in, the rest is held against itself as ever, and nothing is said of the entry where
something was wrong, nor what only follows from it: each mistake is told once.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from tokbench.config.check import check
from tokbench.config.experiment import Experiment
from tokbench.config.sections import Run
from tokbench.inputs.numbers import LARGEST_VOCABULARY
from tokbench.options import KEY

Place = tuple[str, ...]
"""A section, and the entry in it where it has any."""
STAND_INS: dict[str, Any] = {
    "corpora": {"source": "embedded"},
    "byte_lms": "ngram",
    "variants": {"pretokenization": "none", "construction": "bpe"},
    "models": "tiny",
    "suites": "offline",
}
"""Entries without a mistake, by section: names that lead to a wrong entry lead to something still."""
LEAST_SIZE = 256
SIZES_OF_RUNS = r"runs\.\d+\.sizes\."
FOLLOWS = {"sizes": (r"sizes\.", SIZES_OF_RUNS), "variants": (SIZES_OF_RUNS, r"report\.baseline\.")}
"""Keys of which something may be said only because an entry of a section is wrong."""


def check_beside(values: Mapping[str, Any], error: ValidationError) -> list[str]:
    """What :func:`check` says of the entries that pydantic did not reject; nothing where too little is left."""
    rest = dict(values)
    silent = []
    for place in {_place(details["loc"]) for details in error.errors(include_url=False)}:
        if place is None or not _mend(rest, *place):
            return []
        silent += [re.escape(".".join(place)) + r"\.", *FOLLOWS.get(place[0], ())]
    try:
        experiment = Experiment.model_validate(rest)
    except ValidationError:
        return []
    wrong = re.compile("|".join(silent))
    return [line for line in check(experiment) if not wrong.match(line.partition(": ")[0] + ".")]


def _place(location: tuple[int | str, ...]) -> Place | None:
    """The entry in which an error lies; None where the entry's name is wrong, so that nothing can lead to it."""
    return None if location[2:] == (KEY,) else tuple(map(str, location[:2]))


def _mend(rest: dict[str, Any], section: str, entry: str | None = None) -> bool:
    """Put a stand-in where an entry is wrong; False where too much is."""
    given = rest.get(section)
    match section:
        case "name":
            rest[section] = "unnamed"
        case "sizes":
            rest[section] = list(dict.fromkeys(_sizes(given))) or [LEAST_SIZE]
        case "runs" if entry is not None and isinstance(given, list):
            nothing = Run.model_construct(models=[], variants=[], suites=[])
            rest[section] = [nothing if str(place) == entry else run for place, run in enumerate(given)]
        case "corpora" | "byte_lms" | "variants" | "models" | "suites":
            if entry is None or not isinstance(given, dict):
                return False
            rest[section] = given | {entry: _stand_in(section, given.get(entry))}
        case _ if entry is not None:
            rest[section] = {key: value for key, value in rest[section].items() if key != entry}
        case _:
            rest.pop(section, None)
    return True


def _stand_in(section: str, entry: Any) -> Any:
    """The stand-in of an entry; a variant's keeps its corpus, and needs no size where that needed none."""
    if section != "variants" or not isinstance(entry, dict):
        return STAND_INS[section]
    corpus, elsewhere = entry.get("corpus"), "from" in entry or "path" in entry
    kept = {"corpus": corpus} if isinstance(corpus, str) else {}
    return STAND_INS[section] | kept | ({"sizes": [LEAST_SIZE]} if elsewhere else {})


def _sizes(given: Any) -> Iterator[int]:
    for size in given if isinstance(given, list) else ():
        if type(size) is int and LEAST_SIZE <= size <= LARGEST_VOCABULARY:
            yield size
