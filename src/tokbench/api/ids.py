"""Functions of ids: their bytes, bits per byte of language models that others train, and decoding one at a time."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokbench.api.texts import tokenizer_of
from tokbench.errors import TokbenchError
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.decode_stream import DecodeStream
from tokbench.tokenizer.encoder import shown
from tokbench.tokenizer.token_bytes import token_bytes as count_bytes


def token_bytes(tokenizer: Tokenizer) -> NDArray[np.int32]:
    """Return the number of bytes that each id adds inside a text, as ``tokbench bytes`` writes them.

    Args:
        tokenizer: the tokenizer.

    Returns:
        int32 [n], one number for each id; n is ``tokenizer.id_limit``, or more if the ids of the end of text and of
        the padding follow. Special ids, unused ids and the unknown token have 0. The sum over the ids of a text is the
        number of its bytes, unless the tokenizer changes texts, or adds a blank to them.

    Raises:
        TokbenchError: not a tokenizer, or it wraps functions and its ids or their bytes are not known.

    Examples:
        >>> bpe = tokbench.build("bpe", tokbench.count("the cat and the hat " * 9), 260)
        >>> tokbench.token_bytes(bpe)[bpe.encode("the hat")].tolist()
        [3, 1, 1, 2]
    """
    return count_bytes(tokenizer_of("token_bytes", tokenizer))


def bits_per_byte(loss: ArrayLike, ids: ArrayLike, tokenizer: Tokenizer | NDArray[np.int32]) -> float:
    """Return the bits per byte of predicted ids: the sum of losses / ln 2 / the sum of bytes.

    Args:
        loss: losses in nats, one for each id, in the shape of ``ids``; or one number, the mean loss of all ids. Arrays
            and tensors in the memory of the processor are accepted.
        ids: the ids that were predicted, integers of any shape.
        tokenizer: the tokenizer of the ids, or its :func:`token_bytes`, which saves time if there are many calls.

    Returns:
        Bits per byte. With one loss for each id, ids that add no byte, such as the end of text, are left out of both
        sums. A mean includes the losses of such ids.

    Raises:
        TokbenchError: shapes differ, a loss is not finite, an id is out of range, no id adds a byte, or an argument is
            not numbers.

    Examples:
        >>> bpe = tokbench.build("bpe", tokbench.count("the cat and the hat " * 9), 260)
        >>> ids = bpe.encode("the hat")
        >>> tokbench.bits_per_byte([0.7, 0.2, 1.1, 0.8], ids, bpe)
        0.577...
    """
    losses, numbers = _array("loss", loss, "fiu"), _array("ids", ids, "iu")
    if isinstance(tokenizer, np.ndarray):
        counts = _array("tokenizer", tokenizer, "iu")
    else:
        counts = count_bytes(tokenizer_of("bits_per_byte", tokenizer))
    if losses.ndim and losses.shape != numbers.shape:
        raise TokbenchError(
            f"bits_per_byte: the losses have the shape {losses.shape} and the ids {numbers.shape}; pass equal shapes, "
            "or one mean loss"
        )
    if not np.isfinite(losses).all():
        raise TokbenchError("bits_per_byte: a loss is not a finite number; leave out its id")
    for number in (numbers.min(initial=0), numbers.max(initial=0)):
        if not 0 <= number < len(counts):
            raise TokbenchError(
                f"bits_per_byte: id {number} is not one of the tokenizer (0 to {len(counts) - 1}); leave out ids that "
                "are masked"
            )
    sizes = counts[numbers]
    total = int(sizes.sum(dtype=np.int64))
    if not total:
        raise TokbenchError("bits_per_byte: the ids add no byte to a text; pass ids of tokens")
    nats = float(losses) * numbers.size if not losses.ndim else float(losses[sizes > 0].sum())
    return nats / float(np.log(2)) / total


def _array(name: str, values: Any, kinds: str) -> NDArray[Any]:
    """Return numbers as an array; losses are of double precision.

    Raises:
        TokbenchError: they are no numbers of these kinds.
    """
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, RuntimeError):
        hint = "pass loss.detach().float().cpu()" if hasattr(values, "detach") else "pass an array"
        raise TokbenchError(f"bits_per_byte: {name} of type {type(values).__name__} is no array; {hint}") from None
    if (array.dtype.kind not in kinds and array.size) or array.dtype.kind == "b":
        expected = "numbers" if "f" in kinds else "integers"
        raise TokbenchError(f"bits_per_byte: {name} {shown(values)} are not {expected}; pass an array of {expected}")
    return array.astype(np.float64 if "f" in kinds else np.int64)


def decode_stream(tokenizer: Tokenizer) -> DecodeStream:
    """Return a decoder of ids that arrive one at a time, such as those that a language model generates.

    Its method ``add`` returns the text that an id completes, and never U+FFFD for a character that later ids complete;
    ``end`` returns the rest. The joined texts are those of ``decode_text`` for all ids.

    Args:
        tokenizer: the tokenizer of the ids. The decoder of a wrapped function decodes all ids each time.

    Raises:
        TokbenchError: not a tokenizer, or it cannot decode.

    Examples:
        >>> bpe = tokbench.build("bpe", tokbench.count("the cat and the hat " * 9), 260)
        >>> stream = tokbench.decode_stream(bpe)
        >>> "".join(map(stream.add, bpe.encode("the hat"))) + stream.end()
        'the hat'
    """
    return DecodeStream(tokenizer_of("decode_stream", tokenizer))
