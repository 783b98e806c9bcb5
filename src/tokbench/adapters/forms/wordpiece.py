"""``vocab.txt`` of BERT: one token a line, whose number is its id, with the settings of ``tokenizer_config.json``."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from tokbench.adapters.forms.files import read_bounded
from tokbench.adapters.forms.folder_settings import TOKENIZER, FolderSettings, flag_of
from tokbench.adapters.forms.merges import added_mark
from tokbench.adapters.forms.parsed import ParsedTokenizer, ReadOptions
from tokbench.adapters.forms.tokenizer_json import parse_values
from tokbench.errors import TokbenchError
from tokbench.io.contents import REMEDY

MARKS = ("[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]")
"""Special tokens, the unknown one first."""
LONGEST = 100
"""Characters of the longest word that is split; a longer one is unknown."""


def read(path: Path, options: ReadOptions, settings: FolderSettings) -> ParsedTokenizer:
    """Parse a vocabulary by the rules of ``BertTokenizer``; texts are in lower case unless the settings say otherwise.

    Raises:
        TokbenchError: the file is damaged, or the unknown token is missing.
    """
    if options.pattern is not None:
        raise TokbenchError(f"{path}: BERT's pre-tokenization belongs to the file; leave --pattern out")
    ids = tokens_of(read_bounded(path), str(path))
    unknown = settings.names.get("unk_token", MARKS[0])
    if unknown not in ids:
        raise TokbenchError(f"{path}: the unknown token '{unknown}' is not in it; {REMEDY}")
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": flag_of(settings.options, "clean_text", True),
        "handle_chinese_chars": flag_of(settings.options, "tokenize_chinese_chars", True),
        "strip_accents": flag_of(settings.options, "strip_accents", None),
        "lowercase": flag_of(settings.options, "do_lower_case", True),
    }
    known = {entry["content"] for entry in settings.added}  # Their flags are in the settings.
    special = dict.fromkeys(token for token in (*MARKS, *settings.names.values()) if token in ids.keys() - known)
    values: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [added_mark(token, ids[token]) for token in special],
        "normalizer": normalizer,
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": None,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": unknown,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": LONGEST,
            "vocab": ids,
        },
    }
    case = "lower case" if normalizer["lowercase"] else "unchanged case"
    source = TOKENIZER if "do_lower_case" in settings.options else "BERT's default"
    parsed = parse_values(values, str(path), options, settings)
    return replace(parsed, notes=[*parsed.notes, f"texts are in {case}, by {source}"])


def tokens_of(content: bytes, place: str) -> dict[str, int]:
    """Return the tokens of a file with their ids; of a token that occurs twice, the last id, as in the library.

    Raises:
        TokbenchError: the file is empty or not UTF-8.
    """
    try:
        lines = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise TokbenchError(f"{place}: not UTF-8 (byte {error.start}); {REMEDY}") from None
    if lines == [""]:
        raise TokbenchError(f"{place}: no token in it; {REMEDY}")
    return {token: number for number, token in enumerate(lines)}
