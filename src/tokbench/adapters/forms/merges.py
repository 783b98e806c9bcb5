"""``merges.txt`` of GPT-2, with ``vocab.json``; without that, ids are the bytes and then the merges in order.

In a folder, the tokenizer class decides the pattern and the normalizer.
"""

import re
from pathlib import Path
from typing import Any

from tokbench.adapters.forms.files import named_file, read_bounded
from tokbench.adapters.forms.folder_classes import BYTE_LEVEL, NORMALIZED
from tokbench.adapters.forms.folder_settings import FolderSettings, flag_of, tokens_to_add
from tokbench.adapters.forms.parsed import ParsedTokenizer, ReadOptions
from tokbench.adapters.forms.patterns import named_pattern
from tokbench.adapters.forms.tokenizer_json import parse_values
from tokbench.errors import TokbenchError
from tokbench.io.compression import plain_name
from tokbench.io.contents import MERGES_HEAD, REMEDY
from tokbench.io.json import parse_json
from tokbench.tokenizer.hugging_face import CHARACTERS

LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
END_OF_WORD = "</w>"
"""Mark of the end of a word in merges that are not byte-level."""
MARK = re.compile(r"[<\[{|\uff5c].+", re.DOTALL)
"""Spelling of a special token such as ``<|user|>`` or ``[INST]`` in a ``vocab.json``, which has no flags: it begins
with a bracket or a bar."""


def read(path: Path, options: ReadOptions, settings: FolderSettings) -> ParsedTokenizer:
    """Parse merges in printable spelling; default pattern: that of the folder's class, otherwise GPT-2's.

    Args:
        path: the file, or a folder that contains it.
        options: settings that the file lacks.
        settings: Settings of the folder.

    Raises:
        TokbenchError: a file is damaged, or a merge names a token that does not exist.
    """
    folder = path if path.is_dir() else path.parent
    file = named_file(path, "merges.txt") if path.is_dir() else path
    if file is None:
        raise TokbenchError(f"{path}: no merges.txt in it; name another folder, or a file")
    merges = _merges(file)
    pairs = list(merges.values())
    listed = named_file(folder, "encoder.json" if plain_name(file.name) == "vocab.bpe" else "vocab.json")
    ids = _numbered(pairs) if listed is None else parse_json(read_bounded(listed), str(listed), remedy=REMEDY)
    known = ids if isinstance(ids, dict) else {}
    for number, (left, right) in merges.items():
        if not {left, right, left + right} <= known.keys():
            raise TokbenchError(
                f"{file}:{number}: a part or the result of the merge is not in the vocabulary; {REMEDY}"
            )
    if options.pattern is not None and any(right.endswith(END_OF_WORD) for _, right in pairs):
        raise TokbenchError(f"{path}: marks the ends of words, so it has its own pre-tokenization; leave --pattern out")
    values = _as_tokenizer_json(known, pairs, options, settings)
    _number_added(known, settings)
    return parse_values(values, str(path), options, settings)


def _merges(path: Path) -> dict[int, tuple[str, str]]:
    """Return the merges of a file, by line number."""
    try:
        lines = read_bounded(path).decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise TokbenchError(f"{path}: not UTF-8 (byte {error.start}); {REMEDY}") from None
    pairs = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or (number == 1 and line.startswith(MERGES_HEAD)):
            continue
        parts = line.removesuffix("\r").split(" ")
        if len(parts) != 2 or not all(parts):
            raise TokbenchError(f"{path}:{number}: this line is not a merge of two tokens; {REMEDY}")
        pairs[number] = (parts[0], parts[1])
    if not pairs:
        raise TokbenchError(f"{path}: {plain_name(path.name)} has no merge; {REMEDY}")
    return pairs


def added_mark(content: str, number: Any) -> dict[str, Any]:
    """Return the entry of a special token in the form of ``tokenizers``."""
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": content, "special": True, **plain}


def _number_added(ids: dict[str, Any], settings: FolderSettings) -> None:
    """Add the folder's tokens to the model, as the library keeps ids only there.

    No merge makes them, so encoding never returns them unless they are recognised as added tokens.
    """
    taken = set(ids.values())
    for entry in tokens_to_add(settings, set(ids)):
        if entry["id"] not in taken:
            ids[entry["content"]] = entry["id"]


def _numbered(merges: list[tuple[str, str]]) -> dict[str, int]:
    """Return ids in GPT-2's order: the bytes by their characters, then the results of merges."""
    spelt = dict.fromkeys(sorted(CHARACTERS)) | dict.fromkeys(left + right for left, right in merges)
    return {token: number for number, token in enumerate(spelt)}


def _as_tokenizer_json(
    ids: dict[str, Any], merges: list[tuple[str, str]], options: ReadOptions, settings: FolderSettings
) -> dict[str, Any]:
    """Return the form of ``tokenizers``; marks such as ``<|endoftext|>`` are special tokens, as no merge makes them.

    Added tokens of the settings are left to those, which have their flags.
    """
    known = {left + right for left, right in merges} | {entry["content"] for entry in settings.added}
    marks = [token for token in ids if MARK.fullmatch(token) and token not in known]
    return {
        "version": "1.0",
        "added_tokens": [added_mark(token, ids[token]) for token in marks],
        "normalizer": {"type": "NFC"} if settings.kind in NORMALIZED else None,
        "pre_tokenizer": _pre_tokenizer(options.pattern, settings),
        "post_processor": None,
        "decoder": {**LEVEL, "use_regex": False},
        "model": {"type": "BPE", "vocab": ids, "merges": [list(pair) for pair in merges]},
    }


def _pre_tokenizer(pattern: str | None, settings: FolderSettings) -> dict[str, Any]:
    """Return a byte-level pre-tokenizer; GPT-2's own one puts a space before a text, any other before each piece."""
    prefix = bool(flag_of(settings.options, "add_prefix_space", False))
    name = pattern or BYTE_LEVEL.get(settings.kind, "gpt2")
    if prefix and name == "gpt2" and pattern is None:
        return {**LEVEL, "add_prefix_space": True}
    expression = named_pattern(name, "--pattern", "tokenizers").expression
    if expression is None:
        raise TokbenchError(f"--pattern {pattern}: needs several patterns; name a single one")
    split = {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}
    level = {**LEVEL, "add_prefix_space": prefix, "use_regex": False}
    return {"type": "Sequence", "pretokenizers": [split, level]}
