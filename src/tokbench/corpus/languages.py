"""Language tag of untagged documents: none if no document of a text has a language, otherwise ``und``."""

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

UNDETERMINED = "und"
"""ISO 639 code of an undetermined language."""
Value = TypeVar("Value")


def tag_of_untagged(languages: Collection[str]) -> str:
    """Return the tag for the documents of a text that have no language.

    Args:
        languages: languages of the text; the empty string means documents without one.
    """
    return UNDETERMINED if any(languages) else ""


def by_tag(values: Mapping[str, Value], add: Callable[[Value, Value], Value]) -> dict[str, Value]:
    """Return values by language tag, with the value of untagged documents under their tag.

    Args:
        values: values by language; the key of untagged documents is the empty string.
        add: function that adds two values, for untagged documents and documents that have this tag already.
    """
    tag = tag_of_untagged(values)
    if "" not in values or not tag:
        return dict(values)
    rest = {language: value for language, value in values.items() if language}
    rest[tag] = add(rest[tag], values[""]) if tag in rest else values[""]
    return rest
