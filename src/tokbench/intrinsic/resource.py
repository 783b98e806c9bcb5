"""Gold data of resources: reading and measurement of any type, and contributions of words to morphological alignment.

Contributions by word allow intervals over words.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.corpus.languages import is_tag, not_a_tag
from tokbench.errors import TokbenchError, listed_files
from tokbench.intrinsic.gold_tables import decision_table, segmentation_table
from tokbench.intrinsic.tokenizer import ByLanguage, measure_cut_words, measure_document_words
from tokbench.io.text_files import size_of
from tokbench.metric.document_words import document_words
from tokbench.metric.measurement import in_groups
from tokbench.metric.morphology import scored_boundaries
from tokbench.metric.words import Words, words_of
from tokbench.resource import Gold, ResourceOptions, is_drawn, resource_files, resource_types
from tokbench.runtime.memory_limit import RESERVE, require, resident_bytes

if TYPE_CHECKING:
    from tokbench.options import Options
    from tokbench.tokenizer import Tokenizer

TABLES: dict[Gold, Callable[..., pl.DataFrame]] = {
    "segmentations": segmentation_table,
    "lexical_decisions": decision_table,
}


COPIES = 24
"""Bytes of memory per byte of a resource's decompressed files. Measured: 17 for segmentations, 14 for decisions."""
COLUMNS = ("word", "words", "right", "wrong", "missed")
ByWord = dict[str, list[int]]
BY_WORD: dict[Gold, str] = {
    "segmentations": f"{__name__}:boundaries_by_word",
    "lexical_decisions": f"{__name__}:nothing_by_word",
}
"""Functions that count boundaries by word, by kind of gold data; fingerprints name the chosen one."""


def room(kind: str, options: ResourceOptions) -> int:
    """Estimate the bytes of memory needed to read and measure a resource, without the process itself.

    Raises:
        TokbenchError: a file cannot be read.
    """
    return COPIES * sum(size_of(path, "name a file of the resource") for _, path in resource_files(kind, options))


def read_resource(kind: str, options: ResourceOptions, files: Sequence[tuple[str, Path]] | None = None) -> pl.DataFrame:
    """Read the gold data of a resource.

    Args:
        kind: type of the resource.
        options: options of the resource.
        files: files with their language tags (default: None, those of the options).

    Returns:
        :data:`~tokbench.intrinsic.gold_tables.SEGMENTATIONS` or
        :data:`~tokbench.intrinsic.gold_tables.DECISIONS`, depending on the type's ``gold``.

    Raises:
        TokbenchError: the type is unknown, a file cannot be read, a record is invalid, or there are no words.
    """
    method = resource_types[kind]
    chosen = resource_files(kind, options) if files is None else files
    rows = (row for language, path in chosen for row in method.function(path, language, options))
    table = TABLES[method.gold](rows)
    for language in table["language"].unique(maintain_order=True):
        if not is_tag(language):
            raise TokbenchError(f"{listed_files([path for _, path in chosen])}: {not_a_tag(language)}; correct it")
    if options.languages is not None:
        table = table.filter(pl.col("language").is_in(options.languages))
    if options.left_out:
        is_left_out = [is_drawn(word, options.left_out, options.left_out_seed) for word in table["word"]]
        table = table.filter(~pl.Series(is_left_out, dtype=pl.Boolean))
    if table.is_empty():
        named = ", ".join(str(path) for _, path in chosen) or "no file"
        raise TokbenchError(f"{named}: no word of a resource of type '{kind}'; set its own files and languages")
    return table


def alignment_by_word(words: Words, boundaries: NDArray[np.int64]) -> ByWord:
    """Return boundary counts of every word that a metric scores, added by word and by groups of neighbours.

    Two segmentations of one word count as one word, because its tokens are the same. If the resource has more than
    1,000 words, neighbours are added. Groups depend only on the resource, so they are the same for every tokenizer.

    Args:
        words: words segmented by a tokenizer.
        boundaries: int64 [words, 3], see :func:`tokbench.metric.morphology.scored_boundaries`.

    Returns:
        For each word or group with any boundary: ``word`` (position of the first in the resource, from 0), ``words``,
        ``right`` (token boundaries at morpheme boundaries), ``wrong`` (other token boundaries) and ``missed`` (other
        morpheme boundaries).
    """
    by_row = words.gold.select("language", "word").with_columns(
        pl.Series(name, boundaries[:, place]) for place, name in enumerate(COLUMNS[2:])
    )
    by_word = by_row.group_by("language", "word", maintain_order=True).sum()
    counts = by_word.select(COLUMNS[2:]).to_numpy().reshape(-1, 3)
    places = np.arange(len(counts))
    groups = in_groups(np.column_stack([places, np.ones_like(places), counts]))
    groups = groups[groups[:, 2:].any(axis=1)]
    return {name: groups[:, place].tolist() for place, name in enumerate(COLUMNS)}


def boundaries_by_word(words: Words) -> ByWord:
    """Return boundary counts of every word, for gold data of segmentations."""
    return alignment_by_word(words, scored_boundaries(words))


def nothing_by_word(words: Words) -> ByWord:
    """Return boundary counts without any word, for gold data without morphemes."""
    return {name: [] for name in COLUMNS}


class ResourceMeasures(NamedTuple):
    """Measurements of a tokenizer on the words of a resource.

    Attributes:
        rows: the measurements.
        by_word: boundary counts of every word; no word for gold data without morphemes.
    """

    rows: ByLanguage
    by_word: ByWord


def measure_resource(
    tokenizer: "Tokenizer",
    kind: str,
    options: ResourceOptions,
    *,
    families: "Mapping[str, Options]",
    name: str = "",
    megabytes: int | None = None,
) -> ResourceMeasures:
    """Measure a tokenizer on the words of a resource.

    Args:
        tokenizer: the tokenizer.
        kind: type of the resource.
        options: options of the resource.
        families: options by family of metrics; families without an entry have their defaults.
        name: name of the resource, for messages. Default: its type.
        megabytes: memory limit in MB (10^6 bytes). Default: None, no limit.

    Raises:
        TokbenchError: as :func:`read_resource`, or more memory is needed than allowed.
    """
    if megabytes is not None:
        require(f"'{name or kind}'", resident_bytes() + RESERVE + room(kind, options), megabytes)
    gold, of = read_resource(kind, options), resource_types[kind].gold
    if tokenizer.segments_documents:
        words, left_out = document_words(tokenizer, gold)
        rows = measure_document_words(words, left_out, of, families=families)
    else:
        words = words_of(tokenizer, gold)
        rows = measure_cut_words(words, of, families=families)
    return ResourceMeasures(rows, resolve_name(BY_WORD[of])(words))
