"""Losses of language models that read texts in other segmentations into their tokenizer's own tokens.

A loss is positive if the other segmentation is worse. It is the bits per byte of documents with the other segmentation
minus those with the tokenizer's own, the same for right answers, and the accuracy with the tokenizer's own minus that
with the other. Both segmentations are of the same document or question, so a loss is a mean of paired differences.
Intervals are those of :mod:`tokbench.statistics.comparisons.model_bits` and
:mod:`tokbench.statistics.comparisons.task_measures`: over documents or clusters of questions, and also over seeds if
there are several.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import polars as pl

from tokbench.statistics.comparisons.judgement_columns import judgement_columns
from tokbench.statistics.comparisons.model_bits import DOCUMENTS_EACH, compare_model_bits, groups
from tokbench.statistics.comparisons.pair_selection import SELECTION
from tokbench.statistics.comparisons.question_groups import Measure, question_groups
from tokbench.statistics.comparisons.task_measures import compare_task_measures
from tokbench.statistics.significance.estimate import ratio
from tokbench.statistics.undersized import NO_UNDERSIZED, Undersized
from tokbench.tabulation.columns import CORPUS, MODEL, REASON, SEGMENTATION, SIZE, SUITE, TASK, VARIANT, A, B
from tokbench.tabulation.table import MEASURE, Column, Print, TidyTable

Row = dict[str, Any]
BITS = "bits_per_byte"
ANSWERS = (Measure("accuracy", "loss_of_accuracy", "lowest"), Measure("answer_bits_per_byte", "loss_of_bits", "lowest"))
OWN_COLUMNS = {"accuracy": "own_correct", "answer_bits_per_byte": "own_bits_per_byte"}
"""Column of a question with the value of a measure in the tokenizer's own segmentation."""
KEY = ("corpus", "model", "suite", "size", "segmentation", "task", "measure")
ONE_DOCUMENT = "one document: how much other documents would differ is not known"
NO_CHANGE = "no changed question with a value for every seed"
_CORPUS = replace(
    CORPUS, definition="corpus of the documents, or whose evaluation split questions are made from; empty for others"
)
_TASK = replace(TASK, definition="name of the task; empty for documents, and for the unweighted mean over tasks")
_MEASURE = Column(
    "measure", pl.String, "bits_per_byte: of documents; accuracy; answer_bits_per_byte: bits per byte of right answers"
)
_TWO = "an interval needs two documents, or two clusters of questions"
_TEXTS = Column("texts", pl.Int64, "documents or questions that the segmentation changes", "texts", "texts")


def segmentation_losses(segmented_documents: pl.DataFrame, segmented_questions: pl.DataFrame) -> pl.DataFrame:
    """Return the loss of every variant by each segmentation and measure, with its 95 % interval.

    Args:
        segmented_documents: bits of documents in both segmentations, with a column ``seed`` (null if trained once).
        segmented_questions: answers in both segmentations, with a column ``seed``.

    Returns:
        The columns of :data:`SEGMENTATION_LOSSES`. Rows of questions have a task, which is empty for the mean over
        tasks.
    """
    rows = [*_documents(segmented_documents), *_questions(segmented_questions)]
    return SEGMENTATION_LOSSES.frame(rows).sort(*KEY, "variant", maintain_order=True)


def _documents(frame: pl.DataFrame) -> Iterator[Row]:
    for (kind, variant), part in frame.group_by("segmentation", "variant", maintain_order=True):
        own_groups = groups(part.with_columns(bits=pl.col("own_bits")))
        for of_own, of_loss in zip(own_groups, groups(_lost_bits(part)), strict=True):
            losses, owns = (np.stack(list(group.bits[str(variant)].values())) for group in (of_loss, of_own))
            own_bits, loss = (ratio(bits, of_loss.sizes, trained=True) for bits in (owns, losses))
            assert own_bits is not None
            assert loss is not None
            low, high = loss.ends()
            row = _head((*of_loss.key, kind, "", BITS), variant)
            row |= {"own": own_bits.difference, "other": own_bits.difference + loss.difference}
            row |= {"loss": loss.difference, "low": low, "high": high}
            row |= {"texts": loss.units, "clusters": loss.units, "seeds": len(losses)}
            yield row | {"reason": None if loss.error < inf else ONE_DOCUMENT}


