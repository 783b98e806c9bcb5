"""The disk that an experiment will take, estimated from its configuration before it starts.

Corpora lie there as compressed text. Packed sequences are the bulk of an experiment with language models; they and
checkpoints go once their model is done. What a corpus that is fetched first will take is not known.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tokbench.config.experiment import Experiment
from tokbench.config.sections import Size
from tokbench.corpus.parallel.sources import HubPairs
from tokbench.corpus.sources import EmbeddedSource, FileSource, ParallelSource, files_of
from tokbench.inputs.endings import compression_named, has_kind
from tokbench.model_memory import lm_parameters
from tokbench.workflow.pretraining import vocabulary_of
from tokbench.workflow.translation import Translations

TEXT_OF_PACKED = 3.0
"""Text of a compressed file over its size: gzip and zstd of prose and of code, 2.5 to 3.5."""
EMBEDDED_BYTES = 2_200_000
"""Text that CPython 3.11 carries."""
STORED = 0.4
"""Shards of a corpus over their text: .36 on the embedded corpus, .38 on novels."""
TOKEN_BYTES = 4
"""A token in packed sequences."""
BYTES_PER_TOKEN = 3.0
"""Text of a token: 2.5 at a size of 1,024 on the embedded corpus, 4 and more above 30,000."""
WEIGHT_BYTES = 4
STATE_BYTES = 12
"""A parameter in a checkpoint: its weight and the optimizer's two moments."""
CHECKPOINTS = 2
"""Of a training: one is whole before the other goes."""


@dataclass(frozen=True)
class Disk:
    """Bytes that an experiment will take, by kind.

    Attributes:
        corpora: prepared text.
        packed: packed sequences of all trainings; gone when these are done.
        models: weights of language models and translation models, those of kept checkpoints too.
        checkpoints: states of all trainings; gone like packed sequences.
        unknown: corpora of which nothing is known before they are fetched.
        unpacked: those of them that language models are trained on.
    """

    corpora: float
    packed: float
    models: float
    checkpoints: float
    unknown: tuple[str, ...] = ()
    unpacked: tuple[str, ...] = ()

    @property
    def kept(self) -> float:
        """What stays."""
        return self.corpora + self.models

    @property
    def most(self) -> float:
        """What it comes to if all models are trained at once."""
        return self.kept + self.packed + self.checkpoints

    def line(self, free: int) -> str:
        """One line for a person, who has so many bytes free."""
        told = f"disk: {'at least' if self.unknown else 'about'} {shown(self.kept)} that stay"
        if more := self.packed + self.checkpoints:
            told += f", at most {shown(more)} more while models are trained"
        if self.packed:
            told += f", {shown(self.packed)} of it packed sequences"
        told += f"; {shown(free)} are free"
        if self.unknown:
            told += f"; not counted what is fetched for {', '.join(self.unknown)}"
        if self.unpacked:
            told += f", and packed sequences of {', '.join(self.unpacked)}"
        return told + ("; free some, or name another folder under 'results'" * (self.most > free))


def disk(experiment: Experiment) -> Disk:
    """Estimate what an experiment will take."""
    texts = {name: _text(experiment, name) for name in experiment.corpora}
    models = dict(_models(experiment))
    counts = [lm_parameters(experiment.models[model], vocabulary_of(size)) for model, _, size in models]
    kept = [1 + len(experiment.models[model].evaluate_at) for model, _, size in models]
    translations = Translations(experiment)
    translators = [(translations.parameters(one), translations.keeps_best(one)) for one in translations.trained]
    weights = sum(count * times for count, times in zip(counts, kept, strict=True))
    weights += sum(count for count, _ in translators)
    states = STATE_BYTES * sum(counts) + sum((STATE_BYTES + WEIGHT_BYTES * best) * count for count, best in translators)
    return Disk(
        corpora=sum(STORED * text for text in texts.values() if text),
        packed=sum(
            TOKEN_BYTES / BYTES_PER_TOKEN * (texts[corpus] or 0.0) * _share(experiment, corpus, "pretraining")
            for corpus in models.values()
        ),
        models=float(WEIGHT_BYTES * weights),
        checkpoints=float(CHECKPOINTS * states),
        unknown=tuple(name for name, text in texts.items() if text is None),
        unpacked=tuple(name for name, text in texts.items() if text is None and name in models.values()),
    )


def free(folder: str) -> int:
    """Bytes free where a folder is, or will be."""
    path = Path(folder).absolute()
    return shutil.disk_usage(next(above for above in (path, *path.parents) if above.exists())).free


def shown(size: float) -> str:
    """Bytes for a person."""
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 1000:
            return f"{size:.{int(size < 10)}f} {unit}"
    return f"{size / 1000:.1f} TB"


def _models(experiment: Experiment) -> Iterator[tuple[tuple[str, str, Size], str]]:
    for run in experiment.runs:
        yield from experiment.corpora_of(run).items()


def _text(experiment: Experiment, corpus: str) -> float | None:
    """Bytes of a corpus's text; None where it must be fetched first."""
    source = experiment.corpora[corpus].source
    if isinstance(source, EmbeddedSource):
        return EMBEDDED_BYTES
    if isinstance(source, ParallelSource):
        train = experiment.parallel_corpora[source.corpus].train
        if isinstance(train, HubPairs):
            return None
        files = train.files()
    elif isinstance(source, FileSource):
        files = files_of(source)
    else:
        return None
    return sum(file.stat().st_size * (TEXT_OF_PACKED if _is_packed(file.name) else 1.0) for file in files)


def _is_packed(name: str) -> bool:
    return compression_named(name) is not None or has_kind(name, "parquet")


def _share(experiment: Experiment, corpus: str, split: str) -> float:
    share = {str(name): share for name, share in experiment.corpora[corpus].splits.items()}.get(split, 0.0)
    return _share(experiment, corpus, share) if isinstance(share, str) else share
