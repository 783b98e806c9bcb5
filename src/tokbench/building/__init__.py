"""Building of tokenizers: a vocabulary by a construction, with a segmentation."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.construction import Construction, InitialRecipe, constructions
from tokbench.errors import TokbenchError
from tokbench.io.numbers import LARGEST_SEED, LARGEST_VOCABULARY, MOST_THREADS, whole_argument
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import Vocabulary

if TYPE_CHECKING:
    from tokbench.candidates.running_text import Documents
    from tokbench.candidates.scored_text import ScoredDocuments

    Source = PretokenCounts | ScoredDocuments | Documents
"""Sources of constructions."""


@dataclass(frozen=True, kw_only=True)
class BuildRecipe:
    """Construction, segmentation and size of a tokenizer.

    Attributes:
        construction: the method.
        options: an instance of the method's class of options.
        size: number of tokens, including the 256 bytes; the result has fewer if the text does not yield more.
        segmentation: name of the segmentation.
        segmentation_options: an instance of its class of options.
        seed: random seed. Default: 0.
        name: name of the tokenizer in tables. Default: empty.
    """

    construction: Construction
    options: Any
    size: int
    segmentation: str
    segmentation_options: Options
    seed: int = 0
    name: str = ""


def build_tokenizer(
    recipe: BuildRecipe,
    source: "Source",
    *,
    counts: PretokenCounts | None = None,
    initial: Vocabulary | None = None,
    threads: int = 1,
) -> Tokenizer:
    """Build a vocabulary and combine it with a pre-tokenization and a segmentation.

    Args:
        recipe: the methods and their options.
        source: source of the construction; the tokenizer has its pre-tokenization.
        counts: pre-token counts from which a missing initial vocabulary is built. Default: the source, if it is counts.
        initial: initial vocabulary, for top-down methods. Default: built by :func:`initial_vocabulary`.
        threads: number of threads; the result does not depend on it. Default: 1.

    Raises:
        TokbenchError: the size is smaller than the method's alphabet, a number is invalid or out of range, the counts
            are empty, the initial vocabulary cannot be built, or the method rejects its source.
    """
    # Arguments.
    construction, options = recipe.construction, recipe.options
    size = whole_argument("size", recipe.size, 1, LARGEST_VOCABULARY)
    seed = whole_argument("seed", recipe.seed, 0, LARGEST_SEED)
    threads = whole_argument("threads", threads, 1, MOST_THREADS)
    check_alphabet(construction, size)
    if mistake := construction.unfit_segmentation(options, recipe.segmentation):
        raise TokbenchError(f"segmentation: {mistake}")
    if isinstance(source, PretokenCounts):
        counts = source if counts is None else counts
        if not len(source):
            raise TokbenchError("the counts contain no pre-token; count a text that is not empty")
    # Vocabulary, after the one that it starts from.
    more: dict[str, Any] = {}
    if construction.initial:
        more["initial"] = (
            initial_vocabulary(counts, options, seed=seed, threads=threads) if initial is None else initial
        )
    vocabulary = construction.function(source, size, options, seed=seed, threads=threads, **more)
    origin = {
        "construction": {"method": construction.name, **options.model_dump(mode="json", exclude={"method"})},
        "requested_size": size,
        "seed": seed,
    }
    scheme = source.scheme or "none"
    return Tokenizer(
        vocabulary, scheme, recipe.segmentation, recipe.segmentation_options, name=recipe.name, origin=origin
    )


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
    cut = construction.own_segmentation(options)
    shared = {"ties", "max_token_bytes"} & set(cut.options.model_fields) & set(type(options).model_fields)
    return cut.name, {key: getattr(options, key) for key in sorted(shared)}


def initial_vocabulary(counts: PretokenCounts | None, options: Any, *, seed: int, threads: int) -> Vocabulary:
    """Build the initial vocabulary of a top-down method.

    Args:
        counts: pre-token counts of the text.
        options: options of the top-down method: ``initial`` is a construction's name or its recipe, and
            ``initial_size`` the number of tokens.
        seed: random seed.
        threads: number of threads.

    Raises:
        TokbenchError: there are no counts, or ``initial_size`` is smaller than the alphabet of that construction.
    """
    if counts is None:
        raise TokbenchError(
            "the method starts from a vocabulary; name its folder with --initial, or build it by --counts"
        )
    initial = options.initial
    method = constructions[initial]
    check_alphabet(method, options.initial_size, "initial_size")
    chosen = initial.options if isinstance(initial, InitialRecipe) else method.options()
    return method.function(counts, options.initial_size, chosen, seed=seed, threads=threads)
