"""The file by which ``transformers.AutoTokenizer`` finds our class, and the special tokens that it names."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CONFIGURATION = "tokenizer_config.json"
CLASS = "TokbenchTokenizer"
END_OF_TEXT = "<|endoftext|>"
PADDING = "<|padding|>"


def special_tokens(size: int, own: Mapping[int, bytes] | None = None) -> dict[str, int]:
    """The special tokens with their ids, for a vocabulary of a size.

    Args:
        size: one more than its largest id.
        own: special ids that it has of its own, with their names: where one bears a name of ours, it is that one.
    """
    named = {name.decode("utf-8", "replace"): number for number, name in (own or {}).items()}
    return {END_OF_TEXT: named.get(END_OF_TEXT, size), PADDING: named.get(PADDING, size + 1)}


def write_configuration(folder: Path, name: str = CLASS) -> None:
    """Write the file by which ``AutoTokenizer`` finds a class: ours, or one of its own."""
    configuration = {
        "tokenizer_class": name,
        "eos_token": END_OF_TEXT,
        "bos_token": END_OF_TEXT,
        "pad_token": PADDING,
        "model_max_length": 10**9,
        "clean_up_tokenization_spaces": False,
    }
    (folder / CONFIGURATION).write_text(json.dumps(configuration, indent=2) + "\n", encoding="utf-8")


def names_another_class(folder: Path) -> bool:
    """Whether a folder has that file and it names another class than ours, or none."""
    try:
        configuration: Any = json.loads((folder / CONFIGURATION).read_text(encoding="utf-8"))
        return bool(configuration["tokenizer_class"] != CLASS)
    except FileNotFoundError:
        return False
    except (ValueError, TypeError, KeyError):
        return True
