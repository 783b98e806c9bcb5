"""Columns that several tables share, and limits on the number of variants compared, drawn and printed."""

from dataclasses import replace

import polars as pl

from tokbench.tabulation.table import DIFFERENCE, PROBABILITY, SHARE, Column

VARIANT = Column("variant", pl.String, "name of the tokenizer's recipe in the configuration")
SIZE = Column(
    "size", pl.Int64, "requested vocabulary size; for an external tokenizer, the tokens that text can produce",
    "tokens",
)  # fmt: skip
MODEL = Column("model", pl.String, "name of the language model's recipe; siblings by seed share a name in statistics")
SUITE = Column("suite", pl.String, "name of the set of tasks")
TASK = Column("task", pl.String, "name of the task")
REASON = Column("reason", pl.String, "reason why a value is missing or incomplete")

CORPUS = Column("corpus", pl.String, "text or gold data that was measured; “all resources” for means over gold data")
LANGUAGE = Column("language", pl.String, "language of the text; empty for all languages")
METRIC = Column("metric", pl.String, "name of the metric")
DEFINITION = Column(
    "definition", pl.String, "exact definition of the metric: words counted, denominator, variant of the formula"
)

ACCURACY = (
    VARIANT,
    SIZE,
    MODEL,
    SUITE,
    TASK,
    Column(
        "accuracy", pl.Float64, "share of questions answered right", SHARE, "accuracy (%)",
        empty="scored without an accuracy",
    ),
    Column(
        "random_baseline", pl.Float64, "expected accuracy of guessing", SHARE, "random (%)",
        empty="the task has none",
    ),
    Column("n", pl.Int64, "questions of the task", "questions"),
)  # fmt: skip
"""Columns of the table of accuracies that statistics use. A missing cell is a null or NaN accuracy, or no row."""

INTRINSIC = (
    VARIANT,
    SIZE,
    CORPUS,
    LANGUAGE,
    METRIC,
    DEFINITION,
    Column("value", pl.Float64, "measured value, in the unit of its definition"),
    Column("n", pl.Int64, "number of items that the value is computed from"),
    REASON,
)
"""Columns of measurements, one per row."""

DOCUMENT = Column("document", pl.Int64, "number of the question, the same for all models")
GROUP = Column("group", pl.String, "part of the task; empty for a task without parts")
CORRECT = Column("correct", pl.Boolean, "true if the model prefers a right choice")
OUTCOME = (MODEL, SUITE, VARIANT, SIZE, TASK, DOCUMENT, CORRECT)
"""Columns of the table of outcomes that statistics use."""

SOURCE_CORPUS = Column(
    "source_corpus", pl.String, "corpus whose evaluation split the questions are made from; empty for other questions",
    "", "questions from",
)  # fmt: skip

QUESTION_MEASURES = (
    MODEL,
    VARIANT,
    SIZE,
    SUITE,
    TASK,
    DOCUMENT,
    GROUP,
    SOURCE_CORPUS,
    Column("source_document", pl.Int64, "position in its source of the document that the question is made from; "
           "empty for questions from other sources"),
    Column("bytes", pl.Int64, "bytes of the right choice, with the white space before it", "bytes",
           empty="several choices are right, or the result has no bytes of choices"),
    CORRECT,
    Column("bits_per_byte", pl.Float64, "-log2 of the right choice's probability after the context / its bytes",
           "bits per byte", empty="several choices are right, or the result has no bytes of choices"),
    Column("probability", pl.Float64, "probability of the right choice, normalised over the choices", SHARE,
           empty="the question has one choice, or several right ones, or the result has no bytes of choices"),
    Column("divided_by", pl.String, "bytes if log-likelihoods are divided by the bytes of their choices before "
           "they are normalised, as the task is scored by length; otherwise empty"),
)  # fmt: skip
"""Columns of the measures of questions, which statistics use."""

TEXT = (
    MODEL,
    VARIANT,
    SIZE,
    SUITE,
    Column("text", pl.String, "name of the text"),
    Column("value", pl.Float64, "bits / bytes of the text as distributed", "bits per byte", "bits per byte"),
)
"""Columns of the table of texts that statistics use."""

