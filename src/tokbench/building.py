"""Building of tokenizers: a vocabulary by a construction, with a segmentation."""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.construction import Construction, InitialRecipe, constructions
from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_folder
from tokbench.io.numbers import LARGEST_SEED, LARGEST_VOCABULARY, MOST_THREADS, whole_argument
from tokbench.io.provenance import write_manifest
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.files import DroppedPretokens, read_min_count
from tokbench.tokenizer import SETTINGS, Tokenizer
from tokbench.vocabulary import Vocabulary

if TYPE_CHECKING:
    from tokbench.candidates.running_text import Documents
    from tokbench.candidates.scored_text import ScoredDocuments

    Source = PretokenCounts | ScoredDocuments | Documents
"""Sources of constructions."""


def build_tokenizer(
    construction: Construction,
    source: "Source",
    size: int,
    options: Options,
    segmentation: str,
    segmentation_options: Options,
    *,
    initial: Vocabulary | None = None,
    seed: int = 0,
    threads: int = 1,
    name: str = "",
) -> Tokenizer:
    """Build a vocabulary and combine it with a pre-tokenization and a segmentation.

    Args:
        construction: the method.
        source: source of the method; the tokenizer has its pre-tokenization.
        size: number of tokens, including the 256 bytes; the result has fewer if the text does not yield more.
        options: an instance of the method's class of options.
        segmentation: name of the segmentation.
        segmentation_options: an instance of its class of options.
        initial: initial vocabulary, for top-down methods; see :func:`initial_vocabulary`. Default: None.
        seed: random seed. Default: 0.
        threads: number of threads; the result does not depend on it. Default: 1.
        name: name of the tokenizer in tables. Default: empty.

    Raises:
        TokbenchError: the size is smaller than the method's alphabet, a number is invalid or out of range, or the
            method rejects its source.
    """
    size = whole_argument("size", size, 1, LARGEST_VOCABULARY)
    seed = whole_argument("seed", seed, 0, LARGEST_SEED)
    threads = whole_argument("threads", threads, 1, MOST_THREADS)
    check_alphabet(construction, size)
    more: dict[str, Any] = {"initial": initial} if construction.initial else {}
    vocabulary = construction.function(source, size, options, seed=seed, threads=threads, **more)
    origin = {
        "construction": {"method": construction.name, **options.model_dump(mode="json", exclude={"method"})},
        "requested_size": size,
        "seed": seed,
    }
    scheme = source.scheme or "none"
    return Tokenizer(vocabulary, scheme, segmentation, segmentation_options, name=name, origin=origin)


def check_alphabet(construction: Construction, size: int, key: str = "size") -> None:
    """Reject a size that the method cannot build.

    Raises:
        TokbenchError: the size is smaller than the method's alphabet.
    """
    least = construction.alphabet
    if size < least:
        raise TokbenchError(
            f"{key} {size}: smaller than the alphabet of '{construction.name}' ({least}); use a larger size"
        )


def own_segmentation(construction: Construction, options: Options) -> tuple[str, dict[str, Any]]:
    """Return the name of a construction's default segmentation, and the options that both have (ties, longest token).

    Raises:
        TokbenchError: the default segmentation does not exist.
    """
    cut = construction.own_segmentation()
    shared = {"ties", "max_token_bytes"} & set(cut.options.model_fields) & set(type(options).model_fields)
    return cut.name, {key: getattr(options, key) for key in sorted(shared)}


def initial_vocabulary(counts: PretokenCounts | None, options: Any, *, seed: int, threads: int) -> Vocabulary:
    """Build the initial vocabulary of a top-down method, by the construction in its options with default options.

    Raises:
        TokbenchError: there are no counts, or ``initial_size`` is smaller than the alphabet of that construction.
    """
    if counts is None:
        raise TokbenchError(
            "the method starts from a vocabulary; name its folder with --initial, or build it by --counts"
        )
    method = constructions[options.initial]
    check_alphabet(method, options.initial_size, "initial_size")
    return method.function(counts, options.initial_size, method.options(), seed=seed, threads=threads)


# Separate from initial_vocabulary, which is part of the fingerprint of every tokenizer.
def vocabulary_of_recipe(counts: PretokenCounts | None, options: Any, *, seed: int, threads: int) -> Vocabulary:
    """Build the initial vocabulary of a top-down method if ``options.initial`` is a recipe.

    Raises:
        TokbenchError: as :func:`initial_vocabulary`.
    """
    if counts is None:
        raise TokbenchError(
            "the method starts from a vocabulary; name its folder with --initial, or build it by --counts"
        )
    method, recipe = constructions[options.initial], options.initial
    check_alphabet(method, options.initial_size, "initial_size")
    return method.function(counts, options.initial_size, recipe.options, seed=seed, threads=threads)


