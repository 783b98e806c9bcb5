"""List of tokens: one in hexadecimal a line, in the order of their ids."""

from pathlib import Path

import numpy as np

from tokbench.adapters.forms.files import read_bounded
from tokbench.adapters.forms.folder_settings import FolderSettings
from tokbench.adapters.forms.parsed import NativeTokenizer, ParsedTokenizer, ReadOptions
from tokbench.adapters.forms.patterns import pattern_setting
from tokbench.errors import TokbenchError
from tokbench.io.contents import REMEDY
from tokbench.vocabulary import Vocabulary


def read(path: Path, options: ReadOptions, settings: FolderSettings) -> ParsedTokenizer:
    """Parse a list of tokens, with a given pattern and segmentation.

    Raises:
        TokbenchError: a line is not hexadecimal, a byte is missing, a token occurs twice, or an option is missing.
    """
    if options.segmentation is None or options.pattern is None:
        raise TokbenchError(
            f"{path}: a list of tokens defines neither pre-tokenization nor segmentation; name both, as in "
            "--pattern gpt2 --segmentation greedy"
        )
    tokens = []
    for number, line in enumerate(read_bounded(path).splitlines(), 1):
        try:
            tokens.append(bytes.fromhex(line.decode("ascii")))
        except ValueError:
            raise TokbenchError(f"{path}:{number}: this line is not a token in hexadecimal; {REMEDY}") from None
    try:
        vocabulary = Vocabulary(tuple(tokens), ids=np.arange(len(tokens), dtype=np.int32))
    except TokbenchError as error:
        raise TokbenchError(f"{path}: {error}") from None
    native = NativeTokenizer(vocabulary, pattern_setting(options.pattern, "--pattern"), options.segmentation)
    return ParsedTokenizer(
        native, tokens=len(tokens), ids=len(tokens), notes=["pattern and segmentation were chosen here"]
    )
