"""BibTeX entries of the publications behind an experiment's methods and data."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tokbench.errors import TokbenchError, shortened
from tokbench.io.yaml import read_yaml

REFERENCES = Path(__file__).with_name("references.yaml")
COMPLETE_ENTRY = re.compile(r"\s*@\w+\s*\{\s*([^,\s]+)\s*,")
"""Start of a complete BibTeX entry, with its key."""
NO_KEY = f"'{{}}' is not a key of {REFERENCES.name}; use a key of it, or a complete BibTeX entry"
"""Message for an unknown key."""
SPECIAL = str.maketrans({character: f"\\{character}" for character in "&%$#_"})
"""Escapes of characters that are special in LaTeX."""
ADDRESSES = ("url", "doi", "eprint")
"""Fields without escapes."""


@cache
def read_references() -> Mapping[str, Mapping[str, Any]]:
    """Return all publications of ``references.yaml`` by key."""
    entries: Mapping[str, Mapping[str, Any]] = read_yaml(REFERENCES)
    return entries


def bibliography(cited: Iterable[str]) -> str:
    """Return a BibTeX file of the cited publications, each once, sorted by key.

    Args:
        cited: keys of ``references.yaml``, or complete BibTeX entries (from external methods).

    Raises:
        TokbenchError: a key is unknown, or two different entries have the same key.
    """
    entries: dict[str, str] = {}
    for source in cited:
        complete = COMPLETE_ENTRY.match(source)
        key, text = (complete[1], source.strip() + "\n") if complete else (source, entry(source))
        if entries.setdefault(key, text) != text:
            raise TokbenchError(f"two BibTeX entries have the key '{key}'; rename one")
    return "\n".join(entries[key] for key in sorted(entries))


def entry(key: str) -> str:
    """Return the BibTeX entry of a publication.

    Raises:
        TokbenchError: the key is unknown.
    """
    if key not in read_references():
        raise TokbenchError(NO_KEY.format(shortened(key)))
    return format_entry(key, read_references()[key])


def short_name(cited: str) -> str:
    """Return the short citation of a publication: ``Sennrich et al. 2016``, or its title if it has no year.

    Args:
        cited: a key, or a BibTeX entry, of which the key is returned.
    """
    if whole := COMPLETE_ENTRY.match(cited):
        return whole[1]
    facts = read_references().get(cited, {})
    if "year" not in facts:
        return str(facts.get("title", cited))
    names = [name.partition(",")[0].strip("{}") for name in facts["author"]]
    authors = " and ".join(names) if len(names) < 3 and names[-1] != "others" else f"{names[0]} et al."
    return f"{authors} {facts['year']}"


def format_entry(key: str, facts: Mapping[str, Any]) -> str:
    """Format a BibTeX entry; titles keep their capitals."""
    fields = {name: value for name, value in facts.items() if name != "type"}
    if "eprint" in fields:
        fields["archiveprefix"] = "arXiv"
    lines = [f"  {name} = {{{_text(name, value)}}},\n" for name, value in fields.items()]
    return f"@{facts['type']}{{{key},\n{''.join(lines)}}}\n"


def _text(name: str, value: Any) -> str:
    text = " and ".join(value) if isinstance(value, list) else str(value)
    if name in ADDRESSES:
        return text
    text = text.translate(SPECIAL)
    if name == "pages":
        return text.replace("-", "--")
    return f"{{{text}}}" if name == "title" else text
