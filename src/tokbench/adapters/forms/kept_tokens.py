"""Added tokens that Tokbench's phases recognise in a text: a first step of pre-tokenization isolates them.

``tokenizers`` cuts added tokens out of a text before pre-tokenization, leftmost first, the longest of those. So the
rest of the text never contains one, and no token that contains one is ever used for it. Such tokens become special ids.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tokbench.adapters.forms import NotNativeError
from tokbench.adapters.forms.folder_settings import AddedTokenSettings
from tokbench.adapters.forms.patterns import ONIGURUMA, TranslatedPattern, translated
from tokbench.errors import shortened
from tokbench.pretokenization.patterns.parse import MOST_REPEATED

FLAGS = {
    "single_word": "is a token only as a word of its own",
    "lstrip": "includes the whitespace before it",
    "rstrip": "includes the whitespace after it",
}
"""Flags of added tokens that are not native, with their meanings."""
INERT = frozenset("\t\n\v\f\r 0123456789")
"""Characters that canonical normalization neither changes nor makes, and that it composes with no other."""


def kept_tokens(entries: Sequence[Mapping[str, Any]], added: AddedTokenSettings, normalised: bool) -> dict[bytes, int]:
    """Return the added tokens that are recognised in a text, with their ids.

    Args:
        entries: Added tokens of the file.
        added: The same tokens by the ids of the library.
        normalised: Whether the text is normalised.

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
        if normalised and not set(entry["content"]) <= INERT:
            raise NotNativeError(f"{quoted} is cut out of a text that is normalised")
    if len({bool(entry.get("normalized", not entry.get("special"))) for entry in kept}) > 1:
        raise NotNativeError("some added tokens are cut out of a text before others")
    others = [entry["content"] for entry in entries if entry["content"] not in contents]
    if (overlap := _overlapping(contents, others)) is not None:
        raise NotNativeError(f"the added token '{shortened(overlap)}' overlaps a special token")
    return {content.encode(): number for content, number in contents.items()}


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


def _parts(text: str) -> Iterator[str]:
    return (text[start:end] for start in range(len(text)) for end in range(start + 1, len(text) + 1))


def kept_pattern(contents: Iterable[str]) -> TranslatedPattern:
    """Return the pattern that matches added tokens, the longest first; runs of one character are a repetition."""
    import regex

    longest = sorted(contents, key=len, reverse=True)
    runs: dict[str, list[int]] = {}
    for content in longest:
        runs.setdefault(content[0], []).append(len(content) if len(set(content)) == 1 else 0)
    parts = []
    for sign, sizes in runs.items():
        spelt = regex.escape(sign, special_only=True)
        if sizes == [*range(sizes[0], sizes[-1] - 1, -1)] and sizes[-1] > 0 and sizes[0] <= MOST_REPEATED:
            parts.append(f"{spelt}{{{sizes[-1]},{sizes[0]}}}" if sizes[0] > 1 else spelt)
        else:
            parts += [regex.escape(one, special_only=True) for one in longest if one[0] == sign]
    return translated("|".join(parts), ONIGURUMA)


def containing(contents: Iterable[bytes]) -> Callable[[bytes], bool]:
    """Return the condition that a token contains an added token, so that no text but the added token itself gives it.

    Contents are found by their first byte and their length: a file may have thousands.
    """
    known = frozenset(contents)
    lengths: dict[int, set[int]] = {}
    for content in known:
        lengths.setdefault(content[0], set()).add(len(content))

    def contains(token: bytes) -> bool:
        return any(
            token[start : start + length] in known
            for start, first in enumerate(token)
            if first in lengths
            for length in lengths[first]
        )

    return contains
