"""What the workflow engine asks of each of a plan's files, answered in less time: a fifth of the whole plan's.

The answers are the engine's own, whatever it asks (``tests/test_quick.py`` asks both). They stand in for parts of one
version of it; any other is left as it is.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

ENGINE = "9.27.1"
"""The version whose parts these are."""
PLAIN = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*)*")
"""Paths of which the engine has nothing to say."""


def quicken(engine: Any) -> None:
    """Have the engine take these answers in place of its own; a second time changes nothing.

    Args:
        engine: its package, ``snakemake``.
    """
    if engine.__version__ != ENGINE or engine.io.apply_wildcards.__module__ == __name__:
        return
    engine.io.apply_wildcards = _filling(engine.io.WILDCARD_REGEX, engine.io.WildcardError)
    engine.io.check = _check_of_others(engine.io.check)
    engine.io._IOFile.is_storage = property(is_storage)
    engine.output_index.PrefixLookup = PrefixLookup
    engine.jobs.Job.is_valid = is_valid
    engine.dag.DAG.check_directory_outputs = _check_of_folders(engine.dag.ChildIOException)


def _filling(wildcard: re.Pattern[str], unknown: type[Exception]) -> Any:
    """Values in place of a pattern's wildcards, which are looked for once and not for every file of it."""

    @lru_cache(maxsize=4096)
    def taken_apart(pattern: str) -> tuple[list[tuple[str, str]], str]:
        """What stands before each wildcard, with its name, and what comes after the last."""
        found, last = [], 0
        for match in wildcard.finditer(pattern):
            found.append((pattern[last : match.start()], match["name"]))
            last = match.end()
        return found, pattern[last:]

    def apply_wildcards(pattern: str, wildcards: Mapping[str, Any]) -> str:
        plain = str.__str__(pattern)
        if "{" not in plain:
            return plain
        found, rest = taken_apart(plain)
        try:
            return "".join([text for before, name in found for text in (before, str(wildcards[name]))]) + rest
        except KeyError as error:
            raise unknown(str(error)) from error

    return apply_wildcards


def _check_of_others(check: Any) -> Any:
    """What is said of a path that looks odd; most do not."""

    def check_path(iofile: str, rule: Any = None, is_storage: bool = False) -> None:
        if PLAIN.fullmatch(iofile) is None:
            check(iofile, rule, is_storage)

    return check_path


def is_storage(file: Any) -> bool:
    """Whether a file of a rule lies in a storage of the engine's, and not on a file system."""
    flags = getattr(file._file, "flags", None)
    return flags is not None and bool(flags.get("storage_object"))


class PrefixLookup:
    """Which keys a text begins with, by one look for each length that a key has.

    Args:
        entries: keys with their values; a key may come more than once.
    """

    def __init__(self, entries: Sequence[tuple[str, Any]]) -> None:
        self._values: dict[str, list[Any]] = {}
        for key, value in entries:
            self._values.setdefault(key, []).append(value)
        self._lengths = sorted({len(key) for key in self._values}, reverse=True)

    def match(self, query: str) -> set[Any]:
        """Values of all keys that the text begins with."""
        return {value for _, value in self.match_iter(query)}

    def match_iter(self, query: str) -> Iterator[tuple[str, Any]]:
        """Every key that the text begins with, the longest first, with each of its values."""
        for length in self._lengths:
            key = query[:length]
            if len(key) == length:
                for value in self._values.get(key, ()):
                    yield key, value


def is_valid(job: Any) -> None:
    """Find a job's log and benchmark, or raise what is wrong with them; what was found is kept with the job."""
    _ = job.benchmark, job.log


def _check_of_folders(error: Any) -> Any:
    def check_directory_outputs(dag: Any) -> None:
        """Reject a plan in which one job writes into what another one writes."""
        here = os.getcwd()
        outputs = sorted({(_parts(os.path.join(here, file)), job) for job in dag.jobs for file in job.output})
        for (above, one), (below, other) in pairwise(outputs):
            if above != below and above == below[: len(above)] and one != other:
                raise error(parent=(Path("/", *above), one), child=(Path("/", *below), other))

    return check_directory_outputs


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part not in ("", "."))
