"""Building of tokenizers from files: pre-token counts, byte scores, documents and initial vocabularies."""

import time
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.building import BuildRecipe, build_tokenizer, check_alphabet
from tokbench.construction import Construction, InitialRecipe
from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_folder
from tokbench.io.identity import Maker, TextDigest, require_same
from tokbench.io.provenance import write_manifest
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.files import DroppedPretokens, read_min_count, read_parts
from tokbench.runtime import exit_status
from tokbench.runtime.progress import note, progress
from tokbench.tokenizer import SETTINGS, Tokenizer
from tokbench.vocabulary import Vocabulary

if TYPE_CHECKING:
    from tokbench.building import Source
    from tokbench.candidates.running_text import Documents
    from tokbench.candidates.scored_text import ScoredDocuments

READERS = {
    "counts": "tokbench.building.files:check_counted",
    "scores": "tokbench.building.files:read_scored",
    "documents": "tokbench.building.files:read_running",
}
"""Readers of each kind of source. Text, so that a tokenizer's fingerprint has the code of its own reader only."""
LANGUAGES_READER = "tokbench.pretokens.by_language:read_language_counts"
"""Reader of counts by language."""
DEFAULT_SCHEME = "gpt2"
"""Pre-tokenization of running text and scores, if neither an option nor counts name it."""


@dataclass(frozen=True, kw_only=True)
class BuildFiles:
    """Files that a tokenizer is built from, as ``tokbench build`` names them.

    Attributes:
        counts: pre-token counts. Default: None.
        min_count: minimum count of a pre-token; rarer ones are dropped. Default: 1.
        scores: shards of byte scores. Default: none.
        documents: shards, or folders of prepared corpora. Default: none.
        development: pre-token counts of parallel text by language. Default: None.
        initial: folder of the initial vocabulary. Default: None, and it is built from the counts.
        scheme: pre-tokenization. Default: that of the counts.
    """

    counts: str | None = None
    min_count: int = 1
    scores: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    development: str | None = None
    initial: str | None = None
    scheme: str | None = None


class BuildInputs(NamedTuple):
    """Inputs that are read before a tokenizer is built.

    Attributes:
        source: source of the construction.
        counts: pre-token counts; None if there is no file of them.
        dropped: the pre-tokens that occur too rarely; None if there is no minimum count.
    """

    source: "Source"
    counts: PretokenCounts | None
    dropped: DroppedPretokens | None


class BuiltTokenizer(NamedTuple):
    """A tokenizer, and the pre-token counts that were read for it; None if there is no file of them."""

    tokenizer: Tokenizer
    counts: PretokenCounts | None


def build_from_files(
    recipe: BuildRecipe, files: BuildFiles, output: Path | str, *, threads: int = 1, megabytes: int | None = None
) -> BuiltTokenizer:
    """Build a tokenizer with :func:`~tokbench.building.build_tokenizer` and write its folder.

    The folder has files for other libraries, too, if these give the same ids.

    Args:
        recipe: the methods and their options.
        files: files of the text and the initial vocabulary.
        output: the tokenizer's folder.
        threads: number of threads; the result does not depend on it. Default: 1.
        megabytes: memory limit in MB (10^6 bytes). Default: None, no limit.

    Raises:
        TokbenchError: a file is missing, superfluous, unreadable or of another kind; files do not fit together; more
            memory is needed than allowed; or as :func:`~tokbench.building.build_tokenizer`.
    """
    from tokbench.adapters.export_hugging_face import export

    started = time.monotonic()
    check_files(recipe.construction, files)
    check_alphabet(recipe.construction, recipe.size, "--size")
    if megabytes is not None:
        check_memory(recipe, files, megabytes)
    source, counts, dropped = read_inputs(recipe.construction, files)

    if counts:
        task = f"build '{recipe.construction.name}' of {recipe.size:,} tokens from {len(counts):,} unique pre-tokens"
        exit_status.describe_task(task, "use fewer --threads" if threads > 1 else "")
    initial = read_initial(files.initial, recipe.options, source.scheme or "none") if files.initial else None
    with progress(f"build {recipe.construction.name}"):
        tokenizer = build_tokenizer(recipe, source, counts=counts, initial=initial, threads=threads)
        if dropped:
            tokenizer.origin |= dropped.recipe()
        with atomic_folder(output, "tokenizer") as folder:
            tokenizer.origin["hugging_face"] = export(tokenizer, counts, folder)
            tokenizer.save(folder)
            write_manifest(folder / "manifest.json", tokenizer.origin, started)
    return BuiltTokenizer(tokenizer, counts)


