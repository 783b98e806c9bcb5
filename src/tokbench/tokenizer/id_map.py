"""Ids of one tokenizer for each id of another, such as the tokenizer that it was continued or pruned from.

A new token with the bytes of an old one has its id. Any other new token has the ids into which the old tokenizer
segments its bytes. Special ids have the old id of the same name.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from tokbench.errors import TokbenchError
from tokbench.tokenizer.adapted import AdaptedTokenizer
from tokbench.tokenizer.tokenizer import Tokenizer

Form = tuple[bytes, bool]
"""Bytes of a token, and whether it occurs only inside a word."""


class IdSource(NamedTuple):
    """Old ids of a new id.

    Attributes:
        kind: ``same`` for the token with the same bytes or the special id with the same name, ``mean`` for the
            segmentation by the old tokenizer, ``none`` if there is neither.
        ids: the old ids; empty for ``none``.
    """

    kind: Literal["same", "mean", "none"]
    ids: tuple[int, ...]


def map_ids(old: Tokenizer, new: Tokenizer) -> list[IdSource]:
    """Return the old ids of each new id, in order, up to the new tokenizer's end of text and padding.

    Several tokens can have the same bytes, such as a letter and its byte. The first new one has the id of the first old
    one, and so on.

    Args:
        old: the tokenizer that embeddings were trained with.
        new: the tokenizer that they are carried to.

    Raises:
        TokbenchError: the bytes of a tokenizer's tokens are not known.
    """
    old_ids = defaultdict[Form, list[int]](list)
    old_forms = _forms_by_id(old)
    for number, form in old_forms.items():
        old_ids[form].append(number)
    segments = _Segments(old, old_forms)
    old_names = {name: number for number, name in _special_names(old).items()}

    special = _special_names(new)
    sources = [IdSource("none", ())] * (max([new.id_limit - 1, *special]) + 1)
    for number, name in special.items():
        if name in old_names:
            sources[number] = IdSource("same", (old_names[name],))
    used = defaultdict[Form, int](int)
    for number, form in _forms_by_id(new).items():
        if same := old_ids.get(form):
            sources[number] = IdSource("same", (same[min(used[form], len(same) - 1)],))
            used[form] += 1
        elif parts := segments.of(form[0]):
            sources[number] = IdSource("mean", parts)
    return sources


def _forms_by_id(tokenizer: Tokenizer) -> dict[int, Form]:
    """Return the form of each token by its id, in the order of ids.

    Raises:
        TokbenchError: they are not known.
    """
    listed = tokenizer.listed
    if listed is None:
        raise TokbenchError(f"{tokenizer.name}: the bytes of its tokens are not known; name another tokenizer")
    ids: Iterable[int] = range(len(listed)) if listed.ids is None else listed.ids.tolist()
    inside = [False] * len(listed) if listed.continuation is None else listed.continuation.tolist()
    return dict(sorted(zip(ids, zip(listed.tokens, inside, strict=True), strict=True)))


def _special_names(tokenizer: Tokenizer) -> dict[int, bytes]:
    """Return the names of special ids, the end of text and the padding included."""
    own = tokenizer.special if isinstance(tokenizer, AdaptedTokenizer) else tokenizer.vocabulary.special
    return {number: name.encode() for name, number in tokenizer.end_and_padding.items()} | dict(own)


class _Segments:
    """Segmentation of the bytes of tokens by the old tokenizer.

    Args:
        tokenizer: the old tokenizer.
        forms: the forms of its tokens by id.
    """

    def __init__(self, tokenizer: Tokenizer, forms: dict[int, Form]) -> None:
        # Normalization would change bytes, or add a blank before them.
        self._tokenizer = tokenizer
        if tokenizer.normalization:
            parts = tokenizer.vocabulary, tokenizer.scheme, tokenizer.segmentation, tokenizer.options
            self._tokenizer = Tokenizer(*parts)
        self._bytes = {number: token for number, (token, _) in forms.items()}
        self._ids = {token: number for number, (token, inside) in reversed(forms.items()) if not inside}
        self._longest = max(map(len, self._ids), default=0)

    def of(self, token: bytes) -> tuple[int, ...]:
        """Return the ids whose joined bytes are those of a token: as a text, or after the blank that a library adds;
        otherwise by the longest tokens from the left. Empty if there are none."""
        texts = [token, token[1:]] if token.startswith(b" ") else [token]
        for text in texts if token else []:
            ids: Sequence[int] = self._tokenizer.encode(text).tolist()
            if self._bytes.keys() >= set(ids) and b"".join(map(self._bytes.__getitem__, ids)) == token:
                return tuple(ids)
        return self._longest_first(token)

    def _longest_first(self, token: bytes) -> tuple[int, ...]:
        ids: list[int] = []
        start = 0
        while start < len(token):
            ends = range(min(len(token), start + self._longest), start, -1)
            end = next((end for end in ends if token[start:end] in self._ids), None)
            if end is None:
                return ()
            ids.append(self._ids[token[start:end]])
            start = end
        return tuple(ids)


def write_map(sources: Sequence[IdSource], rows: int) -> str:
    """Return a table of new ids, kinds and old ids as tab-separated text.

    Args:
        sources: old ids of each new id.
        rows: rows of the old embeddings; ids from there on have none.
    """
    lines = ["new_id\tkind\told_ids"]
    for number, source in enumerate(with_rows(sources, rows)):
        lines.append(f"{number}\t{source.kind}\t{' '.join(map(str, source.ids))}")
    return "\n".join(lines) + "\n"


def with_rows(sources: Sequence[IdSource], rows: int) -> list[IdSource]:
    """Return the sources, without those of old ids that have no row.

    Args:
        sources: old ids of each new id.
        rows: rows of the old embeddings.
    """
    return [source if max(source.ids, default=0) < rows else IdSource("none", ()) for source in sources]


def unused_ids(sources: Sequence[IdSource], old: Tokenizer) -> int:
    """Return the number of old tokens that no new id has as its own row."""
    kept = {source.ids[0] for source in sources if source.kind == "same"}
    return len(set(_forms_by_id(old)) - kept)
