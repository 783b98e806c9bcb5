"""Building a tokenizer: the vocabulary by its construction, and the segmentation that goes with it."""

from typing import TYPE_CHECKING, Any

from tokbench.construction import Construction, constructions
from tokbench.errors import TokbenchError
from tokbench.inputs.numbers import LARGEST_SEED, LARGEST_VOCABULARY, MOST_THREADS, whole_argument
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer
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
