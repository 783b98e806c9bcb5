"""Hugging Face conventions: ``tokenizer_config.json``, special tokens, and GPT-2's printable spelling of bytes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokbench.io.compression import read_regular

CONFIGURATION = "tokenizer_config.json"
CLASS = "TokbenchTokenizer"
FAST = "PreTrainedTokenizerFast"
"""Class by which ``AutoTokenizer`` opens a folder with ``tokenizer.json`` without Tokbench."""
END_OF_TEXT = "<|endoftext|>"
PADDING = "<|padding|>"
PRINTABLE = frozenset((*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)))
"""Bytes spelt as the character of the same code point. The other bytes map to U+0100 onwards, in order."""
CONTINUATION = "\u203f"
"""Prefix of tokens that match only inside a pre-token. No byte maps to it, unlike WordPiece's ``##``."""


def end_token(origin: Mapping[str, Any]) -> str:
    """Return the name of a tokenizer's end-of-text token. Default: ``<|endoftext|>``.

    Args:
        origin: Origin of the tokenizer. An import records its end of text there.
    """
    recorded = _recorded_end(origin)
    return END_OF_TEXT if recorded is None else str(recorded["token"])


def special_tokens(
    size: int, own: Mapping[int, bytes] | None = None, origin: Mapping[str, Any] | None = None
) -> dict[str, int]:
    """Return the ids of the end of text and of the padding, by name. Default: ``size`` and ``size + 1``.

    Args:
        size: Largest id of the vocabulary + 1.
        own: Special ids of the vocabulary with their names (default: none). A name equal to one of ours sets its id.
        origin: Origin of the tokenizer, see :func:`end_token`.
    """
    named = {name.decode("utf-8", "replace"): number for number, name in (own or {}).items()}
    recorded = _recorded_end(origin or {})
    end = {END_OF_TEXT: named.get(END_OF_TEXT, size)} if recorded is None else {recorded["token"]: recorded["id"]}
    return end | {PADDING: named.get(PADDING, size + 1)}


def _recorded_end(origin: Mapping[str, Any]) -> Mapping[str, Any] | None:
    imported = origin.get("imported")
    return imported.get("end_of_text") if isinstance(imported, Mapping) else None


def write_configuration(folder: Path, name: str = CLASS, end: str = END_OF_TEXT) -> None:
    """Write ``tokenizer_config.json``, from which ``AutoTokenizer`` learns the class of a tokenizer.

    Args:
        folder: Folder of the tokenizer.
        name: Name of the class (default: ``TokbenchTokenizer``).
        end: Name of the token that ends a text (default: ``<|endoftext|>``).
    """
    configuration = {
        "tokenizer_class": name,
        "eos_token": end,
        "bos_token": end,
        "pad_token": PADDING,
        "model_max_length": 10**9,
        "clean_up_tokenization_spaces": False,
    }
    (folder / CONFIGURATION).write_text(json.dumps(configuration, indent=2) + "\n", encoding="utf-8")


def describe_to_others(folder: Path, max_tokens: int) -> None:
    """Write into ``tokenizer_config.json`` the settings by which other programs open a model's folder.

    They name the class of ``transformers`` if ``tokenizer.json`` exists, so that the folder opens without Tokbench. A
    folder of Tokbench has a ``tokenizer.json`` only if its ids are equal. ``model_max_length`` is the length of texts
    that lm-eval passes to an MPT, whose own configuration names it in another way.

    Args:
        folder: folder that contains a model's and a tokenizer's files.
        max_tokens: maximum tokens of a text that the model reads.
    """
    path = folder / CONFIGURATION
    if path.is_file():
        described = json.loads(path.read_text(encoding="utf-8")) | {"model_max_length": max_tokens}
        if (folder / "tokenizer.json").is_file():
            described["tokenizer_class"] = FAST
        path.write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


def names_another_class(folder: Path) -> bool:
    """Return whether ``tokenizer_config.json`` exists and names a class other than ours, or none."""
    try:
        configuration: Any = json.loads(read_regular(folder / CONFIGURATION))
        return bool(configuration["tokenizer_class"] != CLASS)
    except FileNotFoundError:
        return False
    except (ValueError, TypeError, KeyError):
        return True


def _characters() -> tuple[str, ...]:
    replacements = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in PRINTABLE else next(replacements)) for byte in range(256))


CHARACTERS: tuple[str, ...] = _characters()
"""Character of each of the 256 bytes."""
SPELLED = dict(enumerate(CHARACTERS))
BYTE_OF = {character: byte for byte, character in enumerate(CHARACTERS)}
LATIN = dict.fromkeys(range(256), 256) | {ord(character): byte for character, byte in BYTE_OF.items()}
"""Code point of each character's byte; characters that spell no byte get one above 255."""


def spell(token: bytes, continuation: bool = False) -> str:
    """Return the printable spelling of a token."""
    return (CONTINUATION if continuation else "") + token.decode("latin-1").translate(SPELLED)


def unspell(spelling: str) -> bytes:
    """Return the bytes of a printable spelling.

    Raises:
        UnicodeEncodeError: a character spells no byte.
    """
    return spelling.removeprefix(CONTINUATION).translate(LATIN).encode("latin-1")


def spelled_bytes(spelling: str) -> bytes | None:
    """Return the bytes that a string spells, None if a character of it spells none."""
    try:
        return spelling.translate(LATIN).encode("latin-1")
    except UnicodeEncodeError:
        return None


def spelling_ranks() -> NDArray[np.int64]:
    """Return int64 [256], the rank of each byte in the order of characters, by which Hugging Face breaks ties."""
    order = sorted(range(256), key=CHARACTERS.__getitem__)
    return np.argsort(np.array(order)).astype(np.int64)
