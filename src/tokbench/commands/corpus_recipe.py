"""What the commands that prepare corpora are given: the corpus as in the configuration, and its source's files."""

from collections.abc import Sequence
from pathlib import Path

import click

from tokbench.commands.arguments import Seeded, check_same_files, mapping_of
from tokbench.config.corpus import Corpus
from tokbench.corpus.manifest import lines_of, read_findings
from tokbench.corpus.parts import WHOLE, Span, groups_of
from tokbench.corpus.sources import (
    EmbeddedSource,
    FileSource,
    HubSource,
    ParallelSource,
    ParquetSource,
    Source,
    files_of,
)
from tokbench.errors import TokbenchError
from tokbench.options import validated


def corpus_of(recipe: str) -> tuple[Corpus, int]:
    """A corpus and its seed.

    Raises:
        TokbenchError: the recipe is not as in the configuration; the message names the key.
    """
    values = mapping_of(recipe, "--recipe")
    seed = validated({"seed": values.pop("seed", 0)}, Seeded, "--recipe").seed
    return validated(values, Corpus, "--recipe"), seed


def source_of(corpus: Corpus, files: Sequence[str]) -> tuple[Source, Path | None]:
    """A corpus's source that reads these files, and the file that a rule of its own has made for a source.

    Raises:
        TokbenchError: they are not the source's, or not as many as it reads.
    """
    source = corpus.source
    if isinstance(source, HubSource):
        if not files:
            raise TokbenchError("a hub corpus is prepared from the file that 'tokbench fetch' made; name it")
        if len(files) > 1:
            raise TokbenchError(
                "a hub corpus is prepared from one file, that which 'tokbench fetch' made; name it alone"
            )
        return source, Path(files[0])
    if isinstance(source, ParallelSource):
        if len(files) != 1:
            raise TokbenchError(
                "a side of a parallel corpus is prepared from one folder, that which 'tokbench prepare_parallel' made; "
                "name it alone"
            )
        return source, Path(files[0], "train.parquet")
    if files and isinstance(source, EmbeddedSource):
        raise TokbenchError("the embedded source reads no files; leave them out")
    if files and isinstance(source, FileSource):
        if not source.path:
            return source.model_copy(update={"path": list(files)}), None
        check_same_files(files, files_of(source), "--recipe")
    return source, None


def say_findings(folder: Path) -> None:
    """Write to standard error what the manifest of a corpus says, if there is one."""
    for line in lines_of(read_findings(folder)):
        click.echo(line, err=True)


def shares_of(corpus: Corpus) -> dict[str, float | str]:
    """Share of each split, or the split that it is the same as."""
    return {str(split): share for split, share in corpus.splits.items()}


def groups_in(corpus: Corpus) -> list[range]:
    """The shards that are written together, numbered over all splits that have a share."""
    splits = sum(not isinstance(share, str) for share in corpus.splits.values())
    return groups_of(splits * corpus.shards, corpus.parts)


def span_of(source: Source, span: Span) -> Span:
    """How much is read of a source's files.

    Raises:
        TokbenchError: less than all, of files that are not cut.
    """
    if span != WHOLE and not isinstance(source, ParquetSource | HubSource):
        raise TokbenchError("--begin, --end: Parquet files alone are cut; leave them out")
    return span
