"""Stage of lower bounds on the token count of any vocabulary, used by the metric ``gap``."""

from typing import TYPE_CHECKING, NamedTuple

from pydantic import Field

from tokbench.optimum import MAX_PRETOKEN_BYTES
from tokbench.options import Options
from tokbench.pretokenization import Pretokenization, pretokenization_of
from tokbench.pretokenization.patterns.coverage import spans_words
from tokbench.pretokenization.patterns.parse import LanguageError
from tokbench.stage import Result, Section, Stage, stages

if TYPE_CHECKING:
    from tokbench.config.experiment import Experiment


class BoundsOptions(Options):
    """Settings of the lower bound on the token count of any vocabulary, used by the metric ``gap``.

    A bound is valid after any number of steps. If the search has not converged, the table of bounds reports the
    remaining change.
    """

    max_pretoken_bytes: int = Field(MAX_PRETOKEN_BYTES, ge=1)
    """Longest pre-token that is included, in bytes. Memory and time grow with the square of the longest one. Longer
    pre-tokens are excluded from the bound and from the token counts compared with it; the table ``bounds`` has their
    number and share."""
    steps: int = Field(400, ge=1)
    """Maximum number of steps of the search, default: 400. Each language of a multilingual text has another search, of
    at most this number. 2 MB in 22 languages need 0.4 s a step. More steps give a tighter bound if the search has not
    converged (``unsettled`` in the table ``bounds``)."""


SECTION = Section(
    "bounds",
    BoundsOptions,
    "Settings of the search for the lower bound used by the metric ``gap``.",
    always=True,
)


class Bounded(NamedTuple):
    """Corpus, pre-tokenization and size of one bound."""

    corpus: str
    scheme: str
    size: int


def all_bounds(experiment: "Experiment") -> list[Bounded]:
    """Return the distinct corpora, pre-tokenizations and sizes of the built tokenizers.

    Pre-tokens that may be sentences or documents have too many substrings for a bound, and tokens that may cross
    pre-tokens have none.
    The pre-tokenization and size of external tokenizers are known only after import; they use the bounds of built ones
    with the same values.
    """
    schemes = {
        name: pretokenization_of(variant.pretokenization)
        for name, variant in experiment.built.items()
        if not experiment.segments_documents(name)
    }
    bounds = (
        Bounded(corpus, schemes[name].slug, size)
        for name, variant in experiment.built.items()
        if name in schemes and not _are_long(schemes[name])
        for corpus in (experiment.corpus_of(name), *experiment.measured_on_of(name))
        for size in variant.sizes or experiment.sizes
    )
    return list(dict.fromkeys(bounds))


def _are_long(scheme: Pretokenization) -> bool:
    """Return whether pre-tokens may be sentences or documents."""
    if scheme.splits is None or len(scheme.splits) > 1:
        return False
    try:
        return not scheme.splits or spans_words(scheme.splits[0])
    except LanguageError:
        return False


BOUND = stages.add(
    Stage(
        "bound",
        run="tokbench.commands.bounds:bound_command",
        results=(
            Result(
                "bound", "bounds/{corpus}/{scheme}/{size}.json", all_bounds, "File CORPUS/SCHEME/SIZE.json of a bound"
            ),
        ),
        sections=(SECTION,),
        cites=("tempus2026",),
    )
)
