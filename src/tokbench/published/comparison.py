"""Published numbers compared with those of a run, for cells that both have.

Cells correspond if recipe and vocabulary size are equal: pre-tokenizer, construction with its initial vocabulary,
segmentation, and the options that distinguish the paper's variants. Language models correspond if width and layers are
the paper's, and also the budget if variants differ only in it. Corpora are named on both sides. Sums over a corpus, and
tables of papers with several corpora, are compared only if the corpora have the same name.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import polars as pl

from tokbench.published import facts
from tokbench.tabulation.columns import SIZE, VARIANT
from tokbench.tabulation.table import MEASURE, Column, Print, TidyTable

MODELS = {
    "pathpiece": {"350M": (1024, 24), "1.3B": (2048, 24), "2.4B": (2560, 32)},
    "greedtok": {"1B": (1536, 40)},
}
"""Width and layers of the papers' language models: appendix B of "Tokenization Is More Than Compression" and the
released models, section 5.2 of "A Partition Cover Approach to Tokenization"."""
SCALES = {"billions": 1e9, "percent": 0.01}


@dataclass(frozen=True)
class Measure:
    """Metric of a run that corresponds to a paper's metric.

    Attributes:
        metric: name of the metric in a run.
        definition: regular expression for its full definition (default: any).
        same_corpus: True if values are comparable only on the same corpus (default: False).
    """

    metric: str
    definition: str = ".*"
    same_corpus: bool = False

    def fits(self, metric: str, definition: str) -> bool:
        """Return True if a row of the intrinsic table has this measure."""
        return metric == self.metric and re.fullmatch(self.definition, definition) is not None


Row = Mapping[str, Any]
RENYI = ("1.5", "2", "2.5", "3", "3.5")
NOMINAL, SEEN = r"entropy / log\(nominal.*", r"entropy / log\(number of types.*"
MEASURES = {
    ("pathpiece", "corpus_token_count"): Measure("corpus_token_count", same_corpus=True),
    **{("pathpiece", f"renyi_efficiency_{a}"): Measure(f"renyi_efficiency_{a}", NOMINAL) for a in RENYI},
    ("bytespan", "renyi_efficiency_2.5"): Measure("renyi_efficiency_2.5", SEEN),
    ("bytespan", "fertility"): Measure("fertility", r"tokens / \(spaces \+ line feeds\)"),
    ("bytespan", "morphological_alignment"): Measure("morphological_alignment", ".*; mean over the resources .*"),
    ("bytespan", "cognitive_plausibility"): Measure("cognitive_plausibility"),
    ("greedtok", "tokens_per_word"): Measure("fertility", "tokens / pre-tokens", same_corpus=True),
    ("greedtok", "unigram_objective"): Measure("unigram_objective", same_corpus=True),
    ("picky_bpe", "mean_token_length"): Measure(
        "mean_token_length", "characters .* / tokens of the vocabulary", same_corpus=True
    ),
    ("picky_bpe", "word_initial_share"): Measure(
        "word_initial_share", "tokens that begin with a space / tokens of the vocabulary", same_corpus=True
    ),
    ("picky_bpe", "removed_tokens"): Measure("removed_tokens", same_corpus=True),
}
"""Measures by paper and metric; other metrics have no counterpart in a run."""


def compare_cells(
    intrinsic: pl.DataFrame, accuracy: pl.DataFrame, texts: pl.DataFrame, experiment: Mapping[str, Any]
) -> pl.DataFrame:
    """Return published numbers with the corresponding values of a run.

    Args:
        intrinsic: table of intrinsic metrics.
        accuracy: table of accuracies, as shares.
        texts: table of texts, in bits per byte.
        experiment: full recipes. ``variants`` maps names to ``corpus``, ``pretokenization``, ``construction``,
            ``segmentation``, or to ``from`` for external tokenizers, which are never a paper's. ``models`` maps names
            to options.

    Returns:
        One row per published number that the run has, too: ``variant``, ``size``, ``measure``, ``ours``, ``published``
        (accuracies as shares), ``ours_on`` and ``published_on`` (corpus or model), ``source`` (paper and table).
    """
    rows: list[dict[str, Any]] = []
    built = {name: recipe for name, recipe in experiment.get("variants", {}).items() if "from" not in recipe}
    for variant, recipe in built.items():
        for theirs in facts.variants().iter_rows(named=True):
            if same_recipe(recipe, theirs):
                rows += _intrinsic_rows(intrinsic.filter(variant=variant), theirs)
                matching_models = partial(_same_models, experiment.get("models", {}), theirs)
                rows += _accuracy_rows(accuracy.filter(variant=variant), matching_models, theirs)
                rows += _text_rows(texts.filter(variant=variant), matching_models, theirs)
    return PUBLISHED_VALUES.frame(rows).sort("variant", "size", "measure", "ours_on", "source")


def same_recipe(recipe: Mapping[str, Any], theirs: Mapping[str, str]) -> bool:
    """Return True if a full recipe is the paper's variant, a row of :func:`tokbench.published.facts.variants`."""
    construction, segmentation = recipe["construction"], recipe["segmentation"]
    options = dict(item.split("=") for item in theirs["options"].split(";") if item)
    return (
        recipe["pretokenization"] in theirs["pretokenization"].split("|")
        and construction["method"] == theirs["construction"]
        and (not theirs["initial"] or construction.get("initial") == theirs["initial"])
        and (not theirs["segmentation"] or segmentation["method"] in theirs["segmentation"].split("|"))
        and all(_option(recipe, path) == value for path, value in options.items())
    )


