"""A configuration that compares existing tokenizers on texts, for ``tokbench init --existing``."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tokbench.adapters.forms.transformers import detect_format
from tokbench.config.sections import ImportedTokenizer, external_mistakes
from tokbench.corpus.formats import format_of_file, format_of_folder
from tokbench.errors import TokbenchError

TITLE = "Existing tokenizers"


def existing_configuration(tokenizers: Sequence[str], texts: Sequence[str], folder: Path) -> dict[str, Any]:
    """Return a configuration with one external tokenizer for each file, and one corpus of all texts.

    The first tokenizer is the baseline. Paths are relative to the folder where the run starts.

    Args:
        tokenizers: files or folders of tokenizers, at least one.
        texts: files or folders of texts of one format, at least one.
        folder: the folder of the configuration.

    Raises:
        TokbenchError: a file is of no known form, or texts have several formats.
    """
    variants = {name: {"from": form, "path": os.path.relpath(path, folder)} for name, form, path in _named(tokenizers)}
    formats = {(format_of_folder if text.is_dir() else format_of_file)(text).name for text in map(Path, texts)}
    if len(formats) > 1:
        raise TokbenchError(f"--text: files of several formats ({', '.join(sorted(formats))}); name those of one")
    paths = [os.path.relpath(text, folder) for text in texts]
    return {
        "name": "existing",
        "corpora": {"text": {"source": {"type": formats.pop(), "path": paths}, "splits": {"evaluation": 1}}},
        "variants": variants,
        "report": {"title": TITLE, "baseline": next(iter(variants))},
    }


def settings_to_add(tokenizers: Sequence[str]) -> list[str]:
    """Return a line for each key that :func:`existing_configuration` cannot know, such as the pattern of unknown ranks.

    The lines are those of ``tokbench validate``.
    """
    return [
        line
        for name, form, path in _named(tokenizers)
        for line in external_mistakes(
            f"variants.{name}", name, ImportedTokenizer.model_validate({"from": form, "path": path})
        )
    ]


def _named(tokenizers: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the name of a variant, the form and the path of each tokenizer."""
    names: set[str] = set()
    for path in tokenizers:
        names.add(name := _name(path, names))
        yield name, detect_format(Path(path)), path


def _name(path: str, taken: set[str]) -> str:
    """Return the name of a tokenizer's file as that of a variant, with a number if it is taken."""
    stem = Path(path).resolve().name.split(".")[0]
    name = re.sub(r"\W+", "_", stem, flags=re.ASCII).strip("_").lower() or "tokenizer"
    numbers = (f"{name}_{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(one for one in numbers if one not in taken)
