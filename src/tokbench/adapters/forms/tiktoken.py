"""``tiktoken``: a line a token, in base64, with its rank, which is its id."""

from pathlib import Path

from tokbench.adapters.forms import Found, ReadOptions
from tokbench.adapters.forms.files import read_bounded
from tokbench.adapters.forms.patterns import named_pattern
from tokbench.adapters.forms.ranks import native_ranks, parse_ranks
from tokbench.errors import TokbenchError


def read(path: Path, options: ReadOptions) -> Found:
    """A file of ranks and the pattern that is named beside it.

    Special tokens are not in the file, and are text.

    Raises:
        TokbenchError: the file is damaged, or no pattern is named.
    """
    if options.pattern is None:
        raise TokbenchError(
            f"{path}: a file of ranks does not say how texts are cut; name the pattern, as in --pattern cl100k"
        )
    pattern = named_pattern(options.pattern, "--pattern")
    content = read_bounded(path)
    ranks = parse_ranks(content, str(path))
    return Found(
        native_ranks(ranks, pattern, {}, options.segmentation),
        library="tiktoken" if pattern.expression is not None else None,
        content=content,
        settings={"pattern": pattern.expression},
        tokens=len(ranks),
        ids=max(ranks.values()) + 1,
        told=["special tokens are not in the file: in texts they are text"],
    )
