"""The tag of documents without a language: none where no document of a text has one, else that of the undetermined."""

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

UNDETERMINED = "und"
"""The ISO 639 code of a language that is not determined."""
Value = TypeVar("Value")


def tag_of_untagged(languages: Collection[str]) -> str:
    """Return the tag of the documents of a text that have no language.

    Args:
        languages: the languages of the text, empty for documents without one.
    """
    return UNDETERMINED if any(languages) else ""


def by_tag(values: Mapping[str, Value], add: Callable[[Value, Value], Value]) -> dict[str, Value]:
    """Return values by language, with that of documents without a language under the tag that these get.

    Args:
        values: by language, empty for documents without one.
        add: adds up two values, where documents with and without a language have the same tag.
    """
    tag = tag_of_untagged(values)
    if "" not in values or not tag:
        return dict(values)
    rest = {language: value for language, value in values.items() if language}
    rest[tag] = add(rest[tag], values[""]) if tag in rest else values[""]
    return rest
