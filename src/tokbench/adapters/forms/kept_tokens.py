"""Added tokens that Tokbench's phases recognise in a text: pre-tokenization isolates them.

``tokenizers`` cuts added tokens out of a text before pre-tokenization, leftmost first, the longest of those. So the
rest of the text never contains one, and no token that contains one is ever used for it. Such tokens become special ids.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tokbench.adapters.forms.added_tokens import AddedTokenSettings
from tokbench.corpus.nfc import nfc
from tokbench.errors import shortened
from tokbench.pretokenization.patterns.dialects import NotNativeError

FLAGS = {
    "single_word": "is a token only as a word of its own",
    "lstrip": "includes the whitespace before it",
    "rstrip": "includes the whitespace after it",
}
"""Flags of added tokens that are not native, with their meanings."""
INERT = frozenset("\t\n\v\f\r 0123456789")
"""Characters that canonical normalization neither changes nor makes, and that it composes with no other."""
NOT_MADE = frozenset(map(chr, range(128))) - {";", "`", "K"}
"""Characters that canonical normalization makes of no others. It makes the three of U+037E, U+1FEF and U+212A."""


def kept_tokens(
    entries: Sequence[Mapping[str, Any]], added: AddedTokenSettings, normalised: bool
) -> tuple[dict[bytes, int], bool]:
    """Return the added tokens that are recognised in a text, with their ids.

    Args:
        entries: Added tokens of the file.
        added: The same tokens by the ids of the library.
        normalised: Whether the text is normalised (NFC).

    Returns:
        The tokens, and whether only the text between them is normalised. That is so for tokens with the flag
        ``normalized`` false. Normalization must not make such a token; of ASCII, :data:`NOT_MADE` has the characters.

    Raises:
        NotNativeError: A token has a flag or a content that cannot be reproduced exactly.
    """
    contents = {content.decode(): number for number, content in added.kept.items()}
    kept = [entry for entry in entries if entry["content"] in contents]
    for entry in kept:
        quoted = f"the added token '{shortened(entry['content'])}'"
        for flag, meaning in FLAGS.items():
            if entry.get(flag):
                raise NotNativeError(f"{quoted} {meaning} ({flag})")
        if not entry["content"]:
            raise NotNativeError("an added token is empty")
    later = {entry["content"] for entry in kept if entry.get("normalized", not entry.get("special"))}
    first = contents.keys() - later
    if first and later and (normalised or _hides(later, first)):
        raise NotNativeError("some added tokens are cut out of a text before others")
    between = normalised and any(set(content) - INERT for content in first)
    for content in contents if normalised else ():
        data = content.encode()
        if nfc(data) != data or (between and set(content) - NOT_MADE):
            raise NotNativeError(f"the added token '{shortened(content)}' is cut out of a text that is normalised")
    others = [entry["content"] for entry in entries if entry["content"] not in contents]
    if (overlap := _overlapping(contents, others)) is not None:
        raise NotNativeError(f"the added token '{shortened(overlap)}' overlaps a special token")
    return {content.encode(): number for content, number in contents.items()}, between


def _overlapping(contents: Iterable[str], others: Iterable[str]) -> str | None:
    """Return a content that may share characters with another string in a text, None if there is none."""
    others = frozenset(others)
    starts = {other[:size] for other in others for size in range(1, len(other) + 1)}
    ends = {other[start:] for other in others for start in range(len(other))}
    within = {part for other in others for part in _parts(other)}
    for content in contents:
        shared = any(content[size:] in starts or content[: size + 1] in ends for size in range(len(content)))
        if shared or content in within or not others.isdisjoint(_parts(content)):
            return content
    return None


def _hides(later: Iterable[str], first: Iterable[str]) -> bool:
    """Return whether a search for all strings may find one of ``later`` where a first search finds one of ``first``."""
    first = frozenset(first)
    starts = {token[:size] for token in first for size in range(1, len(token) + 1)}
    return any(
        not first.isdisjoint(_parts(token)) or any(token[size:] in starts for size in range(1, len(token)))
        for token in later
    )


def _parts(text: str) -> Iterator[str]:
    return (text[start:end] for start in range(len(text)) for end in range(start + 1, len(text) + 1))


def with_added_tokens(setting: str | dict[str, Any], contents: Iterable[bytes]) -> str | dict[str, Any]:
    """Return the setting of a pre-tokenization that isolates added tokens first; the same one if there are none."""
    tokens = [content.decode() for content in contents]
    return {"method": "added_tokens", "tokens": tokens, "others": setting} if tokens else setting


def containing(contents: Iterable[bytes]) -> Callable[[bytes], bool]:
    """Return the condition that a token contains an added token, so that no text but the added token itself gives it.

    Contents are found by their first byte and their length: a file may have thousands.
    """
    known = frozenset(contents)
    lengths: dict[int, set[int]] = {}
    for content in known:
        lengths.setdefault(content[0], set()).add(len(content))
    firsts = frozenset(lengths)

    def contains(token: bytes) -> bool:
        return not firsts.isdisjoint(token) and any(
            token[start : start + length] in known
            for start, first in enumerate(token)
            if first in lengths
            for length in lengths[first]
        )

    return contains
