"""Hand-made content of a small report: four variants at two sizes, with one model."""

from dataclasses import replace
from functools import cache
from typing import Any

import polars as pl

from tokbench.published.translations import PUBLISHED_TRANSLATIONS
from tokbench.report.content import ReportContent
from tokbench.statistics.accuracies.correlation import between_metrics, between_sizes, metric_with_accuracy
from tokbench.statistics.accuracies.critical_difference import critical_differences
from tokbench.statistics.accuracies.intervals import average_intervals
from tokbench.statistics.accuracies.measures import measures_against_models
from tokbench.statistics.accuracies.pairs import compare_pairs, power_table
from tokbench.statistics.accuracies.ranks import averages, averages_by_size
from tokbench.statistics.accuracies.seeds import seed_variation
from tokbench.statistics.cells import OUTCOME
from tokbench.statistics.comparisons.domains import domain_comparisons, domain_documents, domain_values
from tokbench.statistics.comparisons.existing import EXISTING_TOKENIZERS
from tokbench.statistics.comparisons.families import ComparisonFamily
from tokbench.statistics.comparisons.languages import models_over_languages, ngrams_over_languages
from tokbench.statistics.comparisons.model_bits import compare_model_bits
from tokbench.statistics.comparisons.ngram_bits import judge_ngram_bits, rank_ngram_bits
from tokbench.statistics.comparisons.perturbed_answers import compare_perturbed, perturbed_measure_table
from tokbench.statistics.comparisons.robustness import compare_robustness, robustness_by_kind
from tokbench.statistics.comparisons.scoreboard import scoreboard, scoreboard_families
from tokbench.statistics.comparisons.segmentations import compare_segmentation_losses, segmentation_losses
from tokbench.statistics.comparisons.task_measures import compare_task_measures, task_measure_table
from tokbench.statistics.effects.token_effects import (
    token_effect_bins,
    token_effects,
    token_effects_by_seed,
    token_placebos,
)
from tokbench.statistics.planning.ladder_plan import plan_ladders
from tokbench.statistics.planning.measure_power import measure_power
from tokbench.statistics.planning.seed_plan import detectable_by_seeds, plan_seeds
from tokbench.statistics.scale.back_test import back_test, predict_scales
from tokbench.statistics.scale.equal_bits import cost_at_equal_bits, model_costs
from tokbench.statistics.scale.equal_cost import bits_at_equal_cost, compare_at_equal_cost
from tokbench.statistics.scale.equal_flops import equal_arithmetic, equal_arithmetic_order
from tokbench.statistics.scale.ladders import measure_ladders
from tokbench.statistics.scale.prices import price_tokenizers
from tokbench.statistics.scale.scale_lines import scale_groups
from tokbench.statistics.scale.scaling import compare_scales, fit_scales, scale_orders
from tokbench.statistics.scale.target_model import TargetModel
from tokbench.tabulation.bounds import BOUNDS
from tokbench.tabulation.columns import (
    PERTURBED,
    PERTURBED_ANSWERS,
    QUESTION_MEASURES,
    SEGMENTED_DOCUMENTS_COLUMNS,
    SEGMENTED_QUESTIONS_COLUMNS,
    TOKEN_SCORES,
)
from tokbench.tabulation.documents import ALIGNMENT_BY_WORD, DOCUMENT_BITS, LEAKAGE, TOKENS_BY_DOCUMENT
from tokbench.tabulation.domains import DOCUMENT_DOMAINS, DOMAIN_METRICS
from tokbench.tabulation.embeddings import TRANSLATION_EMBEDDING_NORMS, TRANSLATION_EMBEDDINGS, embedding_norms
from tokbench.tabulation.external_tokenizers import COUNTS, IMPORTED, NATIVE
from tokbench.tabulation.ngram_bits import NGRAM_DOCUMENTS
from tokbench.tabulation.segmentations import SEGMENTED_TEXTS
from tokbench.tabulation.table import schema, tables_of
from tokbench.tabulation.training import CONVERGENCE, TRAINED_ON