def starting_from(construction: Construction, initial: Vocabulary) -> Construction:
    """Return a top-down method with a fixed initial vocabulary."""
    return replace(construction, function=partial(construction.function, initial=initial), initial=False)


def check_recipe(folder: str, recipe: InitialRecipe) -> None:
    """Check the recorded options of an initial vocabulary's folder against a recipe; folders without a record pass.

    Raises:
        TokbenchError: an option differs.
    """
    if not (Path(folder) / SETTINGS).is_file():
        return
    record = Tokenizer.load(folder).origin.get("construction", {})
    for key, value in recipe.setting.items():
        if key in record and record[key] != value:
            option = "initial" if key == "method" else f"initial.{key}"
            raise TokbenchError(
                f"--initial {folder}: was built with {key} {record[key]}, but the option {option} is {value}; "
                "change one"
            )


READERS = {
    "counts": "tokbench.building:read_counts",
    "scores": "tokbench.building:read_scored",
    "documents": "tokbench.building:read_running",
}
"""Readers of each kind of source, as named in fingerprints."""
LANGUAGES_READER = "tokbench.pretokens.by_language:read_language_counts"
"""Reader of counts by language, as named in fingerprints."""


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


def read_scored(files: Sequence[str], scheme: str) -> "ScoredDocuments":
    """Read scored text for a construction."""
    from tokbench.candidates.scored_text import read_scores

    return read_scores(files, scheme)


def read_running(paths: Sequence[str], scheme: str) -> "Documents":
    """Read running text for a construction, from shards or from the tokenizer splits of prepared corpora."""
    from tokbench.candidates.running_text import read_documents

    return read_documents([shard for path in paths for shard in _shards(Path(path))], scheme)


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
    if tokenizer.pretokenization != scheme:
        message = f"was built with '{tokenizer.pretokenization}', but the text with '{scheme}'"
        raise TokbenchError(f"--initial {folder}: {message}; build it with the same pre-tokenizer")
    origin = tokenizer.origin
    made = (origin.get("construction", {}).get("method"), origin.get("requested_size"))
    for key, asked, found in zip(
        ("initial", "initial_size"), (options.initial, options.initial_size), made, strict=True
    ):
        if found is not None and key in options.model_fields_set and asked != found:
            raise TokbenchError(
                f"--initial {folder}: was built with {found}, but the option {key} is {asked}; change one"
            )
    return vocabulary


def build_from_files(
    construction: Construction,
    source: "Source",
    size: int,
    options: Options,
    segmentation: str,
    segmentation_options: Options,
    output: Path | str,
    *,
    counts: PretokenCounts | None = None,
    left_out: DroppedPretokens | None = None,
    initial: str | None = None,
    seed: int = 0,
    threads: int = 1,
    name: str = "",
    started: float | None = None,
) -> Tokenizer:
    """Build a tokenizer with :func:`build_tokenizer` and write its folder, with files for other libraries.

    Args:
        construction: the method.
        source: source of the method.
        size: number of tokens.
        options: an instance of the method's class of options.
        segmentation: name of the segmentation.
        segmentation_options: an instance of its class of options.
        output: the tokenizer's folder.
        counts: pre-token counts, to build a missing initial vocabulary and to compare ids with other libraries.
            Default: None.
        left_out: pre-tokens dropped from the counts. Default: None.
        initial: folder of the initial vocabulary. Default: built from the counts.
        seed: random seed. Default: 0.
        threads: number of threads. Default: 1.
        name: name of the tokenizer in tables. Default: empty.
        started: ``time.monotonic()`` at the start of the work, for the manifest. Default: now.

    Raises:
        TokbenchError: as :func:`build_tokenizer`, :func:`read_initial` and :func:`initial_vocabulary`.
    """
    from tokbench.adapters.export_hugging_face import export

    started = time.monotonic() if started is None else started
    start = None
    if construction.initial:
        start = (
            read_initial(initial, options, source.scheme or "none")
            if initial
            else initial_vocabulary(counts, options, seed=seed, threads=threads)
        )
    tokenizer = build_tokenizer(
        construction,
        source,
        size,
        options,
        segmentation,
        segmentation_options,
        initial=start,
        seed=seed,
        threads=threads,
        name=name,
    )
    if left_out:
        tokenizer.origin |= left_out.recipe()
    with atomic_folder(output, "tokenizer") as folder:
        tokenizer.origin["hugging_face"] = export(tokenizer, counts, folder)
        tokenizer.save(folder)
        write_manifest(folder / "manifest.json", tokenizer.origin, started)
    return tokenizer
