"""A function or an object of a Python file, ``MODULE:FUNCTION`` or ``FILE.py:FUNCTION``, which encodes texts."""

from pathlib import Path

from tokbench.adapters.forms.folder_settings import FolderSettings
from tokbench.adapters.forms.parsed import ParsedTokenizer, ReadOptions
from tokbench.errors import TokbenchError
from tokbench.io.compression import read_regular
from tokbench.tokenizer.libraries.python import check_source, read_source, recorded, source_of, trust

UNUSED = ("pattern", "segmentation")
"""Options that this form has no use for."""


def read(path: Path, options: ReadOptions, settings: FolderSettings) -> ParsedTokenizer:
    """Run the file, and return the tokenizer of its function.

    Raises:
        TokbenchError: there is no such file or name, an option is given, or the file raises an exception.
    """
    for key in UNUSED:
        if getattr(options, key) is not None:
            raise TokbenchError(f"--{key}: is not for functions of Python; leave it out")
    file, name = source_of(str(path))
    check_source(file, name)
    content = read_regular(file)
    opened = read_source(file, name, content, place=str(path))
    trust(file, name)
    size = opened.vocab_size
    return ParsedTokenizer(
        None,
        reason="it is a function of Python",
        library="python",
        content=recorded(file, name, content),
        opened=opened,
        tokens=size or 0,
        ids=size or 0,
        notes=[] if opened.can_decode else ["no decode: texts are not restored, and the tokenizer is never ranked"],
    )