DECLARED = tables_of("tabulate", "analyse")
VARIANTS = ["bpe", "unigram_greedy", "sage", "random"]
SIZES = [1024, 2048]
TASKS = ["choice_a", "choice_b", "choice_c", "choice_d", "choice_e"]
WHY = "no gold word is spelt by the vocabulary's tokens & bytes"


def accuracy() -> pl.DataFrame:
    """Return accuracies: sage is best everywhere, random worst; bpe has no score on one task."""
    rows = [
        {
            "model": "tiny", "variant": variant, "size": size, "suite": "offline", "task": task,
            "accuracy": None if (variant, size, task) == ("bpe", 2048, "choice_b")
            else 0.4 + 0.1 * place + 0.002 * index + 0.01 * (size == 2048),
            "random_baseline": 0.25, "n": 200, "stderr": 0.03, "num_fewshot": 0, "straddling": 1,
        }
        for place, variant in enumerate(["random", "unigram_greedy", "bpe", "sage"])
        for size in SIZES
        for index, task in enumerate(TASKS)
    ]  # fmt: skip
    return pl.DataFrame(rows)


def seeded() -> pl.DataFrame:
    """Return accuracies of two seeds; the second is one point better everywhere."""
    second = accuracy().with_columns(pl.col("accuracy") + 0.01, seed=pl.lit(2))
    return pl.concat([accuracy().with_columns(seed=pl.lit(1)), second])


def intrinsic() -> pl.DataFrame:
    rows = []
    for place, variant in enumerate(VARIANTS):
        for size in SIZES:
            head = {"variant": variant, "size": size, "corpus": "books", "language": "", "reason": None}
            count, nominal = 120_000 - 1000 * place - size, "entropy / log(nominal vocabulary size)"
            rows += [
                head | {"metric": "corpus_token_count", "definition": "tokens", "value": float(count), "n": count},
                head
                | {"metric": "renyi_efficiency_2.5", "definition": nominal, "value": 0.5 - 0.01 * place, "n": size},
                head | {"metric": "alignment", "definition": "mean F1", "value": None, "n": 0, "reason": WHY},
            ]
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"value": pl.Float64, "reason": pl.String})


def outcomes() -> pl.DataFrame:
    """Return ten answers for each of two tasks: sage has all right, of the others earlier variants have more right."""
    rows = [
        ("tiny", "offline", variant, size, task, document, variant == "sage" or document % 10 > place)
        for place, variant in enumerate(VARIANTS) for size in SIZES for task in TASKS[:2] for document in range(10)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=OUTCOME, orient="row")


def answers_by_seed() -> pl.DataFrame:
    """Return ten answers of three seeds for each of two tasks; later variants need more bits."""
    rows = [
        {
            "model": "tiny (3 seeds)", "variant": variant, "size": size, "suite": "offline", "task": task,
            "document": document, "group": "", "source_corpus": "books", "source_document": document, "bytes": 20,
            "correct": (document + seed) % 10 > place, "divided_by": "", "seed": seed,
            "bits_per_byte": 2 + 0.1 * place + 0.01 * ((document + place) * (seed + 1) % 7),
            "probability": 0.5 - 0.05 * place + 0.01 * ((document + 2 * place) * (seed + 1) % 5),
        }
        for place, variant in enumerate(VARIANTS) for size in SIZES for task in TASKS[:2] for document in range(10)
        for seed in range(3)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema={**schema(QUESTION_MEASURES), "seed": pl.Int64})


def ngram_documents() -> pl.DataFrame:
    """Return n-gram bits of eight documents in two languages; later variants need more bits."""
    rows = [
        (variant, size, "books", order, budget, document, ("en", "uk")[document % 2], 100,
         100 * (2.5 - 0.2 * order - 1e-5 * size - 1e-7 * budget + 0.01 * place + 0.1 * document),
         (120_000 - 1000 * place - size) // 8 + 7 * (2 * document - 7)
         + (document == 7) * ((-size - 1000 * place) % 8), 0)
        for place, variant in enumerate(VARIANTS) for size in SIZES for order in (1, 2, 3)
        for budget in (50_000, 100_000) for document in range(8)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=NGRAM_DOCUMENTS.schema, orient="row")