AVERAGE = Column(
    "average", pl.Float64, "mean accuracy, unweighted over cells (vocabulary size and task)", SHARE, "average (%)", 2
)
CELLS = Column("cells", pl.Int64, "cells averaged", "cells")
QUESTIONS = Column("questions", pl.Int64, "questions that the value is computed from", "questions")
A = Column("a", pl.String, "one of two variants")
B = Column("b", pl.String, "the other variant")
P_VALUE = Column("p_value", pl.Float64, "p-value of the test", PROBABILITY, "p")
HOLM = Column(
    "holm", pl.Float64, "p-value after Holm's correction over all tests of this model and suite in this table",
    PROBABILITY, "p, Holm",
)  # fmt: skip
BENJAMINI_HOCHBERG = Column(
    "benjamini_hochberg", pl.Float64, "p-value after Benjamini and Hochberg's correction over the same tests",
    PROBABILITY, "p, BH",
)  # fmt: skip
MEAN_DIFFERENCE = Column(
    "mean_difference", pl.Float64, "mean accuracy of a minus that of b", DIFFERENCE, "a − b (points)", 2
)
LOW = Column("low", pl.Float64, "lower end of the 95 % interval of the mean", DIFFERENCE, decimals=2)
HIGH = Column("high", pl.Float64, "upper end of this interval", DIFFERENCE, decimals=2)
MISSING = Column("missing", pl.Int64, "cells left out because only one of the two variants has them", "cells")
TOKENS = (
    VARIANT,
    SIZE,
    CORPUS,
    Column("document", pl.Int64, "position of the document in its source; for a group, that of its first document"),
    Column("documents", pl.Int64, "documents in the group; 1 for a single document", "documents"),
    Column("bytes", pl.Int64, "bytes of their text", "bytes"),
    Column("tokens", pl.Int64, "tokens of their text, without ends", "tokens"),
)
DOCUMENT_DOMAINS_COLUMNS = (
    CORPUS,
    Column("document", pl.Int64, "position of the document in the shuffled mixture"),
    Column("domain", pl.String, "name of its source; empty for a single one"),
    Column("unit", pl.String, "unit that it belongs to, such as an author", empty="a document is a unit"),
)
"""Columns of the domains and units of documents that are drawn."""
EXTERNAL_TOKENS_COLUMNS = (
    VARIANT,
    SIZE,
    CORPUS,
    Column("language", pl.String, "language of the document; empty if no document of the corpus has one"),
    *TOKENS[3:6],
    Column("characters", pl.Int64, "Unicode characters of their text", "characters"),
    Column("words", pl.Int64, "words of their text: runs of characters other than white space", "words"),
    Column("lines", pl.Int64, "lines of their text that are not blank", "lines"),
    TOKENS[6],
    Column("documents_changed", pl.Int64, "documents that decoding does not return byte for byte", "documents"),
)
"""Columns of token counts of external tokenizers by language."""
BOUNDARIES = (
    VARIANT,
    SIZE,
    CORPUS,
    Column("word", pl.Int64, "position of the word in the gold data, from 0; for a group, that of its first word"),
    Column("words", pl.Int64, "words in the group; 1 for a single word", "words"),
    Column("right", pl.Int64, "token boundaries that are morpheme boundaries", "boundaries"),
    Column("wrong", pl.Int64, "token boundaries that are not morpheme boundaries", "boundaries"),
    Column("missed", pl.Int64, "morpheme boundaries that are not token boundaries", "boundaries"),
)
KIND = Column("kind", pl.String, "kind of perturbation of a word, a space or a number")
EDITS = Column("edits", pl.Int64, "units changed in the text, such as words with a typo", "edits")
PERTURBED = (
    VARIANT,
    SIZE,
    CORPUS,
    KIND,
    Column("document", pl.Int64, "position of the document in its source"),
    EDITS,
    Column("tokens", pl.Int64, "tokens of the lines with an edit, before the edits", "tokens"),
    Column("added", pl.Int64, "tokens of these lines after the edits minus tokens before", "tokens"),
    Column(
        "changed", pl.Int64, "edit distance of their tokens: fewest insertions, deletions and replacements", "tokens"
    ),
)
"""Columns of documents with perturbed lines."""
_UNCHANGED = "the perturbation does not change the question"
_BITS = "-log2 of the right choice's probability after the {} question / its bytes"
TOKEN_SCORES = (
    VARIANT,
    SIZE,
    MODEL,
    CORPUS,
    Column("rank", pl.Int64, "place in the order of addition, from the end of the vocabulary: -1 is the last token in "
           "it, 0 the first outside"),
    Column("token", pl.String, "bytes of the token, in hexadecimal"),
    Column("occurrences", pl.Int64, "occurrences in the text as segmented by the longer vocabulary", "occurrences"),
    Column("scored", pl.Int64, "occurrences that tokens of the model begin and end with", "occurrences"),
    Column("bits", pl.Float64, "summed log-probability (base 2) of the scored occurrences, given the text before",
           "bits"),
    Column("uniform_bits", pl.Float64, "the same sum if all tokens were equally probable, as before training", "bits"),
)  # fmt: skip
"""Columns of scored tokens around the end of the vocabulary."""
_NOT_RECORDED = "not in the model's manifest"
TRAINED_ON_COLUMNS = (
    VARIANT,
    SIZE,
    MODEL,
    Column("documents", pl.Int64, "documents read, with repetitions; the last may be incomplete",
           "documents", "documents", empty=_NOT_RECORDED),
    Column("text_bytes", pl.Int64, "bytes of their text", "bytes", "bytes of text",
           empty="not in the model's manifest, or the tokens' bytes are not known"),
    Column("tokens", pl.Int64, "tokens read, including ends of documents", "tokens", "tokens", empty=_NOT_RECORDED),
    Column("sequences", pl.Int64, "sequences of tokens read; the last may be incomplete", "sequences",
           "sequences", empty=_NOT_RECORDED),
    Column("batches", pl.Int64, "batches, each one step of the optimizer", "batches", "batches", empty=_NOT_RECORDED),
    Column("petaflop", pl.Float64, "floating-point operations of the training, from a formula and not measured; "
           "batches are counted as full", "10^15 operations", "PFLOP", empty=_NOT_RECORDED),
)  # fmt: skip
"""Columns of the text that models were trained on, which statistics use."""
CONVERGENCE_COLUMNS = (
    VARIANT,
    SIZE,
    MODEL,
    SUITE,
    Column("share", pl.Float64, "share of the training done", SHARE, "trained"),
    Column("batch", pl.Int64, "batches trained on", "batches"),
    Column("tokens", pl.Int64, "tokens seen", "tokens"),
    Column(
        "accuracy",
        pl.Float64,
        "unweighted mean over the suite's tasks",
        SHARE,
        empty="the suite has no tasks, or one without accuracy",
    ),
    Column("tasks", pl.Int64, "tasks of the suite", "tasks"),
    Column(
        "bits_per_byte",
        pl.Float64,
        "bits per byte of the checkpoint on the evaluation split",
        "bits per byte",
        "bits per byte",
        4,
        empty="the suite did not measure bits per byte",
    ),
)
"""Columns of the scores of checkpoints, which statistics use."""
SEGMENTATION = Column(
    "segmentation", pl.String, "segmentation of the texts into the tokenizer's own tokens: random, characters, or "
    "digits_right (digits in groups of three from the right)",
)  # fmt: skip
_OWN_SEGMENTATION = "with the tokenizer's own segmentation"
SEGMENTED_DOCUMENTS_COLUMNS = (
    MODEL,
    VARIANT,
    SIZE,
    SUITE,
    CORPUS,
    SEGMENTATION,
    Column("document", pl.Int64, "position of the document in its source"),
    LANGUAGE,
    Column("bytes", pl.Int64, "bytes of the document's text", "bytes"),
    Column(
        "own_bits",
        pl.Float64,
        f"bits that the model needs for the document {_OWN_SEGMENTATION}, in windows by bytes",
        "bits",
    ),
    Column("bits", pl.Float64, "bits with the other segmentation, in the same windows", "bits"),
    Column("own_tokens", pl.Int64, f"tokens {_OWN_SEGMENTATION}", "tokens"),
    Column("tokens", pl.Int64, "tokens with the other segmentation", "tokens"),
)
"""Columns of documents in other segmentations."""
ORDER = Column("order", pl.Int64, "highest order of the model: tokens in its longest n-gram", "tokens")
TRAINING_BYTES = Column(
    "training_bytes", pl.Int64, "bytes of text that the model was trained on", "bytes", "trained on (bytes)"
)
CANNOT = (
    "A context is a few tokens, so longer tokens see more bytes. The numbers order tokenizers; they do not predict "
    "the level that a language model reaches. High orders are sparse: trust differences that appear at every order "
    "from 2 on and at every budget. These models are known to overrate plain Unigram."
)
"""Limits of these numbers, part of every caption."""
PARALLEL = Column("parallel", pl.String, "name of the parallel corpus", heading="corpus")
SOURCE = Column("source_language", pl.String, "source language", heading="from")
TARGET = Column("target_language", pl.String, "target language", heading="to")
TEST = Column("test", pl.String, "name of the test")
TOKENIZERS = Column(
    "tokenizers", pl.String,
    "variant of a joint vocabulary, or the variants of source and target joined by “ + ”",
)  # fmt: skip
TRANSLATION_METRIC = Column("metric", pl.String, "BLEU, chrF or COMET")
SYSTEM = (PARALLEL, SOURCE, TARGET, TEST, MODEL, SIZE)
"""Columns that identify a group of translations that are compared."""
SENTENCES = (
    *SYSTEM,
    TOKENIZERS,
    TRANSLATION_METRIC,
    Column("pair", pl.Int64, "number of the pair in the test's source file"),
    Column("value", pl.Float64, "score of the sentence; BLEU with effective order"),
    Column(
        "statistics", pl.String,
        "integers that are summed over sentences to compute corpus BLEU or chrF, see "
        "tokbench.statistics.comparisons.translations",
        empty="COMET is a mean of the sentences' scores",
    ),
)  # fmt: skip
"""Columns of translated sentences that statistics use."""


