"""Bytes that each id adds to a text, by which losses of language models become bits per byte.

Ids of a tokenizer in Tokbench's three phases add the bytes of their tokens. Other libraries' decoders may put blanks
between tokens or spell them otherwise, so an id is decoded between two others. A token that is a part of a character
has no text: its bytes are those that its library names.
"""

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.tokenizer.adapted import AdaptedTokenizer
from tokbench.tokenizer.encoder import as_bytes
from tokbench.tokenizer.tokenizer import Tokenizer

REPLACEMENT = "\ufffd".encode()
"""Character that decoders write for bytes that are no UTF-8."""
SAMPLES = tuple(
    map(
        as_bytes,
        (
            "The cat sat on the mat.",
            "Don't pay $12,345.60 now!!",
            "two  blanks,\n\nlines\tand an end ",
            "na\u00efve caf\u00e9, \u4e2d\u6587 \U0001f642",
            "e\u0301 \ufb01 \u00bd",
            "def f(x):\n    return x\n",
        ),
    )
)
"""Texts on which the sums of bytes are compared with the decoded text."""


def token_bytes(tokenizer: Tokenizer) -> NDArray[np.int32]:
    """Return the number of bytes that each id adds inside a text.

    Returns:
        int32 [n], where n is ``id_limit``, or more if the ids of the end of text and of the padding follow. Special
        ids, unused ids and the unknown token have 0. :func:`notes_on_bytes` lists where a text can differ.

    Raises:
        TokbenchError: the tokenizer wraps functions and its ids or their bytes are not known.
    """
    size = max(tokenizer.id_limit, max(tokenizer.end_and_padding.values(), default=0) + 1)
    counts = np.zeros(size, np.int32)
    if isinstance(tokenizer, AdaptedTokenizer):
        _require_ids(tokenizer)
        counts[: tokenizer.ids] = _decoded_sizes(tokenizer)
    else:
        counts[: tokenizer.id_limit] = list(map(len, tokenizer.vocabulary.by_id))
    return counts


def _require_ids(tokenizer: AdaptedTokenizer) -> None:
    tokenizer.require_decode()
    if not tokenizer.ids or not (tokenizer.nominal_size or getattr(tokenizer.library, "names", None)):
        raise TokbenchError(f"{tokenizer.name}: its number of ids is not known; pass its size, as in wrap(..., size=N)")


def _decoded_sizes(tokenizer: AdaptedTokenizer) -> list[int]:
    """Return the number of bytes of each id between two others, 0 for special, unknown and missing ids."""
    library = tokenizer.library
    left_out = {*tokenizer.special, library.unknown}
    around: list[int] = tokenizer.encode("a").tolist()
    frame = len(tokenizer.decode([*around, *around]))

    def size(number: int) -> int:
        form = library.form(number)
        if number in left_out or (form is not None and not form[0]):
            return 0
        if form is not None and tokenizer.library_name == "tiktoken":
            return len(form[0])
        decoded = tokenizer.decode([*around, number, *around])
        if REPLACEMENT not in decoded:
            return len(decoded) - frame
        if form is None:
            raise TokbenchError(
                f"{tokenizer.name}: the bytes of id {number} are not known, as decode replaces them by U+FFFD; "
                "return bytes from decode"
            )
        return len(form[0])

    return [size(number) for number in range(tokenizer.ids)]


def notes_on_bytes(tokenizer: Tokenizer, counts: NDArray[np.int32]) -> list[str]:
    """Return a line for each way in which a text can have other bytes than the sum over its ids.

    Args:
        tokenizer: the tokenizer.
        counts: its :func:`token_bytes`.
    """
    notes: list[str] = []
    unknown = tokenizer.unknown_id
    if unknown is not None:
        notes.append(f"id {unknown} is the unknown token: it counts 0 bytes, and may replace any number of them")
    if tokenizer.lossless:
        return notes
    encoded = [(text, ids) for text in SAMPLES if unknown not in (ids := tokenizer.encode(text).tolist())]
    decoded = [tokenizer.decode(ids) for _, ids in encoded]
    extra = {int(counts[ids].sum()) - len(text) for (_, ids), text in zip(encoded, decoded, strict=True)}
    if extra == {1}:
        notes.append("a blank is added to each text: it counts 1 byte, and is no byte of the text")
    elif extra - {0}:
        notes.append(f"bytes depend on the tokens around: sums differ by {min(extra)} to {max(extra)} bytes a text")
    changed = sum(given != text for (given, _), text in zip(encoded, decoded, strict=True))
    if changed:
        notes.append(
            f"{changed} of {len(encoded)} sample texts are changed: the bytes are those of the decoded text, "
            "so divide by the bytes of the original text"
        )
    return notes