def tokens_by_document() -> pl.DataFrame:
    """Return token counts of the same documents."""
    rows = ngram_documents().filter(order=1, training_bytes=100_000).with_columns(documents=pl.lit(1, pl.Int64))
    return rows.select(list(TOKENS_BY_DOCUMENT.schema))


def bits_by_seed() -> pl.DataFrame:
    """Return bits of three seeds on eight documents in two languages; later variants need more bits."""
    rows = [
        ("tiny (3 seeds)", variant, size, "offline", "books", document, ("en", "uk")[document % 2], 100,
         100 * (2 + 0.1 * place + 0.01 * (seed * place % 3) + 0.01 * (document * place % 5)), 0, seed)
        for place, variant in enumerate(VARIANTS) for size in SIZES for document in range(8) for seed in range(3)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema={**DOCUMENT_BITS.schema, "seed": pl.Int64}, orient="row")


def document_domains() -> pl.DataFrame:
    """Return the domains of the same documents."""
    rows = [("books", document, ("code", "web")[document > 2], None) for document in range(8)]
    return pl.DataFrame(rows, schema=DOCUMENT_DOMAINS.schema, orient="row")


def domain_metrics() -> pl.DataFrame:
    """Return bytes per token of every tokenizer in the same domains."""
    return DOMAIN_METRICS.frame(
        {
            "variant": variant, "size": size, "corpus": "books", "domain": domain, "metric": "bytes_per_token",
            "definition": "bytes of the text / tokens", "value": 3.0 + 0.1 * place + (domain == "web"), "n": 9000,
        }
        for place, variant in enumerate(VARIANTS) for size in SIZES for domain in ("code", "web")
    )  # fmt: skip


def bounds() -> pl.DataFrame:
    """Return bounds at two sizes, one of them missing."""
    told = (900, 903.5, 910, 10 / 900, 3.5 / 900, 6.5 / 903.5, 5000, 12, 0.004, None)
    rows = [("books", "", "gpt2", 512, *told), ("books", "", "gpt2", 1024, *[None] * 9, "too long")]
    return pl.DataFrame(rows, schema=BOUNDS.schema, orient="row")


def ngram_bits() -> pl.DataFrame:
    """Return the same n-gram bits per byte, of all documents and of each language."""
    keys = ["variant", "size", "corpus", "language", "order", "training_bytes"]
    counts = {"vocabulary": 1024, "training_tokens": 20_000, "unused_entries": 20, "unseen_tokens": 3, "bytes_lost": 0}
    documents = pl.concat([ngram_documents(), ngram_documents().with_columns(language=pl.lit(""))])
    return (
        documents.group_by(keys)
        .agg(value=pl.col("bits").sum() / pl.col("bytes").sum(), documents=pl.len(), bytes=pl.col("bytes").sum())
        .with_columns(**{key: pl.lit(value) for key, value in counts.items()})
        .sort("corpus", "language", "training_bytes", "order", "size", "variant")
    )


def imported() -> pl.DataFrame:
    """Return one external tokenizer."""
    loss = dict.fromkeys(COUNTS, 0) | {"documents": 4, "bytes": 9000, "tokens": 2000}
    elsewhere = {"variant": "foreign", "size": 300, "ids": 301, "form": "tiktoken", "file": "foreign.tiktoken",
                 "sha256": "00", "works_through": NATIVE, "pretokenization": "gpt2", "why": "", "told": "", "first": "",
                 "end_of_text": "<|endoftext|>", "end_of_text_id": 300, "end_of_text_source": None}  # fmt: skip
    return pl.DataFrame([elsewhere | loss | {"reason": None}]).select(list(IMPORTED.schema))


def board_of_seeds(seeds: int) -> pl.DataFrame:
    """Return the scoreboard for models with up to three seeds."""
    return scoreboard(families_of_seeds(seeds), dict.fromkeys(VARIANTS, "bpe"), dict.fromkeys(VARIANTS, "gpt2"))