def of_share(column: Column) -> Column:
    """Return the column with the unit of a share, for an end of an interval."""
    return replace(column, unit=SHARE)


_SEVERAL = "several choices are right"
PERTURBED_ANSWERS = (
    MODEL,
    VARIANT,
    SIZE,
    SUITE,
    TASK,
    KIND,
    *QUESTION_MEASURES[5:9],
    replace(EDITS, definition="units of the question that are changed, such as words with a typo; 0 if it is left out"),
    Column("bytes", pl.Int64, "bytes of the right choice, with the white space before it", "bytes", empty=_SEVERAL),
    Column("clean_correct", pl.Boolean, "true if the model prefers a right choice after the clean question"),
    Column("correct", pl.Boolean, "true if it does after the perturbed question", empty=_UNCHANGED),
    Column("clean_bits_per_byte", pl.Float64, _BITS.format("clean"), "bits per byte", empty=_SEVERAL),
    Column("bits_per_byte", pl.Float64, _BITS.format("perturbed"), "bits per byte",
           empty=f"{_UNCHANGED}, or {_SEVERAL}"),
)  # fmt: skip
"""Columns of the answers to perturbed questions, which statistics use."""


_SEVERAL = "several choices are right"
SEGMENTED_QUESTIONS_COLUMNS = (
    MODEL,
    VARIANT,
    SIZE,
    SUITE,
    SEGMENTATION,
    TASK,
    DOCUMENT,
    GROUP,
    SOURCE_CORPUS,
    Column("source_document", pl.Int64, "position in its source of the document that the question is made from; "
           "empty for questions from other sources"),
    Column("own_correct", pl.Boolean, f"true if the model prefers a right choice {_OWN_SEGMENTATION}"),
    CORRECT,
    Column("own_bits_per_byte", pl.Float64, f"bits per byte of the right choice {_OWN_SEGMENTATION}", "bits per byte",
           empty=_SEVERAL),
    Column("bits_per_byte", pl.Float64, "bits per byte of the right choice with the other segmentation",
           "bits per byte", empty=_SEVERAL),
)  # fmt: skip
"""Columns of questions in other segmentations."""
