"""Content of tokenizer files: options of their readers, and the tokenizers that they contain."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from tokbench.errors import TokbenchError, shortened
from tokbench.io.numbers import LARGEST_VOCABULARY
from tokbench.options import Options
from tokbench.pretokenization.patterns.characters import Ranges
from tokbench.tokenizer.libraries import Library
from tokbench.vocabulary import Vocabulary


class ReadOptions(Options):
    """Settings that a tokenizer's file may lack."""

    pattern: str | None = None
    """Pre-tokenization, for forms that lack it: a name or a regular expression."""
    segmentation: str | None = None
    """Segmentation instead of the form's; required for ``tokens``, which has none."""
    added: Literal["words", "text", "tokens"] = "words"
    """Treatment of special and added tokens in a text. ``words`` (default) recognises those that the file does not call
    special, and special ones of white space only; all other special tokens are plain text. ``text`` recognises none,
    ``tokens`` all."""
    special_tokens: Annotated[dict[str, int], Field(min_length=1)] | None = None
    """Special tokens with their ids, for a file of ranks, which lacks them. Default: those of the file that Tokbench's
    export wrote with it, or those published for the same ranks (gpt2, p50k_base, cl100k_base, o200k_base). ``pattern``
    selects among encodings of equal ranks (p50k_edit, o200k_harmony)."""
    end_of_text: Annotated[str, Field(min_length=1)] | None = None
    """Special or added token that ends a text. Default: the token named by the folder's settings (``eos_token``), then
    a special token of a known name such as ``<|endoftext|>`` or ``</s>``, then the first id after all others."""
    revision: str | None = None
    """Revision of a name on the hub, a full hash; without it, nothing is downloaded."""


class End(NamedTuple):
    """A token named as the end of text by a file.

    Attributes:
        token: Name of the token, or its id.
        source: Key and file.
    """

    token: str | int
    source: str


@dataclass(frozen=True)
class NativeTokenizer:
    """A tokenizer in Tokbench's three phases.

    Attributes:
        vocabulary: tokens, with the file's ids.
        pretokenization: setting of the scheme.
        segmentation: name of the method.
        sets: sets of characters in the file's patterns, by the text of the part of a pattern.
        steps: sets of characters split by other steps of its library's pre-tokenization, by type.
        normalization: steps before pre-tokenization, see :mod:`tokbench.tokenizer.normalization`.
    """

    vocabulary: Vocabulary
    pretokenization: str | Mapping[str, Any]
    segmentation: str
    sets: Mapping[str, Ranges] = field(default_factory=dict)
    steps: Mapping[str, Ranges] = field(default_factory=dict)
    normalization: Sequence[str] = ()


@dataclass(frozen=True)
class ParsedTokenizer:
    """Content of a tokenizer's file.

    Attributes:
        native: the tokenizer in Tokbench's three phases, None if they are not equivalent.
        reason: reason why they are not.
        library: library that reads the file, None if there is none.
        content: file as passed to that library.
        settings: settings of the library in addition to the file.
        opened: The tokenizer of the library, if parsing opened it.
        special: ids that encoding never returns, with their names.
        added: Special and added tokens that encoding can return, by id.
        ordinary: Ids of added tokens that the file does not call special; none of them is the end of text by its name.
        ends: Ends of text named by the file or its folder, the preferred one first.
        tokens: number of tokens that encoding can return.
        ids: number of ids, one more than the largest.
        notes: notes about the file, in sentences without full stops.
    """

    native: NativeTokenizer | None
    reason: str = ""
    library: str | None = None
    content: bytes = b""
    settings: Mapping[str, Any] = field(default_factory=dict)
    opened: Library | None = None
    special: Mapping[int, bytes] = field(default_factory=dict)
    added: Mapping[int, bytes] = field(default_factory=dict)
    ordinary: Collection[int | None] = ()
    ends: Sequence[End] = ()
    tokens: int = 0
    ids: int = 0
    notes: Sequence[str] = ()


def other_ids(ids: Iterable[int], special: Mapping[int, bytes], unused: Mapping[int, bytes]) -> dict[str, Any]:
    """Return ``special`` and ``unused`` of a vocabulary, ordered by id, without the ids of its tokens.

    Args:
        ids: ids of the tokens.
        special: names of special tokens by id.
        unused: bytes of ids that no text gives.
    """
    taken = set(ids)
    named = {number: special[number] for number in sorted(special.keys() - taken)}
    return {"special": named, "unused": {number: unused[number] for number in sorted(unused.keys() - taken - {*named})}}


def special_note(number: int, kind: str) -> str:
    """Return a note about a number of tokens that encoding never returns."""
    return f"{number:,} {kind} token{'s are' if number > 1 else ' is'} text in texts"


def check_special(special: Mapping[str, int], key: str) -> None:
    """Reject special tokens with invalid names or ids, and equal ids.

    Raises:
        TokbenchError: there is one; the message begins with ``key``.
    """
    named: dict[int, str] = {}
    for name, number in special.items():
        if not name or any(0xD800 <= ord(sign) < 0xE000 for sign in name):
            raise TokbenchError(f"{key}: {name!a:.40} is not a name of a token; name it by text")
        if type(number) is not int or not 0 <= number < LARGEST_VOCABULARY:
            raise TokbenchError(
                f"{key}: '{shortened(name)}' has the id {number!r:.20}; ids are 0 to {LARGEST_VOCABULARY - 1}"
            )
        if (other := named.setdefault(number, name)) != name:
            raise TokbenchError(
                f"{key}: '{shortened(other)}' and '{shortened(name)}' have one id, {number}; give each its own"
            )


def check_distinct(special: Mapping[str, int], ranks: Mapping[bytes, int], key: str) -> None:
    """Reject special tokens that have the id of a rank.

    Raises:
        TokbenchError: there is one; the message begins with ``key`` and names the first.
    """
    taken = set(ranks.values())
    for name, number in special.items():
        if number in taken:
            raise TokbenchError(
                f"{key}: '{shortened(name)}' has the id {number}, which is a rank of the file; give it another"
            )
