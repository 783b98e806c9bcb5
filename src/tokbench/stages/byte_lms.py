"""Stages of byte language models: training, scores of bytes, and figures of them."""

from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.models.byte_lm.options import AnyByteLm, ByteNgramOptions
from tokbench.stage import Result, Stage, stages

if TYPE_CHECKING:
    from tokbench.config.experiment import Experiment

LIBRARIES = ("torch", "transformers")
READER = "tokbench.corpus.documents:read_documents"


class ByteLmTarget(NamedTuple):
    """A byte language model of a corpus."""

    corpus: str
    byte_lm: str


def drawn(experiment: "Experiment") -> list[ByteLmTarget]:
    """Return the models whose scores of sentences are drawn; none if no sentence is configured."""
    if not experiment.report.byte_signals:
        return []
    built = experiment.built.items()
    models = (ByteLmTarget(experiment.corpus_of(name), variant.byte_lm) for name, variant in built if variant.byte_lm)
    return list(dict.fromkeys(models))


def _options(experiment: "Experiment", wildcards: Any) -> AnyByteLm:
    return experiment.byte_lms[wildcards.byte_lm]


def _trainer(experiment: "Experiment", wildcards: Any) -> str:
    counted = isinstance(_options(experiment, wildcards), ByteNgramOptions)
    return "tokbench.models.byte_lm.ngram:train" if counted else "tokbench.models.byte_lm.train:train"


def _scorer(experiment: "Experiment", wildcards: Any) -> str:
    options = _options(experiment, wildcards)
    if isinstance(options, ByteNgramOptions):
        return "tokbench.models.byte_lm.ngram:score"
    return f"tokbench.models.byte_lm.score:{'score_dataset' if options.score_context == 'dataset' else 'score'}"


def _documents(experiment: "Experiment", wildcards: Any) -> list[str]:
    return [READER]


TRAIN = stages.add(Stage("train_byte_lm", run=_trainer, methods=_documents, libraries=LIBRARIES))
SCORE = stages.add(Stage("score_bytes", run=_scorer, methods=_documents, libraries=LIBRARIES))
DRAW_BYTES = stages.add(
    Stage(
        "draw_bytes",
        run="tokbench.commands.language_models:draw_bytes_command",
        results=(Result("", "byte_lm/{corpus}/{byte_lm}/figures", drawn),),
        libraries=LIBRARIES,
    )
)
