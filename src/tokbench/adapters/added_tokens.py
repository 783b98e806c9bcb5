"""Added tokens in a text, the names of ids for other libraries, and the end of text of an imported tokenizer.

Added tokens are found as in the ``tokenizers`` library: leftmost first, the longest of those. Tokens that are not
normalized, special ones among them, are searched first, then the others in the text between them. A token may have to
be a word of its own, and may include the whitespace before or after it.

For other libraries, tokens are named by their printable spelling, special ids by their names. The end of text is the
token that the files name, or a special token with a known name.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import regex

from tokbench.adapters.forms import ParsedTokenizer
from tokbench.errors import TokbenchError, listed, shortened
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import CONTINUATION, END_OF_TEXT, spell
from tokbench.vocabulary import Vocabulary

BLANKS_BEFORE = regex.compile(r"\s*\Z")
BLANKS_AFTER = regex.compile(r"\s*")
WORD = regex.compile(r"\w")


class AddedToken(NamedTuple):
    """An added token.

    Attributes:
        id: its id.
        content: its text.
        single_word: match only between characters that belong to no word.
        lstrip: include the whitespace before it.
        rstrip: include the whitespace after it.
        normalized: search after the tokens that are not.
        special: whether it is special.
    """

    id: int
    content: str
    single_word: bool
    lstrip: bool
    rstrip: bool
    normalized: bool
    special: bool


class AddedTokenMatch(NamedTuple):
    """A part of a text: characters ``start`` to ``end``, and the id of an added token, None for plain text."""

    start: int
    end: int
    id: int | None


class AddedTokens:
    """The added tokens of a tokenizer.

    Args:
        tokens: all added tokens.
    """

    def __init__(self, tokens: Iterable[AddedToken]) -> None:
        self._tokens = {token.content: token for token in tokens}
        self._patterns = [
            pattern
            for normalized in (False, True)
            if (pattern := _any_of(token.content for token in tokens if token.normalized == normalized))
        ]

    @classmethod
    def of(cls, tokens: Mapping[int, Any]) -> "AddedTokens":
        """Return the added tokens from a mapping of ids to ``AddedToken`` of ``transformers``; cached."""
        return _made(
            tuple(
                AddedToken(index, *(getattr(token, name) for name in AddedToken._fields[1:]))
                for index, token in tokens.items()
            )
        )

    def split(self, text: str, special: bool = True) -> list[AddedTokenMatch]:
        """Split a text into parts, in order; they cover the text.

        Args:
            text: any text.
            special: search for special tokens, default: True; otherwise their names are plain text.
        """
        parts = [AddedTokenMatch(0, len(text), None)] if text else []
        for pattern in self._patterns:
            parts = [
                piece
                for part in parts
                for piece in ([part] if part.id is not None else self._within(pattern, text, part, special))
            ]
        return parts

    def _within(self, pattern: Any, text: str, part: AddedTokenMatch, special: bool) -> Iterator[AddedTokenMatch]:
        done = part.start
        for match in pattern.finditer(text, part.start, part.end):
            token = self._tokens[match.group()]
            start, end = match.span()
            if token.special and not special:
                continue
            if token.single_word and (
                (start > part.start and WORD.match(text, start - 1)) or (end < part.end and WORD.match(text, end))
            ):
                continue
            if token.lstrip:
                start = max(BLANKS_BEFORE.search(text, done, start).start(), done)
            if token.rstrip:
                end = BLANKS_AFTER.match(text, end, part.end).end()
            if start > done:
                yield AddedTokenMatch(done, start, None)
            yield AddedTokenMatch(start, end, token.id)
            done = end
        if done < part.end:
            yield AddedTokenMatch(done, part.end, None)


@lru_cache(maxsize=64)
def _made(tokens: tuple[AddedToken, ...]) -> AddedTokens:
    return AddedTokens(tokens)


def _any_of(contents: Iterator[str]) -> Any:
    """Return a pattern that matches any of the texts, the longest first; None if there are none."""
    longest = sorted((content for content in contents if content), key=len, reverse=True)
    return regex.compile("|".join(map(regex.escape, longest))) if longest else None


def spellings(tokenizer: Tokenizer) -> list[str]:
    """Return the tokens' printable spellings, in the order of the vocabulary; all different."""
    flags = tokenizer.vocabulary.continuation
    marks = [False] * len(tokenizer) if flags is None else flags.tolist()
    data, offsets = tokenizer.vocabulary.flat()
    text = spell(data.tobytes())  # It has one character for each byte.
    places = zip(pairwise(offsets.tolist()), marks, strict=True)
    return [CONTINUATION * mark + text[start:end] for (start, end), mark in places]


