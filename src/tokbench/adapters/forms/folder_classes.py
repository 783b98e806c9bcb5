"""Tokenizer classes that a folder of ``transformers`` names, by their keys.

The rules of a class are in the code of ``transformers``, not in the files of the folder. Those of byte-level BPE and of
BERT are implemented here, since many folders have only a vocabulary. All other rules are left to ``transformers``, see
:mod:`tokbench.adapters.forms.conversion`.
"""

import re
from collections.abc import Mapping

SIGNS = re.compile("[^a-z0-9]")
BYTE_LEVEL: Mapping[str, str] = {
    **dict.fromkeys(("gpt2", "gptneo", "gptj", "gptbigcode", "opt", "codegen", "whisper"), "gpt2"),
    **dict.fromkeys(("roberta", "bart", "longformer", "led", "mvp", "deberta", "blenderbot"), "gpt2"),
    "qwen2": "qwen2",
}
"""Classes that read ``vocab.json`` and ``merges.txt`` as byte-level BPE, with their pre-tokenization."""
NORMALIZED = ("qwen2",)
"""Classes of these that normalise texts (NFC)."""
BERT = (
    *("bert", "distilbert", "electra", "mobilebert", "convbert", "squeezebert", "retribert", "realm", "lxmert"),
    *("layoutlm", "layoutlmv2", "dprquestionencoder", "dprcontextencoder", "dprreader", "dpr"),
)
"""Classes that read ``vocab.txt`` by BERT's rules, with BERT's special tokens."""
WORDPIECE = (*BERT, "mpnet", "funnel")
"""Classes that read ``vocab.txt``, by any rules."""
OTHER_PIECES = (
    *("xlmroberta", "xlmrobertaxl", "layoutxlm", "mbart", "mbart50", "nllb", "xglm", "camembert", "pegasus"),
    *("albert", "xlnet", "fnet", "bartpho"),
)
"""Classes that change the ids of a SentencePiece model, or the texts that it reads."""
IDS_BY_NAME = ("marian", "m2m100", "speech2text", "speechtotext")
"""Classes that give the pieces of a SentencePiece model the ids of a ``vocab.json`` next to it."""


def class_key(name: str) -> str:
    """Return the key of a class or of a ``model_type``: ``xlmroberta`` for ``XLMRobertaTokenizerFast``."""
    return SIGNS.sub("", name.lower()).removesuffix("fast").removesuffix("tokenizer")


def needs_conversion(key: str, form: str) -> bool:
    """Return whether ``transformers`` has rules of a class for a file of a form that are not implemented here."""
    if form == "sentencepiece":
        return key in OTHER_PIECES
    known = {"merges": BYTE_LEVEL, "wordpiece": BERT}.get(form)
    return known is not None and bool(key) and key not in known