def families_of_seeds(seeds: int) -> list[ComparisonFamily]:
    """Return the families of the scoreboard for models with up to three seeds."""
    return scoreboard_families(
        intrinsic(),
        imported(),
        tokens_by_document(),
        ngram_documents(),
        bits_by_seed().filter(pl.col("seed") < seeds),
        averages_by_size(accuracy()),
        answers_by_seed().filter(pl.col("seed") < seeds),
        pl.DataFrame(schema=ALIGNMENT_BY_WORD.schema),
        {("tiny", "offline", size): seeds for size in SIZES},
        {},
    )


def translations() -> dict[str, pl.DataFrame]:
    """Return tables of two tokenizers that translate one test."""
    of: dict[str, Any] = {
        "parallel": "news",
        "source_language": "en",
        "target_language": "de",
        "test": "held",
        "model": "tiny",
    }
    of |= {"size": 1024, "metric": "BLEU", "n": 40}
    scores = [
        of | {"tokenizers": name, "value": value, "low": value - 1, "high": value + 1, "signature": "tok:13a"}
        for name, value in (("bpe", 12.5), ("bpe + sage", 13.0))
    ]
    compared = of | {"a": "bpe", "b": "bpe + sage", "score_a": 12.5, "score_b": 13.0, "difference": -0.5, "low": -1.0}
    compared |= {"high": 0.1, "bootstrap_p": 0.9, "p_value": 0.2, "holm": 0.2, "t_test_p": 0.2, "seeds": 3}
    printed = {key: value for key, value in of.items() if key not in ("metric", "n")} | {
        "tokenizers": "bpe",
        "bleu": 12.5,
    }
    printed |= {"vocabulary": "joint", "variant": "picky_10", "published_bleu": 30.1, "paper_model": "no", "seeds": 1}
    side = {key: of[key] for key in ("parallel", "source_language", "target_language", "model", "size")}
    side |= {"side": "encoder", "tokenizers": "bpe"}
    pairs = {"parallel": "news", "split": "train", "pairs": "kept", "n": 90}
    return {
        "translation_scores": pl.DataFrame(scores),
        "translation_comparisons": pl.DataFrame([compared]),
        "parallel_corpora": pl.DataFrame([pairs]),
        "translation_embedding_norms": pl.DataFrame(
            [side | {"probability_low": 0.1, "probability_high": 0.2, "norm_low": 1.0, "norm_high": 1.5, "tokens": 9}],
            TRANSLATION_EMBEDDING_NORMS.schema,
        ),
        "translation_embeddings": pl.DataFrame(
            [side | {"metric": "unseen_tokens", "definition": "tokens never met", "value": 3.0, "n": 9}],
            TRANSLATION_EMBEDDINGS.schema,
        ),
        "published_translations": pl.DataFrame([printed], PUBLISHED_TRANSLATIONS.schema),
    }


