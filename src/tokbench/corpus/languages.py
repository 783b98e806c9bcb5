"""Language tag of untagged documents: none if no document of a text has a language, otherwise ``und``."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from tokbench.errors import shortened

UNDETERMINED = "und"
"""ISO 639 code of an undetermined language."""
TAG = re.compile("[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")
"""Name of a folder or key of a mapping that is a language tag, such as ``de``, ``zho_Hant`` or ``pt-BR``."""
Value = TypeVar("Value")


def is_tag(text: str) -> bool:
    """Return whether a text can be a language tag: others have characters that cannot be printed, such as marks of the
    direction of writing, which would turn captions round."""
    return text.isprintable()


def not_a_tag(text: str) -> str:
    """Return a message about a text that cannot be a language tag."""
    return f"the language '{shortened(text)}' has a character that cannot be printed"


def check_tag(text: str) -> str:
    """Return a language tag of a configuration.

    Raises:
        ValueError: it has a character that cannot be printed.
    """
    if not is_tag(text):
        raise ValueError(f"{not_a_tag(text)}; name it without")
    return text


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
