"""Forms of external tokenizers: one module each, which parses a file of that form.

A parser returns the library of the file, and equivalent settings of Tokbench's three phases if there are any. Files are
decompressed and read up to a size limit. Special tokens may be passed for files that lack them.
"""

import importlib
from pathlib import Path
from typing import Protocol

from tokbench.adapters.forms.folder_settings import NO_SETTINGS, FolderSettings
from tokbench.adapters.forms.parsed import ParsedTokenizer, ReadOptions
from tokbench.errors import TokbenchError, unknown

FORMS = {
    "tokenizer_json": "tokenizer.json of Hugging Face's tokenizers",
    "tiktoken": "ranks as OpenAI's tiktoken has them; the pattern is not in the file",
    "tekken": "Mistral's tekken.json",
    "sentencepiece": "a .model of SentencePiece",
    "tokens": "one token in hexadecimal a line, as PathPiece and SaGe write them",
    "merges": "merges.txt of GPT-2, with or without vocab.json",
    "wordpiece": "vocab.txt of BERT, with or without tokenizer_config.json",
    "transformers": "a folder of transformers, or a name on the hub with its revision",
    "python": "MODULE:FUNCTION of a Python file, which is run",
}
"""Forms with descriptions; a form has the name of its module."""
WITHOUT_SPECIAL = ("tiktoken", "transformers")
"""Forms whose files may lack the special tokens of their tokenizer."""


class FormReader(Protocol):
    """Signature of the parser of a form."""

    def __call__(self, path: Path, options: ReadOptions, settings: FolderSettings) -> ParsedTokenizer:
        """Parse a file, with the settings of its ``transformers`` folder.

        Raises:
            TokbenchError: the file is not of the form, or an option is missing or does not apply.
        """
        ...


def read_form(path: Path, form: str, options: ReadOptions, settings: FolderSettings | None = None) -> ParsedTokenizer:
    """Parse a file of a form.

    Args:
        path: The file.
        form: Its form.
        options: Settings that the file lacks.
        settings: Settings of its folder. Default: none.

    Raises:
        TokbenchError: there is no such form, the file is not of it, or an option is missing or does not apply.
    """
    if form not in FORMS:
        raise TokbenchError(unknown(form, "form", FORMS))
    if options.special_tokens is not None and form not in WITHOUT_SPECIAL:
        raise TokbenchError(f"{path}: special tokens apply only to files of ranks, not to '{form}'; leave them out")
    read: FormReader = importlib.import_module(f"{__name__}.{form}").read
    return read(path, options, settings or NO_SETTINGS)