def check_files(construction: Construction, files: BuildFiles) -> None:
    """Reject files and a minimum count that the construction does not read.

    Raises:
        TokbenchError: one of them is given.
    """
    if files.min_count > 1 and (construction.source != "counts" or not files.counts):
        raise TokbenchError(
            f"--min-count {files.min_count}: '{construction.name}' reads no pre-token counts; leave the option out"
        )
    reads = {construction.source, "initial" if construction.initial else ""}
    reads.add("development" if construction.languages else "")
    for name in ("scores", "documents", "development", "initial"):
        if getattr(files, name) and name not in reads:
            raise TokbenchError(f"--{name}: '{construction.name}' does not read it; leave the option out")


def check_memory(recipe: BuildRecipe, files: BuildFiles, megabytes: int) -> None:
    """Raise an error if building from counts would need more memory than allowed, before any text is read.

    Args:
        recipe: the methods and their options.
        files: files of the text and the initial vocabulary.
        megabytes: memory limit in MB (10^6 bytes).

    Raises:
        TokbenchError: it would need more.
    """
    import numpy as np

    from tokbench.runtime.memory_model import CountProfile, require

    construction, options = recipe.construction, recipe.options
    if not files.counts or construction.source != "counts":
        return
    names = [construction.name, *([options.initial] if construction.initial and not files.initial else [])]
    _, parts = read_parts(files.counts)
    longest, longest_pretoken = (getattr(options, key, None) for key in ("max_token_bytes", "max_pretoken_bytes"))
    batches = ((np.diff(offsets), counts) for _, (_, offsets, counts) in parts)
    profile = CountProfile.of(batches, files.min_count, longest, longest_pretoken)
    require(names, profile, files.min_count, megabytes)


def read_inputs(construction: Construction, files: BuildFiles) -> BuildInputs:
    """Read the source of a construction, and the counts in addition if there are any.

    Notes name pre-tokens that are dropped, and counts without a pre-tokenization.

    Raises:
        TokbenchError: the source is not given, unreadable or empty, or files do not fit together.
    """
    counts, dropped = None, None
    if files.counts:
        counts, dropped = read_counts(files.counts, files.scheme, files.min_count)
        if dropped:
            note(dropped.line())
        if not files.scheme and not read_parts(files.counts)[0]:
            note(f"{files.counts} does not name its pre-tokenization: using 'none'; name it with --pretokenization")
        if len(counts) and construction.languages:
            counts = resolve_name(LANGUAGES_READER)(files.counts, files.development, counts, files.min_count)
    source = resolve_name(READERS[construction.source])(construction.name, files, counts)
    return BuildInputs(source, counts, dropped)


def read_counts(path: str, scheme: str | None = None, least: int = 1) -> tuple[PretokenCounts, DroppedPretokens | None]:
    """Read pre-token counts for a construction.

    Args:
        path: the file.
        scheme: pre-tokenization, if the file does not name it. Default: ``none``.
        least: minimum count of a pre-token; rarer ones are dropped. Default: 1.

    Returns:
        The counts, and the dropped pre-tokens (None if ``least`` is 1).

    Raises:
        TokbenchError: the file is not a file of counts, names another pre-tokenization, or no pre-token remains.
    """
    left_out = None
    if least > 1:
        counts, left_out = read_min_count(path, least)
        if left_out.unique and not len(counts):
            raise TokbenchError(f"{path}: no pre-token occurs {least:,} times or more (min_count); lower it")
    else:
        counts = PretokenCounts.read(path)
    if scheme and counts.scheme and scheme != counts.scheme:
        raise TokbenchError(
            f"--pretokenization {scheme}: {path} was counted with '{counts.scheme}'; leave the option out"
        )
    return PretokenCounts(counts.data, counts.offsets, counts.counts, scheme or counts.scheme or "none"), left_out