def _option(recipe: Mapping[str, Any], path: str) -> str:
    phase, _, option = path.partition(".")
    return str(recipe[phase].get(option, ""))


def _intrinsic_rows(ours: pl.DataFrame, theirs: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield rows of intrinsic metrics, for the full corpus."""
    whole = ours.filter(pl.col("language") == "").drop_nulls("value")
    printed = facts.cells().filter(paper=theirs["paper"], variant=theirs["variant"])
    for cell in printed.iter_rows(named=True):
        measure = MEASURES.get((cell["paper"], cell["metric"]))
        if measure is None:
            continue
        for row in whole.filter(size=cell["size"], metric=measure.metric).iter_rows(named=True):
            if not measure.fits(row["metric"], row["definition"]):
                continue
            if measure.same_corpus and cell["corpus"] != row["corpus"]:
                continue
            yield {
                "variant": row["variant"],
                "size": row["size"],
                "measure": f"{cell['metric']} ({row['definition']})",
                "ours": row["value"],
                "published": float(cell["value"]) * SCALES.get(cell["unit"], 1.0),
                "ours_on": row["corpus"],
                "published_on": cell["corpus"],
                "source": _source(cell),
            }


def _accuracy_rows(
    ours: pl.DataFrame, matching_models: Callable[[str], list[str]], theirs: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield rows of accuracies under the paper's models."""
    names = dict(facts.tasks().filter(paper=theirs["paper"]).select("task", "lm_eval").iter_rows())
    for cell in _of_models("accuracy", theirs):
        rows = ours.filter(
            pl.col("model").is_in(matching_models(cell["model"])), size=cell["size"], task=names[cell["task"]]
        )
        for row in rows.drop_nulls("accuracy").iter_rows(named=True):
            values = {"ours": row["accuracy"], "published": float(cell["value"]) / 100}
            yield _model_row(row, cell, f"accuracy of {row['task']}") | values


def _text_rows(
    ours: pl.DataFrame, matching_models: Callable[[str], list[str]], theirs: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield rows of bits per byte of texts under the paper's models."""
    for cell in _of_models("bits_per_byte", theirs):
        rows = ours.filter(
            pl.col("model").is_in(matching_models(cell["model"])), size=cell["size"], text=cell["corpus"]
        )
        for row in rows.drop_nulls("value").iter_rows(named=True):
            values = {"ours": row["value"], "published": float(cell["value"])}
            yield _model_row(row, cell, f"bits per byte of {row['text']}") | values


def _model_row(row: Row, cell: Row, measure: str) -> dict[str, Any]:
    """Return the columns of a number under a language model, without ``ours`` and ``published``."""
    return {
        "variant": row["variant"],
        "size": row["size"],
        "measure": measure,
        "ours_on": f"{row['model']}, {row['suite']}",
        "published_on": cell["model"],
        "source": _source(cell),
    }


def _of_models(metric: str, theirs: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield published cells of a variant's language models."""
    known = list(MODELS.get(theirs["paper"], ()))
    printed = facts.cells().filter(pl.col("model").is_in(known), paper=theirs["paper"], metric=metric)
    return printed.filter(variant=theirs["variant"]).iter_rows(named=True)


def _same_models(models: Mapping[str, Mapping[str, Any]], theirs: Mapping[str, str], model: str) -> list[str]:
    """Return our models with the paper's width and layers, and its budget if that distinguishes variants."""
    shape, budget = MODELS[theirs["paper"]][model], theirs["budget"]
    return [name for name, options in models.items() if _shape(options) == shape and _has_budget(options, budget)]


def _has_budget(options: Mapping[str, Any], budget: str) -> bool:
    """Return True if a model's budget is one of those given, see :func:`tokbench.published.facts.variants`."""
    for limit in budget.split("|"):
        option, _, value = limit.partition("=")
        given_value = options.get(option)
        if not option or (given_value is not None and value in ("", str(given_value))):
            return True
    return False


def _shape(options: Mapping[str, Any]) -> tuple[Any, Any]:
    return options.get("d_model"), options.get("n_layers")


def _source(cell: Mapping[str, str]) -> str:
    return f"{facts.PAPERS[cell['paper']]}, {cell['where']}"


PUBLISHED_VALUES = TidyTable(
    "published",
    "a published number that the run has, too",
    (
        VARIANT,
        replace(SIZE, empty="not measured in this run"),
        Column(
            "measure",
            pl.String,
            "metric and definition, accuracy of a task, or bits per byte of a text",
        ),
        Column("ours", pl.Float64, "this run's value", MEASURE, "ours", empty="not measured in this run"),
        Column("published", pl.Float64, "the paper's value", MEASURE, "published (theirs)", empty="not published"),
        Column("ours_on", pl.String, "corpus, or model and suite, of this run", heading="ours on"),
        Column("published_on", pl.String, "corpus or model of the paper", heading="theirs on"),
        Column("source", pl.String, "paper, and table or section"),
    ),
    maker=compare_cells,
    takes=("intrinsic", "model_accuracies", "texts", "experiment"),
    prints=(
        Print(
            "published",
            "Published values, marked as theirs, next to the same measure of the same recipe and size in this run; "
            "accuracies as shares. Corpora differ if their names do.",
            arranged=True,
        ),
    ),
)
