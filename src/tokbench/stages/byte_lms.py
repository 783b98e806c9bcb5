"""Stages of byte language models: training, scores of bytes, and figures of them."""

from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.models.byte_lm.options import ByteNgramOptions
from tokbench.stage import Result, Stage, stages

if TYPE_CHECKING:
    from tokbench.config.experiment import Experiment

CODE = "tokbench.models.byte_shards"


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


def _libraries(experiment: "Experiment") -> tuple[str, ...]:
    """Return the libraries of neural models; n-gram models need none."""
    neural = any(model.kind == "neural" for model in experiment.byte_lms.values())
    return ("torch", "transformers") if neural else ()


def _trainer(experiment: "Experiment", wildcards: Any) -> str:
    counted = isinstance(experiment.byte_lms[wildcards.byte_lm], ByteNgramOptions)
    return f"{CODE}:{'train_ngrams' if counted else 'train_neural'}"


def _scorer(experiment: "Experiment", wildcards: Any) -> str:
    options = experiment.byte_lms[wildcards.byte_lm]
    if isinstance(options, ByteNgramOptions):
        return f"{CODE}:score_ngrams"
    return f"{CODE}:{'score_joined_documents' if options.score_context == 'dataset' else 'score_documents'}"


TRAIN = stages.add(Stage("train_byte_lm", run=_trainer, libraries=_libraries))
SCORE = stages.add(Stage("score_bytes", run=_scorer, libraries=_libraries))
DRAW_BYTES = stages.add(
    Stage(
        "draw_bytes",
        run="tokbench.commands.language_models:draw_bytes_command",
        results=(Result("", "byte_lm/{corpus}/{byte_lm}/figures", drawn),),
        libraries=_libraries,
    )
)