def check_counted(name: str, files: BuildFiles, counts: PretokenCounts | None) -> PretokenCounts:
    """Return the counts as the source of the construction ``name``.

    Raises:
        TokbenchError: there are none.
    """
    if counts is None:
        raise TokbenchError(f"'{name}' reads pre-token counts; name them with --counts")
    return counts


def read_scored(name: str, files: BuildFiles, counts: PretokenCounts | None) -> "ScoredDocuments":
    """Return the scored text that the construction ``name`` reads.

    Raises:
        TokbenchError: there is none, its shards are of several models, or it is not the text of the counts.
    """
    from tokbench.candidates.scored_text import check_scores, read_scores

    if not files.scores:
        raise TokbenchError(f"'{name}' reads byte scores; name them with --scores")
    text = check_scores(files.scores).hexdigest()
    if counts and files.counts:
        counted = TextDigest()
        counted.add_counts(counts.data, counts.offsets, counts.counts)
        maker = Maker(counted.hexdigest(), files.counts)
        require_same(files.scores[0], {"text": text}, "text", maker, "score and count the same documents")
    return read_scores(files.scores, _scheme(files, counts))


def read_running(name: str, files: BuildFiles, counts: PretokenCounts | None) -> "Documents":
    """Return the running text that the construction ``name`` reads, from shards or the tokenizer splits of corpora.

    Raises:
        TokbenchError: there is none.
    """
    from tokbench.candidates.running_text import read_documents

    if not files.documents:
        raise TokbenchError(f"'{name}' reads documents; name a corpus with --documents")
    shards = [shard for path in files.documents for shard in _shards(Path(path))]
    return read_documents(shards, _scheme(files, counts))


def _scheme(files: BuildFiles, counts: PretokenCounts | None) -> str:
    return files.scheme or (counts.scheme if counts else None) or DEFAULT_SCHEME


def _shards(path: Path) -> list[Path]:
    return sorted((path / "tokenizer").glob("*.parquet")) if path.is_dir() else [path]


def read_initial(folder: str, options: Any, scheme: str) -> Vocabulary:
    """Read the initial vocabulary from a folder and check its record, if there is one.

    Args:
        folder: the folder.
        options: options of the method that starts from it.
        scheme: pre-tokenization of the tokenizer that is built from it.

    Raises:
        TokbenchError: it was built with other options or another pre-tokenization, or it is of an external tokenizer.
    """
    vocabulary = Vocabulary.read(Path(folder))
    if vocabulary.ids is not None:
        raise TokbenchError(
            f"--initial {folder}: is an external tokenizer, whose first ids are not the bytes; build one"
        )
    if not (Path(folder) / SETTINGS).is_file():
        return vocabulary
    tokenizer = Tokenizer.load(folder)
    _check_record(folder, tokenizer.origin, options)
    if tokenizer.pretokenization != scheme:
        message = f"was built with '{tokenizer.pretokenization}', but the text with '{scheme}'"
        raise TokbenchError(f"--initial {folder}: {message}; build it with the same pre-tokenizer")
    return vocabulary


def _check_record(folder: str, origin: dict[str, Any], options: Any) -> None:
    """Raise an error if the record of an initial vocabulary has other options than the method that starts from it."""
    record = origin.get("construction", {})
    if isinstance(options.initial, InitialRecipe):
        for key, value in options.initial.setting.items():
            if key in record and record[key] != value:
                option = "initial" if key == "method" else f"initial.{key}"
                raise TokbenchError(
                    f"--initial {folder}: was built with {key} {record[key]}, but the option {option} is {value}; "
                    "change one"
                )
    recorded = {"initial": record.get("method"), "initial_size": origin.get("requested_size")}
    for key, value in recorded.items():
        asked = getattr(options, key)
        if value is not None and key in options.model_fields_set and asked != value:
            raise TokbenchError(
                f"--initial {folder}: was built with {value}, but the option {key} is {asked}; change one"
            )
