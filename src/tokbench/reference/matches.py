"""Plain-Python reference of counting tokens at every place."""

from collections.abc import Iterable, Sequence


def matches(pretokens: Iterable[tuple[bytes, int]], tokens: Sequence[bytes]) -> list[int]:
    """Occurrences of each token, overlapping ones included, weighted by the pre-tokens' counts."""
    rows = list(pretokens)
    return [
        sum(count for text, count in rows for start in range(len(text)) if text.startswith(token, start))
        for token in tokens
    ]
