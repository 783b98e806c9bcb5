"""Building a tokenizer: the vocabulary by its construction, and the segmentation that goes with it."""

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
"""What constructions read."""


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
    """Build a vocabulary and put the three phases together.

    Args:
        construction: the method.
        source: what the method reads; its pre-tokenization is the tokenizer's.
        size: tokens wanted, the 256 bytes included; fewer come where the text yields no more.
        options: an instance of the method's class of options.
        segmentation: name of the segmentation.
        segmentation_options: an instance of its class of options.
        initial: the vocabulary to start from, for a method that starts from one; see :func:`initial_vocabulary`.
        seed: of everything that is drawn at random.
        threads: threads to use; they do not change the result.
        name: what tables call the tokenizer.

    Raises:
        TokbenchError: the size is smaller than the method's alphabet, a number is none or beyond its bounds, or what
            the method says of its source.
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
        TokbenchError: it is smaller than the method's alphabet.
    """
    least = construction.alphabet
    if size < least:
        raise TokbenchError(f"{key} {size}: smaller than the alphabet of '{construction.name}', {least}; ask for more")


def own_segmentation(construction: Construction, options: Options) -> tuple[str, dict[str, Any]]:
    """The construction's default segmentation, with the options that the two share (ties, longest token).

    Raises:
        TokbenchError: there is no segmentation of the name that the construction gives.
    """
    cut = construction.own_segmentation()
    shared = {"ties", "max_token_bytes"} & set(cut.options.model_fields) & set(type(options).model_fields)
    return cut.name, {key: getattr(options, key) for key in sorted(shared)}


def initial_vocabulary(counts: PretokenCounts | None, options: Any, *, seed: int, threads: int) -> Vocabulary:
    """The vocabulary that a top-down method starts from, by the construction that its options name, with its defaults.

    Raises:
        TokbenchError: there are no counts to build it from, or ``initial_size`` is smaller than that construction's
            alphabet.
    """
    if counts is None:
        raise TokbenchError(
            "the method starts from a vocabulary; name its folder with --initial, or build it by --counts"
        )
    method = constructions[options.initial]
    check_alphabet(method, options.initial_size, "initial_size")
    return method.function(counts, options.initial_size, method.options(), seed=seed, threads=threads)


# A function next to initial_vocabulary, because that one is in the fingerprint of every tokenizer.
def vocabulary_of_recipe(counts: PretokenCounts | None, options: Any, *, seed: int, threads: int) -> Vocabulary:
    """The vocabulary that a top-down method starts from, where ``options.initial`` is a recipe.

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
    """Return a top-down method that always starts from one vocabulary."""
    return replace(construction, function=partial(construction.function, initial=initial), initial=False)


def check_recipe(folder: str, recipe: InitialRecipe) -> None:
    """Reject the folder of an initial vocabulary that other options were built with, where it has a record of them.

    Raises:
        TokbenchError: an option of the recipe differs.
    """
    if not (Path(folder) / SETTINGS).is_file():
        return
    record = Tokenizer.load(folder).origin.get("construction", {})
    for key, value in recipe.setting.items():
        if key in record and record[key] != value:
            option = "initial" if key == "method" else f"initial.{key}"
            raise TokbenchError(
                f"--initial {folder}: was made with {key} {record[key]}, and the option {option} says {value}; "
                "change one"
            )


READERS = {
    "counts": "tokbench.building:read_counts",
    "scores": "tokbench.building:read_scored",
    "documents": "tokbench.building:read_running",
}
"""What reads a construction's source, as a fingerprint names it."""


def read_counts(path: str, scheme: str | None = None, least: int = 1) -> tuple[PretokenCounts, DroppedPretokens | None]:
    """Pre-token counts for a construction.

    Args:
        path: the file.
        scheme: pre-tokenization of a file that does not name it; ``none`` where neither does.
        least: pre-tokens that are rarer are left out.

    Returns:
        The counts, and what is left out where ``least`` is more than 1.

    Raises:
        TokbenchError: the file is no file of counts, names another pre-tokenization, or nothing is left of it.
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
    """Scored text for a construction."""
    from tokbench.candidates.scored_text import read_scores

    return read_scores(files, scheme)


def read_running(paths: Sequence[str], scheme: str) -> "Documents":
    """Running text for a construction: shards, or the tokenizer splits of prepared corpora."""
    from tokbench.candidates.running_text import read_documents

    return read_documents([shard for path in paths for shard in _shards(Path(path))], scheme)


def _shards(path: Path) -> list[Path]:
    return sorted((path / "tokenizer").glob("*.parquet")) if path.is_dir() else [path]


def read_initial(folder: str, options: Any) -> Vocabulary:
    """The vocabulary in a folder, which must be the one that the options name, where it says what it is.

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
    for key, asked, found in zip(
        ("initial", "initial_size"), (options.initial, options.initial_size), made, strict=True
    ):
        if found is not None and key in options.model_fields_set and asked != found:
            raise TokbenchError(
                f"--initial {folder}: was made with {found}, and the option {key} says {asked}; mend one"
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
    """Build a tokenizer as :func:`build_tokenizer` does and write its folder, with files for other libraries.

    Args:
        construction: the method.
        source: what the method reads.
        size: tokens wanted.
        options: an instance of the method's class of options.
        segmentation: name of the segmentation.
        segmentation_options: an instance of its class of options.
        output: the tokenizer's folder.
        counts: pre-tokens, from which a missing initial vocabulary is built and ids of other libraries are compared.
        left_out: what of the counts is left out.
        initial: folder of the initial vocabulary; built from the counts when None.
        seed: of everything that is drawn at random.
        threads: threads to use.
        name: what tables call the tokenizer.
        started: ``time.monotonic()`` when the work began, for the manifest; now when None.

    Raises:
        TokbenchError: as :func:`build_tokenizer`, :func:`read_initial` and :func:`initial_vocabulary`.
    """
    from tokbench.adapters.export_hugging_face import export

    started = time.monotonic() if started is None else started
    start = None
    if construction.initial:
        start = (
            read_initial(initial, options)
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
