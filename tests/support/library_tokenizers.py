"""Small tokenizers of other libraries, in every supported file format."""

import base64
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from tests.conftest import TOPICS
from tokbench.tokenizer.hugging_face import unspell

TEXTS = [topic.decode() for topic in TOPICS]
CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

HAN = r"&&[^\p{Han}]]"
LARGE, SMALL = rf"[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}{HAN}", rf"[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}{HAN}"
KIMI_K2 = (
    rf"[\p{{Han}}]+|[^\r\n\p{{L}}\p{{N}}]?{LARGE}*{SMALL}+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{LARGE}+{SMALL}*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Pattern of Kimi K2, as its code spells it."""


def byte_level(size: int = 420, **level: Any) -> dict[str, Any]:
    """Return a ``tokenizer.json`` of byte-level BPE."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(**({"add_prefix_space": False} | level))
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        TEXTS, trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    )
    return values(made)


def characters(model: Any, trainer: Any, pre_tokenizer: Any, **parts: Any) -> dict[str, Any]:
    """Return a ``tokenizer.json`` of any other model."""
    made = Tokenizer(model)
    made.pre_tokenizer = pre_tokenizer
    for name, part in parts.items():
        setattr(made, name, part)
    made.train_from_iterator(TEXTS, trainer)
    return values(made)


def bert() -> dict[str, Any]:
    """Return WordPiece as in BERT: lower case, unknown words."""
    return characters(
        models.WordPiece(unk_token="[UNK]"),
        trainers.WordPieceTrainer(vocab_size=300, special_tokens=["[UNK]", "[CLS]"], show_progress=False),
        pre_tokenizers.BertPreTokenizer(),
        normalizer=normalizers.BertNormalizer(),
        decoder=decoders.WordPiece(),
    )


def metaspace() -> dict[str, Any]:
    """Return character-level Unigram, as converted from SentencePiece."""
    return characters(
        models.Unigram(),
        trainers.UnigramTrainer(vocab_size=200, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False),
        pre_tokenizers.Metaspace(),
        decoder=decoders.Metaspace(),
    )


def byte_unigram() -> dict[str, Any]:
    """Return byte-level Unigram with all bytes in the vocabulary."""
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return characters(
        models.Unigram(),
        trainers.UnigramTrainer(
            vocab_size=400, special_tokens=["<unk>"], unk_token="<unk>", initial_alphabet=alphabet, show_progress=False
        ),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoder=decoders.ByteLevel(),
    )


def values(made: Tokenizer) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(made.to_str())
    return found


def split(pattern: str | Regex, behavior: str = "Isolated") -> dict[str, Any]:
    """Return a pre-tokenizer step that splits by a pattern."""
    form = {"Regex": pattern} if isinstance(pattern, str) else {"String": str(pattern)}
    return {"type": "Split", "pattern": form, "behavior": behavior, "invert": False}


def added(number: int, content: str, *, special: bool = False) -> dict[str, Any]:
    """Return an added token."""
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": content, "special": special, **plain}


def ranks(size: int = 420) -> dict[bytes, int]:
    """Return the tokens of byte-level BPE with their ranks."""
    ids = byte_level(size)["model"]["vocab"]
    return {unspell(spelt): rank for rank, spelt in enumerate(sorted(ids, key=ids.__getitem__))}


def tiktoken_file(tokens: dict[bytes, int]) -> bytes:
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in tokens.items())


def tekken(tokens: dict[bytes, int], shift: int = 7) -> dict[str, Any]:
    """Return a ``tekken.json`` with more entries than are used."""
    entries = [*tokens.items(), (b"never counts", len(tokens))]
    return {
        "config": {
            "pattern": CL100K,
            "num_vocab_tokens": len(entries),
            "default_vocab_size": len(tokens) + shift,
            "default_num_special_tokens": shift,
        },
        "vocab": [{"rank": rank, "token_bytes": base64.b64encode(token).decode()} for token, rank in entries],
        "special_tokens": [{"rank": 0, "token_str": "<unk>", "is_control": True}],
    }


def sentencepiece_model(**options: Any) -> bytes:
    """Train a SentencePiece model."""
    import sentencepiece

    model = io.BytesIO()
    chosen = {"vocab_size": 300, "model_type": "unigram", "minloglevel": 2, "hard_vocab_limit": False} | options
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=_lines(), model_writer=model, num_threads=1, **chosen)
    return model.getvalue()


def _lines() -> Iterator[str]:
    for text in TEXTS:
        yield from (line for line in text.splitlines() if line.strip())


def written(path: Path, content: bytes | str | dict[str, Any]) -> Path:
    """Write a file; a mapping is written as JSON."""
    if isinstance(content, dict):
        content = json.dumps(content, ensure_ascii=False)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
