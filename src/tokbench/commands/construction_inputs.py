"""What ``tokbench build`` gives a construction: counts, scores, documents, an initial vocabulary."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np

from tokbench.candidates.running_text import Documents, read_documents
from tokbench.candidates.scored_text import ScoredDocuments, read_scores
from tokbench.commands.pretokenization_option import FLAG
from tokbench.construction import Construction
from tokbench.errors import TokbenchError
from tokbench.frequent import LeftOut, read_frequent
from tokbench.needs import Profile, require
from tokbench.pretoken_files import read_parts
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import SETTINGS, Tokenizer
from tokbench.vocabulary import Vocabulary


def check_read(construction: Construction, given: Mapping[str, Any]) -> None:
    """Reject what the construction would not look at.

    Raises:
        TokbenchError: something of it is named.
    """
    reads = {"--" + str(construction.source), "--initial" if construction.initial else ""}
    for flag, value in given.items():
        if value and flag not in reads:
            raise TokbenchError(f"{flag}: '{construction.name}' does not read it; leave the option out")


def read_initial(folder: str, options: Any) -> Vocabulary:
    """The vocabulary in a folder, which must be the one that the options describe, where it says what it is.

    Raises:
        TokbenchError: it is another one.
    """
    vocabulary = Vocabulary.read(Path(folder))
    if vocabulary.ids is not None:
        raise TokbenchError(f"--initial {folder}: was made elsewhere, and its first ids are not the bytes; build one")
    if not (Path(folder) / SETTINGS).is_file():
        return vocabulary
    origin = Tokenizer.load(folder).origin
    made = (origin.get("construction", {}).get("method"), origin.get("requested_size"))
    for key, own, found in zip(("initial", "initial_size"), (options.initial, options.initial_size), made, strict=True):
        if found is not None and key in options.model_fields_set and own != found:
            raise TokbenchError(f"--initial {folder}: was made with {found}, and the option {key} says {own}; mend one")
    return vocabulary


def check_needs(construction: Construction, options: Any, path: str, least: int, megabytes: int, initial: bool) -> None:
    """End where building would take more memory than allowed, before anything of the text is held.

    Args:
        construction: the method.
        options: its options.
        path: the file of counts.
        least: the count that pre-tokens have at least.
        megabytes: what is allowed.
        initial: whether the vocabulary to start from is there already.

    Raises:
        TokbenchError: it needs more.
    """
    names = [construction.name, *([options.initial] if construction.initial and not initial else [])]
    _, parts = read_parts(path)
    longest, longest_pretoken = (getattr(options, key, None) for key in ("max_token_bytes", "max_pretoken_bytes"))
    batches = ((np.diff(offsets), counts) for _, (_, offsets, counts) in parts)
    profile = Profile.of(batches, least, longest, longest_pretoken)
    require(names, profile, least, megabytes)


def read_counts(path: str, scheme: str | None, least: int = 1) -> tuple[PretokenCounts, LeftOut | None]:
    """The pre-tokens of at least that count, and what is left out where that is more than 1."""
    left_out = None
    if least > 1:
        counts, left_out = read_frequent(path, least)
        click.echo(left_out.line(), err=True)
    else:
        counts = PretokenCounts.read(path)
    if scheme and counts.scheme and scheme != counts.scheme:
        raise TokbenchError(f"{FLAG} {scheme}: {path} was counted with '{counts.scheme}'; leave the option out")
    if not (scheme or counts.scheme):
        click.echo(f"{path} does not say its pre-tokenization: taking 'none'; name it with {FLAG}", err=True)
    return PretokenCounts(counts.data, counts.offsets, counts.counts, scheme or counts.scheme or "none"), left_out


def read_source(
    construction: Construction,
    counts: PretokenCounts | None,
    scores: tuple[str, ...],
    documents: tuple[str, ...],
    scheme: str | None,
) -> PretokenCounts | ScoredDocuments | Documents:
    """What the construction reads."""
    known = scheme or (counts.scheme if counts else None) or "gpt2"
    match construction.source:
        case "scores":
            if not scores:
                raise TokbenchError(f"'{construction.name}' reads byte scores; name them with --scores")
            return read_scores(scores, known)
        case "documents":
            if not documents:
                raise TokbenchError(f"'{construction.name}' reads documents; name a corpus with --documents")
            return read_documents([shard for path in documents for shard in _shards(Path(path))], known)
    if counts is None:
        raise TokbenchError(f"'{construction.name}' reads pre-token counts; name them with --counts")
    if not len(counts):
        raise TokbenchError("the counts hold no pre-token; count a text that is not empty")
    return counts


def _shards(path: Path) -> list[Path]:
    """A shard, or the shards of a prepared corpus's tokenizer split."""
    return sorted((path / "tokenizer").glob("*.parquet")) if path.is_dir() else [path]