def ids_of(vocabulary: Vocabulary) -> list[int]:
    """Return the id of each token, in the order of the vocabulary."""
    return list(range(len(vocabulary))) if vocabulary.ids is None else vocabulary.ids.tolist()


def special_names(tokenizer: Tokenizer) -> dict[str, int]:
    """Return the special ids of an external tokenizer, by name.

    Names that are empty, not UTF-8, or the spelling of a token are excluded; of ids with equal names only the first is
    included.
    """
    taken = set(spellings(tokenizer))
    found: dict[str, int] = {}
    for number, name in tokenizer.vocabulary.special.items():
        try:
            text = name.decode()
        except UnicodeDecodeError:
            continue
        if text and text not in taken:
            found.setdefault(text, number)
    return found


def special_ids(tokenizer: Tokenizer) -> dict[str, int]:
    """Return all special ids by name: the tokenizer's, and those of the end of text and padding."""
    return special_names(tokenizer) | tokenizer.end_and_padding


def unused_name(number: int) -> str:
    """Return the name of an id that is unused or has no name; no spelling of a token contains a space."""
    return f"<unused {number}>"


def names_by_id(tokenizer: Tokenizer) -> list[str]:
    """Return the name of each id below ``id_limit``; all different."""
    names = list(map(unused_name, range(tokenizer.id_limit)))
    for spelling, number in zip(spellings(tokenizer), ids_of(tokenizer.vocabulary), strict=True):
        names[number] = spelling
    for name, number in special_names(tokenizer).items():
        names[number] = name
    return names


KNOWN = (
    *(END_OF_TEXT, "<|end_of_text|>", "</s>", "<eos>", "<|eos|>", "[EOS]", "<\uff5cend\u2581of\u2581sentence\uff5c>"),
    *("<|eot_id|>", "<EOT>", "<|EOT|>"),
)
"""Known names of the end of text, the preferred one first."""


def end_of_text(
    found: ParsedTokenizer, special: Mapping[int, bytes], chosen: str | None, place: str
) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the end of text, None if there is none, and notes for the report.

    Args:
        found: The parsed file.
        special: Ids that encoding never returns, with their names.
        chosen: The token named by the user.
        place: The file, for messages.

    Returns:
        The name ``token``, its ``id`` and the ``source`` that names it.

    Raises:
        TokbenchError: The token named by the user is not a special or added token.
    """
    names: dict[str, int] = {}
    for number, name in [*sorted(special.items()), *sorted(found.added.items())]:
        names.setdefault(name.decode("utf-8", "replace"), number)
    if chosen is not None and chosen not in names:
        known = f"({listed(names)}); name one of them" if names else "(it has none); leave it out"
        raise TokbenchError(
            f"{place}: the end of text '{shortened(chosen)}' is not one of its special and added tokens {known}"
        )
    token, source, notes = _named(names, found, chosen)
    if token is None:
        return None, notes
    if names[token] in found.added:
        notes.append(f"a text that contains '{shortened(token)}' gives the id of the end of text, too")
    return {"token": token, "id": names[token], "source": source}, notes


def _named(names: Mapping[str, int], found: ParsedTokenizer, chosen: str | None) -> tuple[str | None, str, list[str]]:
    """Return the token, the source that names it, and notes about names that were skipped."""
    if chosen is not None:
        return chosen, "the given name", []
    by_id = {number: name for name, number in names.items()}
    skipped: list[str] = []
    for token, source in found.ends:
        name = by_id.get(token) if isinstance(token, int) else token
        if name in names:
            return name, source, skipped
        quoted = f"the id {token}" if isinstance(token, int) else f"'{shortened(token)}'"
        skipped.append(f"{source} is ignored: {quoted} is no special or added token")
    return next((name for name in KNOWN if names.get(name, -1) not in {-1, *found.ordinary}), None), "its name", skipped