def made() -> ReportContent:
    """Create new content."""
    scores, measures = accuracy(), intrinsic()
    compared = compare_model_bits(bits_by_seed(), {})
    by_domain = domain_documents(document_domains(), tokens_by_document(), ngram_documents(), bits_by_seed())
    runs = [(variant, size) for variant in VARIANTS for size in SIZES]
    curves = [
        {
            "model": "tiny",
            "variant": variant,
            "size": size,
            "batch": batch,
            "tokens": 2048 * batch,
            "loss": 3 + 5 / batch,
        }
        for variant, size in runs
        for batch in range(1, 40)
    ]
    bits = [
        {
            "model": "tiny",
            "variant": variant,
            "size": size,
            "suite": "offline",
            "value": 1.2 + 0.1 * place,
            "equal_context": 1.25 + 0.1 * place,
            "reason": None,
        }
        for place, (variant, size) in enumerate(runs)
    ]
    counts = {"num_fewshot": 0, "choices": 800, "straddling": 4, "questions": 200, "straddling_questions": 3}
    straddled = {"suite": "offline", "task": "choice_a"} | counts
    tokens = pl.DataFrame({"probability": [0.5, 0.3, 0.2, 0.0], "norm": [1.5, 1.4, 1.2, 0.1]})
    overlaps = {
        "a": ["bpe"], "b": ["sage"], "tokens": ["all"], "size_a": [1024], "size_b": [1024], "shared": [346],
        "jaccard": [0.21], "share_of_a": [0.34], "share_of_b": [0.34], "reason": [None], "size": [1024],
    }  # fmt: skip
    theirs = {"variant": "bpe", "size": 32768, "measure": "average_accuracy", "ours": None, "published": 48.8,
              "ours_on": "tiny, offline", "published_on": "350M"}  # fmt: skip
    regions = {"only_a": 300, "only_b": 250, "only_c": 400, "a_and_b": 120, "a_and_c": 90, "b_and_c": 80, "all": 256}
    return ReportContent(
        title="A <small> experiment & its report",
        recipes={
            "bpe": {"pretokenization": "gpt2", "construction": "bpe"},
            "unigram_greedy": {"pretokenization": "gpt2", "construction": "unigram", "segmentation": "greedy"},
            "sage": {"pretokenization": "gpt2", "construction": {"method": "sage", "initial": "bpe", "steps": [8, 4]}},
            "random": {"pretokenization": "gpt2", "construction": "randtrain"},
        },
        configuration="name: small\nvariants: {bpe: {construction: bpe}} # <script>",
        provenance={"versions": {"numpy": "2.1.0"}, "revision": None, "hardware": {"cores": 2}},
        models=["tiny"],
        declared=DECLARED,
        frames={
            "intrinsic": measures,
            "domain_metrics": domain_metrics(),
            "accuracy": scores,
            "bits_per_byte": pl.DataFrame(bits, schema_overrides={"reason": pl.String}),
            "boundaries": pl.DataFrame([straddled | {"variant": variant, "size": size} for variant, size in runs]),
            "coverings": pl.DataFrame(
                [
                    {key: row[key] for key in ("variant", "size", "model", "suite")}
                    | {"task": "choice_a", "questions": 3, "mean": 0.02, "largest": 0.05}
                    for row in bits
                ]
            ),
            "one_segmentation": pl.DataFrame(
                [
                    {key: row[key] for key in ("variant", "size", "model", "suite")}
                    | {"bits_per_byte": 0.01, "low": 0.005, "high": 0.02, "samples": 64, "documents": 3, "bytes": 384}
                    for row in bits
                ]
            ),
            **robustness_frames(),
            **segmentation_frames(),
            **token_effect_frames(),
            "summed_bits": pl.DataFrame(
                [
                    {key: row[key] for key in ("variant", "size", "model", "suite")}
                    | {"bits_per_byte": 1.99, "own_bits_per_byte": 2.0, "gap": 0.01, "low": 0.005, "high": 0.02}
                    | {"missed": 0.01, "width": 16, "documents": 3, "bytes": 384}
                    for row in bits
                ]
            ),
            "texts": pl.DataFrame(
                [row | {"text": "novel", "bits": 1e4, "bytes": 8000, "tokens": 2000} for row in bits]
            ),
            "curves": pl.DataFrame(curves),
            "convergence": pl.DataFrame(
                [
                    {key: row[key] for key in ("variant", "size", "model", "suite")}
                    | {"share": share, "batch": int(40 * share), "tokens": int(80_000 * share)}
                    | {"accuracy": 0.4, "tasks": 2, "bits_per_byte": 2.0}
                    for row in bits
                    for share in (0.5, 1.0)
                ]
            ),
            "trained_on": pl.DataFrame(
                [
                    {"variant": variant, "size": size, "model": "tiny", "documents": 60, "text_bytes": 240_000}
                    | {"tokens": 80_000, "sequences": 320, "batches": 40, "petaflop": 0.000147}
                    for variant, size in runs
                ]
            ),
            "embedding_norms": embedding_norms({"tiny": dict.fromkeys(runs, tokens)}),
            "ranks": averages(scores),
            "ranks_by_size": averages_by_size(scores),
            "intervals": average_intervals(scores),
            "comparisons": compare_pairs(scores),
            "power": power_table(compare_pairs(scores)),
            "critical_differences": critical_differences(scores),
            "task_measures": task_measure_table(answers_by_seed()),
            "task_measure_comparisons": compare_task_measures(answers_by_seed(), {}),
            "measure_power": measure_power(compare_task_measures(answers_by_seed(), {})),
            "perturbed_measures": perturbed_measure_table(perturbed_by_seed()),
            "perturbed_comparisons": compare_perturbed(perturbed_by_seed(), {}),
            "seeds": seed_variation(seeded()),
            "correlations": metric_with_accuracy(measures, scores),
            "metric_correlations": between_metrics(measures),
            "r_squared": between_sizes(scores),
            "imported": imported(),
            "leakage": pl.DataFrame(
                [("books", "books", "tokenizer", 60, 6_000, 40_000, 1, 3, 180, 0.03, None)],
                LEAKAGE.schema,
                orient="row",
            ),
            "overlaps": pl.DataFrame(overlaps),
            "venn": pl.DataFrame([{"size": 1024, "a": "bpe", "b": "sage", "c": "random", **regions}]),
            "bounds": bounds(),
            "ngram_bits": ngram_bits(),
            "scoreboard": board_of_seeds(3),
            "ngram_ranks": rank_ngram_bits(ngram_documents()),
            "ngram_verdicts": judge_ngram_bits(ngram_documents(), {}),
            "ngram_languages": ngrams_over_languages(ngram_documents(), {}),
            "bits_comparisons": compared,
            "bits_languages": models_over_languages(bits_by_seed(), {}),
            "domain_values": domain_values(by_domain, {}),
            "domain_comparisons": domain_comparisons(by_domain, {}, {}),
            "measures": measures_against_models(compared, measures, ngram_bits()),
            "seed_plan": plan_seeds(compared, 0.01),
            "seen_by_seeds": detectable_by_seeds(compared, 0.01),
            **translations(),
            **scale_frames(),
            "published": pl.DataFrame([theirs | {"source": "Table 4"}], schema_overrides={"ours": pl.Float64}),
        },
    )