def _head(key: tuple[Any, ...], variant: object) -> Row:
    """Return the columns that identify a loss."""
    return dict(zip(KEY, key, strict=True)) | {"variant": variant}


def _lost_bits(documents: pl.DataFrame) -> pl.DataFrame:
    return documents.with_columns(bits=pl.col("bits") - pl.col("own_bits"))


def _questions(frame: pl.DataFrame) -> Iterator[Row]:
    for (kind,), part in _lost_answers(frame).group_by("segmentation", maintain_order=True):
        for measure in ANSWERS:
            own_measure = replace(measure, column=OWN_COLUMNS[measure.name])
            known = part.drop_nulls([measure.column, own_measure.column])
            own_groups = question_groups(known, own_measure)
            for group, of_own in zip(question_groups(known, measure), own_groups, strict=True):
                for variant in group.variants:
                    losses, owns = group.value(variant), of_own.value(variant)
                    for name, task in [("", None), *((name, number) for number, name in enumerate(group.tasks))]:
                        loss, own_estimate = group.mean(losses, task), of_own.mean(owns, task)
                        lacking = group.lacking(losses) if task is None else None
                        row = _head((*group.key, kind, name, measure.name), variant)
                        if loss is None or own_estimate is None or lacking:
                            yield row | {"seeds": len(losses), "reason": lacking or NO_CHANGE}
                            continue
                        sign = -1 if measure.name == "accuracy" else 1
                        low, high = loss.estimate.ends()
                        row |= {"own": own_estimate.mean, "other": own_estimate.mean + sign * loss.mean}
                        row |= {"loss": loss.mean, "low": low, "high": high, "texts": loss.questions}
                        yield row | {"clusters": loss.clusters, "seeds": loss.seeds, "reason": loss.reason}


def _lost_answers(questions: pl.DataFrame) -> pl.DataFrame:
    return questions.with_columns(
        loss_of_accuracy=pl.col("own_correct").cast(pl.Float64) - pl.col("correct").cast(pl.Float64),
        loss_of_bits=pl.col("bits_per_byte") - pl.col("own_bits_per_byte"),
    )


def compare_segmentation_losses(
    segmented_documents: pl.DataFrame,
    segmented_questions: pl.DataFrame,
    baselines: Mapping[str, str],
    undersized: Undersized = NO_UNDERSIZED,
    unit_names: Mapping[str, str] = DOCUMENTS_EACH,
) -> pl.DataFrame:
    """Compare the losses of every two variants, by each segmentation and measure.

    Args:
        segmented_documents: see :func:`segmentation_losses`.
        segmented_questions: see :func:`segmentation_losses`.
        baselines: baseline by variant.
        undersized: variant and size of undersized vocabularies, which are not tested (default: none).
        unit_names: name of the units of documents by corpus (default: documents).

    Returns:
        The columns of :data:`SEGMENTATION_LOSS_COMPARISONS`, a row for each unordered pair, over the texts that the
        segmentation changes for both. With fewer than three seeds there is no test.
    """
    frames = [pl.DataFrame(schema=SEGMENTATION_LOSS_COMPARISONS.schema)]
    columns = SEGMENTATION_LOSS_COMPARISONS.columns
    names = [column.name for column in columns]
    for (kind,), part in segmented_documents.group_by("segmentation", maintain_order=True):
        compared = compare_model_bits(_lost_bits(part), baselines, undersized, unit_names).rename(
            {"documents": "texts"}
        )
        frames.append(
            compared.with_columns(segmentation=pl.lit(kind), task=pl.lit(""), measure=pl.lit(BITS)).select(names)
        )
    for (kind,), part in _lost_answers(segmented_questions).group_by("segmentation", maintain_order=True):
        compared = compare_task_measures(part, baselines, undersized, measures=ANSWERS)
        compared = compared.rename({"questions": "texts", "source_corpus": "corpus"})
        frames.append(compared.with_columns(segmentation=pl.lit(kind)).select(names))
    return pl.concat(frames).sort(*KEY, "a", "b", maintain_order=True)


