"""Scores of translations: BLEU and chrF by sacrebleu, and COMET by its package if a local model is given."""

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.io.identity import Makers, TextDigest, made_from, makers_of_metadata
from tokbench.io.json import write_result
from tokbench.io.parquet import parquet, read_rows, require, strings
from tokbench.statistics.comparisons.translations import CHRF_ORDER, Score, bleu, chrf, mean, resample_scores

NEAR = 1e-6
"""Largest difference between a score from counts and sacrebleu's own."""
Statistics = Callable[[str, str], list[int]]
"""Function that counts the statistics of a score, for a translation and its reference."""


class TranslatedSplit(NamedTuple):
    """A translated split, sentence by sentence, and the digests of the model and its tokenizers."""

    pairs: list[int]
    source: list[str]
    reference: list[str]
    translation: list[str]
    makers: Makers


def score(
    translations: Path, output: Path, names: dict[str, str | int], tokenizer: str = "13a", comet: Path | None = None
) -> dict[str, float]:
    """Score a translated split and write one JSON file with scores, 95 % intervals, and scores of every sentence.

    Intervals are from the bootstrap over sentences, with 1,000 resamples. Each sentence has its BLEU (with effective
    order) and chrF, and the integer counts from which BLEU and chrF of any sample are computed.

    Args:
        translations: file written by ``tokbench translate``.
        output: the JSON file.
        names: names of model, languages and tokenizers in tables.
        tokenizer: sacrebleu's tokenizer for BLEU. Default: ``13a``.
        comet: local checkpoint of a COMET model. Default: None, no COMET.

    Returns:
        The scores by metric.

    Raises:
        TokbenchError: the file contains no translations, or COMET is requested but not installed or unreadable.
    """
    translated = _read(translations)
    if not translated.pairs:
        raise TokbenchError(f"{translations}: no sentences; translate a split that has some")
    sentences: dict[str, list[Any]] = {"pair": list(translated.pairs), "translation": list(translated.translation)}
    scores = []
    # BLEU and chrF, from counts of each sentence that add up to those of the corpus.
    for name, metric, combine, statistics in metrics(tokenizer):
        corpus = metric.corpus_score(translated.translation, [translated.reference])
        pairs = zip(translated.translation, translated.reference, strict=True)
        sentence_counts = np.array([statistics(translation, reference) for translation, reference in pairs], np.int64)
        value = float(combine(sentence_counts.sum(0)))
        if abs(value - corpus.score) > NEAR:
            raise TokbenchError(f"{name}: {value} from sentences, {corpus.score} by sacrebleu; install sacrebleu 2.6")
        scores.append(_score_row(name, value, resample_scores(sentence_counts, combine), str(metric.get_signature())))
        single = combine if name == "chrF" else None
        sentences[name] = (
            [float(of_sentence) for of_sentence in single(sentence_counts)]
            if single
            else _sentence_bleu(translated, tokenizer)
        )
        sentences[f"{name} statistics"] = sentence_counts.tolist()
    # COMET, a mean over sentences.
    if comet is not None:
        comet_scores = _comet(comet, translated)
        with_count = np.stack([comet_scores, np.ones(len(comet_scores))], 1)
        scores.append(_score_row("COMET", float(comet_scores.mean()), resample_scores(with_count, mean), comet.name))
        sentences["COMET"] = comet_scores.tolist()
    # Name the text that was translated.
    text = TextDigest()
    for sentence in (*translated.source, *translated.reference):
        text.add(sentence.encode())
    makers = made_from(**translated.makers, text=text.hexdigest())
    record = {**names, **makers, "n": len(translated.pairs), "scores": scores, "sentences": sentences}
    write_result(output, record)
    return {row["metric"]: row["value"] for row in scores}


def _score_row(metric: str, value: float, samples: NDArray[np.float64], signature: str) -> dict[str, Any]:
    low, high = np.quantile(samples, [0.025, 0.975]).tolist()
    return {"metric": metric, "value": value, "low": low, "high": high, "signature": signature}


def metrics(tokenizer: str = "13a") -> list[tuple[str, Any, Score, Statistics]]:
    """Return the name, sacrebleu's metric, our score of summed counts and a sentence's counts, for BLEU and chrF."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    by_sentence = BLEU(tokenize=tokenizer, effective_order=True)

    def bleu_counts(translation: str, reference: str) -> list[int]:
        score = by_sentence.sentence_score(translation, [reference])
        return [score.sys_len, score.ref_len, *score.counts, *score.totals]

    return [("BLEU", BLEU(tokenize=tokenizer), bleu, bleu_counts), ("chrF", CHRF(), chrf, _chrf_counts)]


def _chrf_counts(translation: str, reference: str) -> list[int]:
    """Return by order the n-grams of the translation, of the reference, and those in common.

    sacrebleu counts no n-grams of the translation for an order that the reference lacks.
    """
    from sacrebleu.metrics.helpers import extract_all_char_ngrams

    counts = []
    ngrams = (extract_all_char_ngrams(text, CHRF_ORDER) for text in (translation, reference))
    for ours, theirs in zip(*ngrams, strict=True):
        counts += [ours.total() if theirs else 0, theirs.total(), (ours & theirs).total()]
    return counts


def _sentence_bleu(translated: TranslatedSplit, tokenizer: str) -> list[float]:
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(tokenize=tokenizer, effective_order=True)
    pairs = zip(translated.translation, translated.reference, strict=True)
    return [float(metric.sentence_score(translation, [reference]).score) for translation, reference in pairs]


def _comet(checkpoint: Path, translated: TranslatedSplit) -> NDArray[np.float64]:
    """Return COMET of each sentence, without network access."""
    if find_spec("comet") is None:
        raise TokbenchError("comet: not installed here: unbabel-comet; install it, or leave comet out")
    if not checkpoint.is_file():
        raise TokbenchError(f"{checkpoint}: no COMET model here; name the checkpoint of one, or leave comet out")
    os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
    try:
        model = import_module("comet").load_from_checkpoint(str(checkpoint))
        rows = [
            {"src": source, "mt": translation, "ref": reference}
            for source, translation, reference in zip(
                translated.source, translated.translation, translated.reference, strict=True
            )
        ]
        return np.array(model.predict(rows, batch_size=8, gpus=0, progress_bar=False).scores, np.float64)
    except Exception as error:
        raise TokbenchError(f"{checkpoint}: COMET cannot be computed ({str(error).partition(chr(10))[0]})") from error


def _read(path: Path) -> TranslatedSplit:
    with parquet(path, "translations", "translate the split again") as file:
        require(file.schema_arrow, pair="whole numbers", source="text", reference="text", translation="text")
        table = read_rows(file)
        source, reference, translation = (
            [cell or "" for cell in strings(table.column(name))] for name in ("source", "reference", "translation")
        )
        makers = makers_of_metadata(table.schema.metadata)
        return TranslatedSplit(table.column("pair").to_pylist(), source, reference, translation, makers)
