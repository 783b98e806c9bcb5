"""A small tokenizer of every form that Tokbench reads: native, through each library, and of functions."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

import tokbench
from tests.conftest import TOPICS
from tests.support import library_tokenizers as made
from tests.support.external_tokenizers import read
from tokbench.pretokens.count import count_pretokens
from tokbench.tokenizer import Tokenizer

COUNTS = count_pretokens(TOPICS, "gpt2")


def of_json(values: Callable[[], dict[str, Any]]) -> Callable[[Path], Tokenizer]:
    """Return a function that reads a ``tokenizer.json``."""
    return lambda folder: read(made.written(folder / "tokenizer.json", values()), "tokenizer_json")


def of_model(**options: Any) -> Callable[[Path], Tokenizer]:
    """Return a function that trains and reads a SentencePiece model."""
    return lambda folder: read(made.written(folder / "a.model", made.sentencepiece_model(**options)), "sentencepiece")


def byte_fallback(ignore_merges: bool, decoder: Any = None) -> dict[str, Any]:
    """Return BPE as in Llama 2: a mark before each word, and bytes for unknown characters."""
    values = made.characters(
        models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True),
        trainers.BpeTrainer(
            vocab_size=500,
            special_tokens=["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))],
            show_progress=False,
        ),
        None,
        normalizer=normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]),
        decoder=decoder
        or decoders.Sequence(
            [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        ),
    )
    values["added_tokens"] = values["added_tokens"][:3]
    values["model"]["ignore_merges"] = ignore_merges
    return values


def word_ends() -> dict[str, Any]:
    """Return BPE whose tokens mark the ends of words, as in CLIP."""
    return made.characters(
        models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"),
        trainers.BpeTrainer(vocab_size=300, special_tokens=["<unk>"], end_of_word_suffix="</w>", show_progress=False),
        pre_tokenizers.WhitespaceSplit(),
        decoder=decoders.BPEDecoder(),
    )


def lower() -> dict[str, Any]:
    values = made.byte_level() | {"normalizer": {"type": "Lowercase"}}
    return values | {"added_tokens": [made.added(420, "<|end|>", special=True), made.added(421, "paying")]}


def tiktoken_with_special(folder: Path) -> Tokenizer:
    path = made.written(folder / "ranks.tiktoken", made.tiktoken_file(made.ranks()))
    return read(path, "tiktoken", pattern=made.CL100K, special_tokens={"<|end|>": 425})


def tiktoken_adapted(folder: Path) -> Tokenizer:
    """The pattern has a look-behind, which our scanner does not compile."""
    path = made.written(folder / "ranks.tiktoken", made.tiktoken_file(made.ranks()))
    return read(path, "tiktoken", pattern=r"(?<=a)b|\p{L}+|\P{L}", special_tokens={"<|end|>": 425})


def tekken(folder: Path) -> Tokenizer:
    return read(made.written(folder / "tekken.json", made.tekken(made.ranks())), "tekken")


def function(folder: Path) -> Tokenizer:
    """A function with a decoder that returns bytes."""
    return tokbench.wrap(lambda text: list(text.encode()), bytes, name="bytes", size=256)


def function_of_text(folder: Path) -> Tokenizer:
    """A function with a decoder that returns ``str``."""
    library = tokenizers.Tokenizer.from_str(json.dumps(made.metaspace()))
    return tokbench.wrap(
        lambda text: library.encode(text).ids,
        lambda ids: library.decode(ids, skip_special_tokens=False),
        name="text",
        size=library.get_vocab_size(),
    )


def pieces(folder: Path) -> Tokenizer:
    made = tokbench.wrap(lambda text: [text[place : place + 2] for place in range(0, len(text), 2)], name="pairs")
    for text in TEXTS:
        made.encode(text)
    return made


LOSSLESS: dict[str, Callable[[Path], Tokenizer]] = {
    "bpe": lambda _: tokbench.build("bpe", COUNTS, 400),
    "wordpiece": lambda _: tokbench.build("wordpiece", COUNTS, 600),
    "unigram": lambda _: tokbench.build("unigram", COUNTS, 400),
    "picky_bpe": lambda _: tokbench.build("picky_bpe", COUNTS, 400),
    "byte level": of_json(made.byte_level),
    "tiktoken": tiktoken_with_special,
    "tiktoken through its library": tiktoken_adapted,
    "tekken": tekken,
    "function": function,
    "pieces": pieces,
}
"""Forms that restore each text of ``TEXTS`` and add no blank."""
WITH_BLANK: dict[str, Callable[[Path], Tokenizer]] = {
    "Llama 2, native": of_json(lambda: byte_fallback(False)),
    "Llama 2 through its library": of_json(lambda: byte_fallback(True)),
    "SentencePiece, byte fallback": of_model(
        byte_fallback=True, vocab_size=520, normalization_rule_name="identity", remove_extra_whitespaces=False
    ),
    "SentencePiece, BPE": of_model(
        byte_fallback=True,
        vocab_size=520,
        model_type="bpe",
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
    ),
}
"""Forms that add a blank before each text, and otherwise restore it."""
LOSSY: dict[str, Callable[[Path], Tokenizer]] = {
    "lower case": of_json(lower),
    "NFC": of_json(lambda: made.byte_level() | {"normalizer": {"type": "NFC"}}),
    "metaspace": of_json(made.metaspace),
    "BERT": of_json(made.bert),
    "ends of words": of_json(word_ends),
    "SentencePiece": of_model(),
    "SentencePiece, blank behind": of_model(treat_whitespace_as_suffix=True),
    "SentencePiece, symbols": of_model(user_defined_symbols=["<tool>", "paying"]),
    "function of text": function_of_text,
}
"""Forms that change some texts, or have an unknown token."""
FORMS = LOSSLESS | WITH_BLANK | LOSSY
TEXTS = [
    "The cat sat on the mat and did not pay 12345 now!!",
    "  two  blanks,\n\nlines\tand an end ",
    "na\u00efve caf\u00e9, \u4e2d\u6587\u4e2d \U0001f642\U0001f642 ok",
    "e\u0301 \ufb01 \u00bd <unk> <0x41> x",
    "def f(x):\n    return x\n",
    "paying <tool> <|end|> don't won't",
    " ",
    "",
]
