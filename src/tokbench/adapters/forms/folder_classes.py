"""Tokenizer classes of ``transformers`` whose rules are in its code, and not in the files of a folder.

A folder names its class. The class decides how ``merges.txt`` and ``vocab.txt`` are used, and which ids the pieces of a
SentencePiece model have. The rules are those of ``transformers`` 4.51. Code in a folder is never run, so a class that
is not listed has no rules here.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tokbench.errors import TokbenchError
from tokbench.io.numbers import LARGEST_VOCABULARY

SIGNS = re.compile("[^a-z0-9]")


def class_key(name: str) -> str:
    """Return the key of a class or of a ``model_type``: ``xlmroberta`` for ``XLMRobertaTokenizerFast``."""
    return SIGNS.sub("", name.lower()).removesuffix("fast").removesuffix("tokenizer")


@dataclass(frozen=True)
class MergesClass:
    """Rules of a class that reads ``vocab.json`` and ``merges.txt``.

    Attributes:
        pattern: name of its pre-tokenization; empty if ``pre_tokenizer`` has its own.
        normalizer: normalizer in the form of ``tokenizers``.
        pre_tokenizer: pre-tokenizer, likewise.
        decoder: decoder, likewise.
        prefix_space: default of ``add_prefix_space``.
        suffix: mark of the end of a word; empty for byte-level models.
        unknown: default of ``unk_token``, for models that are not byte-level.
    """

    pattern: str = "gpt2"
    normalizer: Mapping[str, Any] | None = None
    pre_tokenizer: Mapping[str, Any] | None = None
    decoder: Mapping[str, Any] | None = None
    prefix_space: bool = False
    suffix: str = ""
    unknown: str | None = None


def _bert_normalizer(lowercase: bool, strip_accents: bool | None) -> dict[str, Any]:
    return {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True} | {
        "strip_accents": strip_accents,
        "lowercase": lowercase,
    }


LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
END_OF_WORD = "</w>"
CLIP = MergesClass(
    "",
    {
        "type": "Sequence",
        "normalizers": [
            {"type": "NFC"},
            {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
            {"type": "Lowercase"},
        ],
    },
    {
        "type": "Sequence",
        "pretokenizers": [
            {
                "type": "Split",
                "pattern": {"Regex": r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"},
                "behavior": "Removed",
                "invert": True,
            },
            LEVEL,
        ],
    },
    LEVEL,
    suffix=END_OF_WORD,
    unknown="<|endoftext|>",
)
BERT = {"type": "BertPreTokenizer"}
WORDS = {"type": "BPEDecoder", "suffix": END_OF_WORD}
MERGES: Mapping[str, MergesClass] = {
    **dict.fromkeys(("gpt2", "gptneo", "gptj", "gptbigcode", "opt", "codegen", "whisper"), MergesClass()),
    **dict.fromkeys(("roberta", "bart", "longformer", "led", "mvp", "deberta", "blenderbot"), MergesClass()),
    "layoutlmv3": MergesClass(prefix_space=True),
    "qwen2": MergesClass("qwen2", {"type": "NFC"}),
    "clip": CLIP,
    "openaigpt": MergesClass("", _bert_normalizer(True, None), BERT, WORDS, suffix=END_OF_WORD, unknown="<unk>"),
    "herbert": MergesClass("", _bert_normalizer(False, False), BERT, WORDS, suffix=END_OF_WORD, unknown="<unk>"),
}
"""Classes that read ``vocab.json`` and ``merges.txt``, by key."""
WORDPIECE = (
    *("bert", "distilbert", "electra", "mobilebert", "convbert", "squeezebert", "retribert", "realm", "lxmert"),
    *("layoutlm", "layoutlmv2", "dprquestionencoder", "dprcontextencoder", "dprreader", "dpr", "mpnet", "funnel"),
)
"""Classes that read ``vocab.txt`` by BERT's rules."""
MARKS = ("[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]")
WORDPIECE_MARKS: Mapping[str, tuple[str, ...]] = {
    "mpnet": ("[UNK]", "</s>", "<pad>", "<s>", "<mask>"),
    "funnel": ("<unk>", "<sep>", "<pad>", "<cls>", "<mask>"),
}
"""Default special tokens where they are not BERT's, the unknown token first."""


