"""A folder of ``transformers``: whichever of the other forms is in it. No code of a folder's is ever run."""

from collections.abc import Callable
from pathlib import Path

from tokbench.adapters.forms import Found, ReadOptions, merges, sentencepiece, tekken, tiktoken, tokenizer_json
from tokbench.adapters.forms.merges import named_file
from tokbench.errors import TokbenchError

Reader = Callable[[Path, ReadOptions], Found]
FILES: dict[str, Reader] = {
    "tokenizer.json": tokenizer_json.read,
    "tekken.json": tekken.read,
    "tokenizer.model": sentencepiece.read,
    "spiece.model": sentencepiece.read,
    "sentencepiece.bpe.model": sentencepiece.read,
    "merges.txt": merges.read,
}
"""Files by which a folder is read, the first that is there."""


def read(path: Path, options: ReadOptions) -> Found:
    """The tokenizer of a folder.

    Raises:
        TokbenchError: no file in it is known, or it is no folder.
    """
    if not path.is_dir():
        raise TokbenchError(
            f"{path}: no folder of transformers; name one, or a name on the hub with --revision, its full hash"
        )
    for name, read_file in FILES.items():
        if file := named_file(path, name, required=False):
            return read_file(file, options)
    for file in sorted(path.glob("*.tiktoken*")):
        return tiktoken.read(file, options)
    raise TokbenchError(f"{path}: no tokenizer that is known; it has none of {', '.join(FILES)} and *.tiktoken")