def existing_tokenizers() -> pl.DataFrame:
    """Return two existing tokenizers of different sizes on all documents, and on those of two languages."""
    rows = []
    for language, documents in ((None, 20), ("en", 10), ("ja", 10)):
        for variant, size, tokens in (("gpt", 500, 6_000), ("llama", 900, 5_000)):
            counts = {"documents": documents, "documents_changed": 0, "bytes": 1_000 * documents, "tokens": tokens}
            counts |= {"characters": 900 * documents, "words": 200 * documents, "lines": documents, "ids": size + 1}
            judged = {"best": "llama", "baseline": "gpt", "verdict": "best", "behind": 0.0, "difference": -1 / 6}
            if variant == "gpt":
                judged |= {"verdict": "worse", "behind": 0.2, "difference": None, "difference_verdict": "baseline"}
            named = {"corpus": "books", "language": language, "variant": variant, "size": size}
            rows.append({**named, **counts, **judged, "bytes_per_token": 1_000 * documents / tokens})
    return EXISTING_TOKENIZERS.frame(rows)


_KEPT = cache(made)


def whole() -> ReportContent:
    """Return cached content, which tests must not change."""
    return _KEPT()


def altered(content: ReportContent, **changes: Any) -> ReportContent:
    """Return the content with other frames (None removes one) and other attributes."""
    frames = {**content.frames, **{name: frame for name, frame in changes.items() if name in PARTS}}
    others = {name: value for name, value in changes.items() if name not in PARTS}
    changed = replace(content, frames={name: frame for name, frame in frames.items() if frame is not None}, **others)
    if not others:  # Unchanged parts are reused.
        changed._parts.update({name: content.part(name) for name in frames.keys() - changes.keys()})
    return changed


def robustness_frames() -> dict[str, pl.DataFrame]:
    """Return the statistics of two kinds of perturbation over three documents."""
    rows = [
        (variant, 512, "pydoc", kind, document, 5, 90, 4 + place + document, 9)
        for kind in ("swap", "joined")
        for place, variant in enumerate(VARIANTS)
        for document in range(3)
    ]
    documents = pl.DataFrame(rows, schema=schema(PERTURBED), orient="row")
    return {"robustness": robustness_by_kind(documents), "robustness_comparisons": compare_robustness(documents, {})}


