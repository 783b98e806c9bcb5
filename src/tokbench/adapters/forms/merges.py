"""``merges.txt`` of GPT-2, with ``vocab.json`` beside it; without it ids are the bytes and then the merges in order."""

from pathlib import Path
from typing import Any

from tokbench.adapters.forms import REMEDY, Found, ReadOptions
from tokbench.adapters.forms.added_tokens import MARK
from tokbench.adapters.forms.files import read_bounded
from tokbench.adapters.forms.patterns import named_pattern
from tokbench.adapters.forms.tokenizer_json import found_in
from tokbench.byte_level import CHARACTERS
from tokbench.errors import TokbenchError, shortened
from tokbench.inputs.endings import COMPRESSED, plain_name
from tokbench.inputs.json import parse_json

FIRST = "#version"
"""How a first line begins that is no merge."""


def read(path: Path, options: ReadOptions) -> Found:
    """Merges in printable spelling, cut by GPT-2's pattern where no other is named.

    Args:
        path: the file, or a folder that has one of this name.
        options: what the file does not say.

    Raises:
        TokbenchError: a file is damaged, or a merge names what is no token.
    """
    merges = _merges(named_file(path, "merges.txt") if path.is_dir() else path)
    beside = named_file(path if path.is_dir() else path.parent, "vocab.json", required=False)
    ids = _numbered(merges) if beside is None else parse_json(read_bounded(beside), str(beside), remedy=REMEDY)
    known = ids if isinstance(ids, dict) else {}
    for left, right in merges:
        for part in (left, right, left + right):
            if part not in known:
                raise TokbenchError(f"{path}: {shortened(part)} of a merge is no token of the vocabulary; {REMEDY}")
    pattern = named_pattern(options.pattern or "gpt2", "--pattern")
    if pattern.expression is None:
        raise TokbenchError(f"--pattern {options.pattern}: takes several patterns; name a single one")
    return found_in(_as_tokenizer_json(known, merges, pattern.expression), str(path), options)


def named_file(folder: Path, name: str, *, required: bool = True) -> Path | None:
    """The file of a name in a folder, compressed or not.

    Raises:
        TokbenchError: there is none, and there must be one.
    """
    for suffix in ("", *COMPRESSED):
        if (file := folder / f"{name}{suffix}").is_file():
            return file
    if required:
        raise TokbenchError(f"{folder}: no {name} in it; name another folder, or a file")
    return None


def _merges(path: Path | None) -> list[tuple[str, str]]:
    assert path is not None
    try:
        lines = read_bounded(path).decode().split("\n")
    except UnicodeDecodeError as error:
        raise TokbenchError(f"{path}: not UTF-8 (byte {error.start}); {REMEDY}") from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or (number == 1 and line.startswith(FIRST)):
            continue
        parts = line.removesuffix("\r").split(" ")
        if len(parts) != 2 or not all(parts):
            raise TokbenchError(f"{path}:{number}: {shortened(line)} is no merge of two tokens; {REMEDY}")
        found.append((parts[0], parts[1]))
    if not found:
        raise TokbenchError(f"{path}: {plain_name(path.name)} has no merge; {REMEDY}")
    return found


def added_mark(content: str, number: Any) -> dict[str, Any]:
    """A special token, as ``tokenizers`` has it."""
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": content, "special": True, **plain}


def _numbered(merges: list[tuple[str, str]]) -> dict[str, int]:
    """Ids as GPT-2 gives them: the bytes in the order of their characters, then what merges make."""
    spelt = dict.fromkeys(sorted(CHARACTERS)) | dict.fromkeys(left + right for left, right in merges)
    return {token: number for number, token in enumerate(spelt)}


def _as_tokenizer_json(ids: dict[str, Any], merges: list[tuple[str, str]], expression: str) -> dict[str, Any]:
    """The same as ``tokenizers`` has it; ``<|endoftext|>`` and other marks are added tokens, as no merge makes them."""
    made = {left + right for left, right in merges}
    marks = [token for token in ids if MARK.fullmatch(token) and token not in made]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0",
        "added_tokens": [added_mark(token, ids[token]) for token in marks],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
        "post_processor": None,
        "decoder": level,
        "model": {"type": "BPE", "vocab": ids, "merges": [list(pair) for pair in merges]},
    }