SEGMENTATION_LOSSES = TidyTable(
    "segmentation_losses",
    "a measure of a model with a tokenizer that reads texts in another segmentation",
    (
        _CORPUS,
        MODEL,
        SUITE,
        SIZE,
        SEGMENTATION,
        _TASK,
        _MEASURE,
        VARIANT,
        Column("own", pl.Float64, "value with the tokenizer's own segmentation", MEASURE, "own segmentation"),
        Column("other", pl.Float64, "value with the other segmentation, of the same texts", MEASURE,
               "other segmentation"),
        Column("loss", pl.Float64, "paired difference of both, positive if the other segmentation is worse", MEASURE),
        Column("low", pl.Float64, "lower end of the 95 % interval of the loss, over documents or clusters of questions "
               "and, if there are several, seeds", MEASURE, empty=_TWO),
        Column("high", pl.Float64, "upper end of this interval", MEASURE, empty=_TWO),
        _TEXTS,
        Column("clusters", pl.Int64, "documents, or groups of questions as in `task_measures`", "clusters"),
        Column("seeds", pl.Int64, "seeds that the model was trained with", "seeds"),
        REASON,
    ),
    maker=segmentation_losses,
    takes=("segmented_documents", "segmented_questions"),
    keys=("corpus", "model", "suite", "size", "segmentation", "task", "measure", "variant"),
    prints=(
        Print(
            "statistics",
            "Loss in other segmentations, {model} on {suite}: bits per byte of documents, accuracy, and bits per byte "
            "of right answers, of texts in another segmentation into the tokenizer's own tokens. The loss is paired by "
            "document or question, and positive if the other segmentation is worse. The 95 % interval of the loss is "
            "for other texts, and for other seeds if there are several.",
            (
                "corpus", "size", "segmentation", "task", "measure", "variant", "own", "other", "loss", "low", "high",
                "texts", "seeds",
            ),
            by=("model", "suite"),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
SEGMENTATION_LOSS_COMPARISONS = TidyTable(
    "segmentation_loss_comparisons",
    f"two variants at a vocabulary size under a model and suite, by their losses in another segmentation; {SELECTION}",
    (
        _CORPUS,
        MODEL,
        SUITE,
        SIZE,
        SEGMENTATION,
        _TASK,
        _MEASURE,
        A,
        B,
        *(
            replace(column, unit=MEASURE if column.unit == "bits per byte" else column.unit,
                    heading="a − b" if column.name == "difference" else column.heading,
                    definition=column.definition.replace("value of a", "loss of a")
                    .replace("fewer bits", "smaller loss"))
            for column in judgement_columns(
                "seeds and documents or clusters of questions as crossed random effects",
                "all pairs of the corpus, model, suite, size, segmentation and measure; for questions, means over "
                "tasks and single tasks are two families",
            )
        ),
        Column("seeds", pl.Int64, "seeds that both models were trained with", "seeds"),
        replace(_TEXTS, definition="documents or questions that the segmentation changes for both"),
    ),
    maker=compare_segmentation_losses,
    takes=("segmented_documents", "segmented_questions", "baselines", "undersized", "unit_names"),
    keys=("corpus", "model", "suite", "size", "segmentation", "task", "measure", "a", "b"),
    prints=(
        Print(
            "statistics",
            "Losses in other segmentations with a minus those with b, {model} on {suite}, paired by seed and text. "
            "With fewer than three seeds nothing is tested.",
            (
                "corpus", "size", "segmentation", "task", "measure", "a", "b", "difference", "low", "high", "holm",
                "verdict", "excluded", "seeds", "texts",
            ),
            by=("model", "suite"),
            files=(
                "downstream/{model}/{a}/{size}/{suite}.json",
                "downstream/{model}/{b}/{size}/{suite}.json",
            ),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