def segmentation_frames() -> dict[str, pl.DataFrame]:
    """Return the statistics of two segmentations of three documents and four questions, by three seeds."""
    heads = [("tiny (3 seeds)", variant, 512, "offline") for variant in VARIANTS]
    kinds = ("random", "characters")
    documents = [
        (*head, "pydoc", kind, document, "en", 100, 200.0, 230.0 + 7 * place + 3 * (seed * document % 3), 30, 60, seed)
        for place, head in enumerate(heads) for kind in kinds for document in range(3) for seed in range(3)
    ]  # fmt: skip
    questions = [
        (*head, kind, "last_word", document, "", "pydoc", document, True, (document + place + seed) % 3 > 0, 2.0,
         2.2 + 0.1 * place + 0.01 * ((document + place) * (seed + 1) % 5), seed)
        for place, head in enumerate(heads) for kind in kinds for document in range(4) for seed in range(3)
    ]  # fmt: skip
    of_documents, of_questions = (
        pl.DataFrame(rows, schema={**schema(columns), "seed": pl.Int64}, orient="row")
        for rows, columns in ((documents, SEGMENTED_DOCUMENTS_COLUMNS), (questions, SEGMENTED_QUESTIONS_COLUMNS))
    )
    texts = [(*head, kind, 2.0, 3, 0, 4, 0, 0, None) for head in heads for kind in kinds]
    return {
        "segmented_texts": pl.DataFrame(texts, schema=SEGMENTED_TEXTS.schema, orient="row"),
        "segmentation_losses": segmentation_losses(of_documents, of_questions),
        "segmentation_loss_comparisons": compare_segmentation_losses(of_documents, of_questions, {}),
    }


def token_effect_frames() -> dict[str, pl.DataFrame]:
    """Return the statistics of two trainings with a jump of 1.5 bits at the end of the vocabulary."""
    rows = [
        ("bpe", 512, "tiny (2 seeds)", "pydoc", rank, "7468", 4, 4, 4 * value, -36.0 * (1 + (rank >= 0)), seed)
        for seed in range(2)
        for rank in range(-64, 64)
        for value in [-9 + 1.5 * (rank < 0) - rank / 100 + (rank * 7 % 5 - 2 + seed) / 5]
    ]
    scores = pl.DataFrame(rows, schema={**schema(TOKEN_SCORES), "seed": pl.Int64}, orient="row")
    effects = token_effects(scores)
    placebos = token_placebos(effects, token_effects_by_seed(scores))
    return {"token_effects": effects, "token_effect_bins": token_effect_bins(scores), "token_placebos": placebos}


def perturbed_by_seed() -> pl.DataFrame:
    """Return ten answers of three seeds to each of two tasks under two kinds; later variants lose more."""
    rows = [
        {
            "model": "tiny (3 seeds)", "variant": variant, "size": size, "suite": "offline", "task": task,
            "kind": kind, "document": document, "group": "", "source_corpus": "books",
            "source_document": document % 5, "edits": document % 4, "bytes": 20, "clean_correct": document > 2,
            "correct": (document + seed) % 10 > 2 + place if document % 4 else None, "clean_bits_per_byte": 2.0,
            "bits_per_byte": 2.1 + 0.1 * place + 0.01 * ((document + seed) % 3) if document % 4 else None, "seed": seed,
        }
        for place, variant in enumerate(VARIANTS) for size in SIZES for task in TASKS[:2] for kind in ("swap", "joined")
        for document in range(10) for seed in range(3)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema={**schema(PERTURBED_ANSWERS), "seed": pl.Int64})


def target_model() -> dict[str, TargetModel]:
    """Return a target, by name."""
    shape = {"d_model": 512, "n_layers": 8, "n_heads": 8, "feed_forward": 1376, "max_seq_len": 2048}
    use = {"serving_tokens_per_training_token": 0.5, "hardware": "a100", "mfu": 0.4}
    return {"serve": TargetModel.model_validate(shape | use)}


