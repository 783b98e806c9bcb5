"""Conversion of a folder's vocabulary to a ``tokenizer.json``, by ``transformers``. No code of the folder is run."""

import json
from pathlib import Path
from typing import Any

from tokbench.errors import TokbenchError, shortened
from tokbench.io.text_files import first_line
from tokbench.runtime.exit_status import may_be_short

REMEDIES = {
    "merges": "name the pattern, as in --pattern gpt2",
    "wordpiece": "name the file with --from wordpiece, to read it as BERT's",
    "sentencepiece": "name the file with --from sentencepiece, for the ids of the model",
}
"""Ways to read the file without the rules of its class, by form."""


def converted(folder: Path, named: str, form: str) -> dict[str, Any]:
    """Return the content of the ``tokenizer.json`` that ``transformers`` makes of a folder.

    Args:
        folder: folder with a vocabulary, whose settings name a class.
        named: name of the class, for messages.
        form: form of the vocabulary, for messages.

    Raises:
        TokbenchError: a package is not installed, or ``transformers`` has no fast tokenizer of the class.
    """
    try:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, local_files_only=True, trust_remote_code=False)
        values: dict[str, Any] = json.loads(tokenizer.backend_tokenizer.to_str())
    except ImportError as error:
        raise TokbenchError(
            f"{folder}: the rules of its class '{named}' need a package that is not installed "
            f"({shortened(first_line(error), 100)}); install it, or {REMEDIES[form]}"
        ) from None
    except Exception as error:  # Classes raise any kind.
        if may_be_short(error):
            raise
        raise TokbenchError(
            f"{folder}: transformers has no fast tokenizer of its class '{named}', and no code of a folder is run; "
            f"{REMEDIES[form]}"
        ) from None
    return values
