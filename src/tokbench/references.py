"""What an experiment's methods and data are from, as BibTeX.

Entries of BibTeX, made of what is known of publications.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tokbench.errors import TokbenchError, shortened
from tokbench.io.yaml import read_yaml

REFERENCES = Path(__file__).with_name("references.yaml")
WHOLE = re.compile(r"\s*@\w+\s*\{\s*([^,\s]+)\s*,")
"""How a whole entry begins, with its key."""
NO_KEY = f"'{{}}' is no key of {REFERENCES.name}; name one, or give a whole entry of BibTeX"
"""What is said of a key that is not known."""
SPECIAL = str.maketrans({character: f"\\{character}" for character in "&%$#_"})
"""Characters that LaTeX takes for its own."""
ADDRESSES = ("url", "doi", "eprint")
"""Fields in which they stand as they are."""


@cache
def known() -> Mapping[str, Mapping[str, Any]]:
    """Publications by key."""
    found: Mapping[str, Mapping[str, Any]] = read_yaml(REFERENCES)
    return found


def bibliography(cited: Iterable[str]) -> str:
    """The file of what is cited, each entry once, ordered by key.

    Args:
        cited: keys of publications that are known, or whole entries, as methods of other distributions bring them.

    Raises:
        TokbenchError: a key is not known, or two entries that differ have one key.
    """
    entries: dict[str, str] = {}
    for one in cited:
        whole = WHOLE.match(one)
        key, text = (whole[1], one.strip() + "\n") if whole else (one, entry(one))
        if entries.setdefault(key, text) != text:
            raise TokbenchError(f"two entries of BibTeX have the key '{key}'; rename one")
    return "\n".join(entries[key] for key in sorted(entries))


def entry(key: str) -> str:
    """The entry of a publication.

    Raises:
        TokbenchError: the key is not known.
    """
    if key not in known():
        raise TokbenchError(NO_KEY.format(shortened(key)))
    return made(key, known()[key])


def short_name(cited: str) -> str:
    """Return a publication as text cites it: ``Sennrich et al. 2016``, or its title if it has no year.

    Args:
        cited: a key, or a BibTeX entry, of which the key is returned.
    """
    if whole := WHOLE.match(cited):
        return whole[1]
    facts = known().get(cited, {})
    if "year" not in facts:
        return str(facts.get("title", cited))
    names = [name.partition(",")[0].strip("{}") for name in facts["author"]]
    authors = " and ".join(names) if len(names) < 3 and names[-1] != "others" else f"{names[0]} et al."
    return f"{authors} {facts['year']}"


def made(key: str, facts: Mapping[str, Any]) -> str:
    """An entry of a key, a type and fields; capitals of titles stay as they are."""
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
