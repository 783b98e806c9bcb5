"""Stages of the report: example sentences, figures, typeset tables, page, leaderboard and references."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.config.targets import SingleTarget, TokenizerTarget, single_target
from tokbench.options import canonical
from tokbench.pretokenization import pretokenization_of
from tokbench.stage import Result, Stage, stages
from tokbench.tokenizer.folder import OWN

if TYPE_CHECKING:
    from tokbench.config.experiment import Experiment

TOKENIZERS = 12
"""Maximum tokenizers per sentence: the baseline, then the first in the configuration."""
CORPORA = 24
"""Maximum corpora with sentences, the first in the configuration."""


@dataclass(frozen=True)
class ExampleTargets:
    """The example sentences of one experiment's report."""

    experiment: "Experiment"

    @property
    def corpora(self) -> list[str]:
        """Corpora of text from which variants are built."""
        built = dict.fromkeys(map(self.experiment.corpus_of, self.experiment.variants))
        return [corpus for corpus in built if not self.experiment.corpora[corpus].counted][:CORPORA]

    @property
    def any(self) -> bool:
        """Whether there is a sentence to show."""
        return bool(self.corpora or self.experiment.report.examples)

    def of(self, corpus: str) -> list[TokenizerTarget]:
        """Return the tokenizers for the sentences of a corpus."""
        own = (variant for variant in self.experiment.variants if self.experiment.corpus_of(variant) == corpus)
        return self._first([self.experiment.baselines()[corpus], *own])

    @property
    def shown(self) -> list[TokenizerTarget]:
        """Tokenizers for the user's sentences."""
        if not self.experiment.report.examples:
            return []
        return self._first([*self.experiment.baselines().values(), *self.experiment.variants])

    @property
    def tokenizers(self) -> list[TokenizerTarget]:
        """All tokenizers of sentences."""
        return list(dict.fromkeys([*self.shown, *(variant for corpus in self.corpora for variant in self.of(corpus))]))

    @property
    def recipe(self) -> str:
        """Tokenizers of each group of sentences."""
        return canonical(
            {
                "examples": self.experiment.report.examples,
                "shown": _named(self.shown),
                "corpora": {corpus: _named(self.of(corpus)) for corpus in self.corpora},
            }
        )

    def shards(self, wildcards: Any, input: Any) -> list[str]:
        """Return the first shard of each corpus's evaluation split, as flags."""
        folders = [input.corpus] if isinstance(input.corpus, str) else input.corpus
        return [
            word
            for corpus, folder in zip(self.corpora, folders, strict=True)
            for word in ("--shard", f"{corpus}={folder}/evaluation/0000.parquet")
        ]

    def _first(self, variants: Iterable[str]) -> list[TokenizerTarget]:
        """Return variants at the largest size of the first built one, or at their own largest size if they lack it."""
        names = list(dict.fromkeys(variants))[:TOKENIZERS]
        built = {
            name: self.experiment.built[name].sizes or self.experiment.sizes
            for name in names
            if name in self.experiment.built
        }
        wanted = max(next(iter(built.values()), [0]))
        largest = {name: wanted if wanted in sizes else max(sizes) for name, sizes in built.items()}
        return [TokenizerTarget(name, largest.get(name, OWN)) for name in names]


def _named(tokenizers: Iterable[TokenizerTarget]) -> list[str]:
    return [f"{tokenizer.variant}/{tokenizer.size}" for tokenizer in tokenizers]


@dataclass(frozen=True)
class ValidatedCorpora:
    """The corpora of one experiment that its tokenizers are built from and measured on."""

    experiment: "Experiment"

    @property
    def documents(self) -> list[str]:
        """Corpora with documents."""
        return [name for name in self.experiment.measured_corpora() if not self.experiment.corpora[name].counted]

    @property
    def counts(self) -> list[str]:
        """Files of the corpora of counts, relative to the folder of counts and without their ending."""
        pairs = (
            f"{corpus}/{split}/{pretokenization_of(variant.pretokenization).slug}"
            for name, variant in self.experiment.built.items()
            for corpus in (self.experiment.corpus_of(name), *self.experiment.measured_on_of(name))
            if self.experiment.corpora[corpus].counted
            for split in (("tokenizer", "evaluation") if corpus == self.experiment.corpus_of(name) else ("evaluation",))
        )
        return list(dict.fromkeys(pairs))


def report_settings(experiment: "Experiment") -> dict[str, Any]:
    """Return the configuration in its order, with presets expanded and without defaults."""
    return {"configuration": experiment.model_dump(mode="json", exclude_unset=True)}


def _with_examples(experiment: "Experiment") -> list[SingleTarget]:
    return single_target(experiment) if ExampleTargets(experiment).any else []


CUT_EXAMPLES = stages.add(
    Stage(
        "cut_examples",
        run="tokbench.commands.reports:cut_examples_command",
        results=(Result("", "examples", _with_examples),),
    )
)
DRAW = stages.add(
    Stage("draw", run="tokbench.commands.reports:draw_command", results=(Result("", "figures", single_target),)),
)
TYPESET = stages.add(
    Stage("typeset", run="tokbench.commands.reports:typeset_command", results=(Result("", "typeset", single_target),)),
)
REPORT = stages.add(
    Stage(
        "report",
        run="tokbench.commands.reports:report_command",
        results=(Result("", "report.html", single_target),),
        settings=report_settings,
    )
)
LEADERBOARD = stages.add(
    Stage(
        "leaderboard",
        run="tokbench.commands.reports:leaderboard_command",
        results=(Result("", "leaderboard.json", single_target), Result("", "leaderboard.csv", single_target)),
    )
)
CITE = stages.add(
    Stage("cite", run="tokbench.commands.reports:cite_command", results=(Result("", "references.bib", single_target),)),
)
PUBLISHED = stages.add(Stage("published", run="tokbench.commands.reports:published_command"))