def scale_frames() -> dict[str, pl.DataFrame]:
    """Return the statistics of one model with three budgets of text; later variants need more bits."""
    shape: dict[str, Any] = {
        "d_model": 64,
        "n_heads": 4,
        "n_layers": 2,
        "max_seq_len": 256,
        "vocab_multiple": 64,
        "precision": "fp32",
    }
    recipes = {f"tiny_{text} (3 seeds)": shape | {"text_bytes": text} for text in (100_000, 200_000, 400_000)}
    bits, read = [], []
    for model, recipe in recipes.items():
        for place, variant in enumerate(VARIANTS):
            text = int(recipe["text_bytes"])
            level = 2 * (1e6 / text) ** 0.1 + 0.1 * place
            for seed in range(3):
                noise = 0.01 * ((seed + 1) * (place + 2) % 3)
                bits += [
                    (model, variant, 1024, "offline", "books", document, "en", 100,
                     100 * (level + noise + 0.01 * (document * (place + seed) % 5)), 0, seed)
                    for document in range(4)
                ]  # fmt: skip
                read.append((variant, 1024, model, 9, text, text // (3 + place), 9, 9, 1e-9 * text / (3 + place), seed))
    by_seed = pl.DataFrame(bits, schema={**DOCUMENT_BITS.schema, "seed": pl.Int64}, orient="row")
    trained = pl.DataFrame(read, schema={**TRAINED_ON.schema, "seed": pl.Int64}, orient="row")
    along = pl.DataFrame(schema={**CONVERGENCE.schema, "seed": pl.Int64})
    groups = scale_groups(by_seed, along, trained, recipes, {}, {})
    predictions = predict_scales(groups, compare_model_bits(by_seed, {}))
    planned = target_model()
    baselines = dict.fromkeys(VARIANTS, "bpe")
    compared = compare_at_equal_cost(planned, groups, baselines, {})
    return {
        "prices": price_tokenizers(planned, tokens_by_document(), {}, baselines, groups, set()),
        "bits_at_equal_cost": bits_at_equal_cost(planned, groups, baselines, {}, compared),
        "equal_cost_comparisons": compared,
        "scale_fits": fit_scales(groups),
        "scale_comparisons": compare_scales(groups),
        "scale_orders": scale_orders(groups, compare_model_bits(by_seed, {})),
        "scale_predictions": predictions,
        "scale_back_tests": back_test(predictions),
        "scale_ladders": measure_ladders(groups),
        "ladder_plan": plan_ladders(measure_ladders(groups), 0.01),
        "model_costs": model_costs(groups),
        "cost_at_equal_bits": cost_at_equal_bits(groups, dict.fromkeys(VARIANTS, "bpe")),
        "equal_arithmetic": equal_arithmetic(groups, recipes),
        "equal_arithmetic_order": equal_arithmetic_order(groups, recipes),
    }


PARTS = ("prices", "bits_at_equal_cost", "equal_cost_comparisons",
         "scale_fits", "scale_comparisons", "scale_orders", "scale_predictions", "scale_back_tests", "scale_ladders",
         "ladder_plan", "model_costs",
         "cost_at_equal_bits", "equal_arithmetic",
         "equal_arithmetic_order",
         "intrinsic", "domain_metrics",
         "accuracy", "bits_per_byte", "boundaries", "coverings", "one_segmentation", "texts", "curves",
         "convergence", "trained_on", "embedding_norms", "ranks", "ranks_by_size", "intervals", "comparisons", "power",
         "leakage", "critical_differences", "seeds",
         "task_measures", "task_measure_comparisons", "measure_power", "perturbed_measures", "perturbed_comparisons",
         "correlations", "metric_correlations", "r_squared", "overlaps", "venn", "bounds", "ngram_bits", "ngram_ranks",
         "ngram_verdicts", "ngram_languages", "bits_comparisons", "bits_languages", "domain_values",
         "domain_comparisons",
         "measures", "seed_plan", "seen_by_seeds", "published", "imported", "scoreboard",
         "translation_scores", "translation_comparisons",
         "published_translations", "translation_embedding_norms", "translation_embeddings",
         "parallel_corpora", "summed_bits", "robustness",
         "robustness_comparisons", "segmented_texts", "segmentation_losses", "segmentation_loss_comparisons",
         "token_effects", "token_effect_bins", "token_placebos")  # fmt: skip
IDENTIFIERS = ["experiment", "tokenizers", "intrinsic", "models", "downstream", "statistics", "vocabularies",
               "configuration", "provenance"]  # fmt: skip