@dataclass(frozen=True)
class PieceIds:
    """Ids of the pieces of a SentencePiece model that are not their places in it.

    Attributes:
        offset: difference of the id and the place.
        first: first place with this difference.
        moved: ids of the places before it.
        special: special tokens that are not pieces of these ids, by id.
        last: special token after all pieces; empty for none.
    """

    offset: int
    first: int = 0
    moved: Mapping[int, int] = field(default_factory=dict)
    special: Mapping[int, str] = field(default_factory=dict)
    last: str = ""

    def ids(self, size: int) -> list[int]:
        """Return the id of each of ``size`` pieces."""
        return [self.moved[place] if place < self.first else place + self.offset for place in range(size)]


FAIRSEQ = PieceIds(1, 3, {0: 3, 1: 0, 2: 2}, {0: "<s>", 1: "<pad>", 2: "</s>", 3: "<unk>"}, "<mask>")
SENTENCEPIECE: Mapping[str, PieceIds] = {
    **dict.fromkeys(("xlmroberta", "xlmrobertaxl", "layoutxlm"), FAIRSEQ),
    **dict.fromkeys(("mbart", "mbart50", "nllb", "xglm"), PieceIds(1, 3, FAIRSEQ.moved, FAIRSEQ.special)),
    "camembert": PieceIds(
        4,
        1,
        {0: 3},
        {0: "<s>NOTUSED", 1: "<pad>", 2: "</s>NOTUSED", 3: "<unk>", 4: "<unk>NOTUSED"},
        "<mask>",
    ),
    "pegasus": PieceIds(103, special={0: "<pad>", 1: "</s>"}),
}
"""Classes that give the pieces of a SentencePiece model other ids, by key. In ``mbart``, ``nllb`` and others, tokens of
languages follow the pieces."""
BY_NAME = ("marian", "m2m100", "speech2text", "speechtotext")
"""Classes that give the pieces of a SentencePiece model the ids of a ``vocab.json`` next to it."""
CHANGES = {
    "albert": "quotes, accents and case",
    "xlnet": "quotes, accents and case",
    "fnet": "quotes, accents and case",
    "bartpho": "ids",
}
"""Classes that change texts or ids by rules that Tokbench does not have, with a description."""


def ids_by_name(names: Sequence[str], ids: Mapping[str, Any], unknown: int, place: str) -> list[int]:
    """Return the id of each piece by its name; a piece without one has that of the unknown piece, as in the library.

    Args:
        names: names of the pieces, by place.
        ids: content of ``vocab.json``.
        unknown: place of the unknown piece.
        place: name of the file in messages.

    Raises:
        TokbenchError: an id is out of range, or the unknown piece has none.
    """
    for name, number in ids.items():
        if type(number) is not int or not 0 <= number < LARGEST_VOCABULARY:
            raise TokbenchError(f"{place}: '{name:.40}' has the id {number!r:.20}; correct the file or remove it")
    if names[unknown] not in ids:
        raise TokbenchError(
            f"{place}: the unknown token '{names[unknown]}' has no id; pass the vocab.json of the model"
        )
    return [ids.get(name, ids[names[unknown]]) for name in names]


def runs_of(ids: Sequence[int]) -> list[list[int]]:
    """Return ids of consecutive places as runs of consecutive ids: the first id of each and its length."""
    runs: list[list[int]] = []
    for number in ids:
        if runs and sum(runs[-1]) == number:
            runs[-1][1] += 1
        else:
            runs.append([number, 1])
    return runs
