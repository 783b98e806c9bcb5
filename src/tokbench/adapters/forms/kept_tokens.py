"""Added tokens that Tokbench's phases recognise in a text: a first step of pre-tokenization isolates them.

``tokenizers`` cuts added tokens out of a text before pre-tokenization, leftmost first, the longest of those. So the
rest of the text never contains one, and no token that contains one is ever used for it. Such tokens become special ids.
"""

from collections.abc import Iterable, Mapping, Sequence
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
    if overlap := next((one for one in contents for other in others if _overlap(one, other)), None):
        raise NotNativeError(f"the added token '{shortened(overlap)}' overlaps a special token")
    return {content.encode(): number for content, number in contents.items()}


def _overlap(one: str, other: str) -> bool:
    """Return whether a text may contain two strings that share characters."""
    ends = (
        (first[-size:], second[:size])
        for first, second in ((one, other), (other, one))
        for size in range(1, min(len(one), len(other)) + 1)
    )
    return one in other or other in one or any(end == start for end, start in ends)


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


def contains_any(token: bytes, contents: Iterable[bytes]) -> bool:
    """Return whether a token contains an added token, so that no text but the added token itself gives it."""
    return any(content in token for content in contents)
