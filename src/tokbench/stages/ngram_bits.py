"""Stage of token n-gram models, whose bits per byte compare tokenizers without a language model."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from tokbench.config.targets import MeasurementTarget, TokenizerTarget, all_measured, all_tokenizers
from tokbench.io.numbers import HIGHEST_NGRAM_ORDER, LARGEST_BYTES
from tokbench.options import Options
from tokbench.stage import Result, Section, Stage, stages

if TYPE_CHECKING:
    from tokbench.config.experiment import Experiment


class NgramBitsOptions(Options):
    """Token n-gram models: trained on one split, and tested in bits per byte on the evaluation split.

    They use interpolated modified Kneser-Ney smoothing, which needs no seed and has no further parameter.
    """

    order: int = Field(HIGHEST_NGRAM_ORDER, ge=1, le=HIGHEST_NGRAM_ORDER)
    """Highest order; all orders up to it are computed."""
    split: Literal["tokenizer", "pretraining"] = "pretraining"
    """Split that the models are trained on."""
    training_bytes: list[Annotated[int, Field(ge=1, le=LARGEST_BYTES)]] | None = Field(None, min_length=1)
    """Training sizes in bytes; a model is trained for each. Text is drawn from every language in proportion to its
    share of the split. Default: all of the split, and half of it."""


def _mistakes(experiment: "Experiment") -> Iterator[str]:
    for name in experiment.measured_corpora():
        if name in experiment.corpora and experiment.corpora[name].counted:
            yield f"ngram_bits: corpus '{name}' contains counts, but n-gram models need text; leave the key out"
            break


def _reads(experiment: "Experiment") -> Iterator[tuple[tuple[str, str], str]]:
    for corpus in experiment.measured_corpora():
        if corpus in experiment.corpora and experiment.corpora[corpus].counted:
            break  # This is a mistake of its own.
        yield (corpus, SECTION.of(experiment).split), "n-gram models are trained on"


SECTION = Section(
    "ngram_bits",
    NgramBitsOptions,
    "Token n-gram models of every tokenizer; their bits per byte compare tokenizers without a language model. Default: "
    "none are trained.",
    mistakes=_mistakes,
    reads=_reads,
)


def budgets(experiment: "Experiment") -> list[str]:
    """Return the bytes of the models' training text, as flags."""
    return [
        word for size in SECTION.or_default(experiment).training_bytes or () for word in ("--training-bytes", str(size))
    ]


def _tokenizers(experiment: "Experiment") -> list[TokenizerTarget]:
    return [] if SECTION.of(experiment) is None else all_tokenizers(experiment)


def _on_others(experiment: "Experiment") -> list[MeasurementTarget]:
    return [] if SECTION.of(experiment) is None else all_measured(experiment)


RUN = "tokbench.commands.bounds:ngram_bits_command"
NGRAM_BITS = stages.add(
    Stage(
        "ngram_bits",
        run=RUN,
        results=(
            Result(
                "ngram_bits",
                "ngram_bits/{variant}/{size}.json",
                _tokenizers,
                "Bits of a tokenizer's token n-gram models",
            ),
        ),
        sections=(SECTION,),
        cites=("chen1999",),
    )
)
NGRAM_BITS_ON = stages.add(
    Stage(
        "ngram_bits_on",
        run=RUN,
        results=(Result("ngram_bits", "ngram_bits/{variant}/{size}/{on}.json", _on_others),),
    )
)
