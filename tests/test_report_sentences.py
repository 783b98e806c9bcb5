"""Sentences of the report: findings beside what they are about, and only what is so here."""

import polars as pl

from tests.support.small_report import accuracy, altered, intrinsic, whole
from tokbench.report import findings
from tokbench.report.html import drawings, sections, tables
from tokbench.report.typeset import to_markdown
from tokbench.statistics.pairs import compare_pairs, power_table


def test_findings() -> None:
    """Each sentence beside what it is about, worked out by hand."""
    values = {("a", 1): 9.0, ("a", 2): 3.0, ("b", 2): 1.5, ("c", 2): 2.0}
    assert findings.between("Loss", values) == "Loss at a vocabulary of 2: from 1.500, b, to 3.000, a."
    assert findings.between("Loss", {("a", 2): 3.0}, 2) == "Loss at a vocabulary of 2: 3.00, a."
    alone = "Loss at a vocabulary of 2: from 1.500, b, to 3.000, a."
    assert findings.between("Loss", {**values, ("own", 9): 0.1}) == alone, "one of another size is beside no other"
    assert findings.between("Loss", {("a", 2): 3.0, ("b", 2): 3.001}, 1).endswith("3.0 with each, as far as is shown.")
    averages = {("tiny", "a"): 40.0, ("tiny", "b"): 41.25, ("large", "a"): 52.0}
    averages |= {("tiny", "c"): 41.24}
    told = findings.first_by_model(averages, {"tiny", "large"})
    assert told.endswith(": b and c with tiny, 41.2 %; a with large, 52.0 %.")
    assert findings.first_by_model(averages, {"large"}).endswith(
        ": not tested: one training with tiny; a with large, 52.0 %."
    )
    p_values = {("a", "b"): 0.01, ("b", "a"): 0.99, ("a", "c"): 0.4, ("c", "a"): 0.6, ("b", "c"): None}
    counted = "Of 2 pairs, 1 has p ≤ 0.05 in one direction, uncorrected"
    assert findings.told_apart(p_values, dict.fromkeys(p_values, 1.0)) == f"{counted}, and 0 after Holm's correction."
    assert findings.told_apart(p_values, p_values) == f"{counted}, and 1 after Holm's correction."
    assert findings.told_apart({("a", "b"): 0.5}, {("a", "b"): 1.0}) == (
        "None of 1 pair differs significantly (p ≤ 0.05 in one direction, uncorrected)."
    )
    ranks = {"a": 1.2, "b": 1.9, "c": 3.4}
    assert findings.within_reach(ranks, 1.0).endswith("is that of a, 1.20; no significant difference from it: b.")
    assert findings.within_reach(ranks, 0.1).endswith("all others are significantly worse.")
    assert findings.within_reach({"a": 1.0}, 0.1) == "The lowest average rank is that of a, 1.00."
    verdicts = ["worse", "better", "worse"]
    verdicts += ["not tested", "not told apart"]
    assert findings.by_verdict("bpe", verdicts) == (
        "5 tokenizers compared with bpe. Significantly better: 1; not tested: 1; no significant difference: 1; "
        "significantly worse: 2."
    )
    told = findings.sides_of_zero("bpe", [(1, 2), (-1, 1), (-3, -2), None, (0.5, 1)])
    assert told == "4 intervals of a difference from bpe: 2 above zero, 1 below it, 1 with zero inside."
    assert findings.sides_of_zero("bpe", [None]) == "No difference from bpe has an interval."
    regions = {"all": 4, "only_a": 1, "only_b": 2, "only_c": 3}
    assert findings.shared(regions, "xyz").startswith("4 tokens in all three vocabularies; 1 in x alone, 2 in y")


def test_a_test_that_cannot_see_anything_is_no_word_on_those_beside_it() -> None:
    """With one size and two tasks there are too few cells for the signed-rank test, and enough questions for others."""
    scores = accuracy().filter(pl.col("size") == 1024, pl.col("task").is_in(["choice_a", "choice_c"]))
    blind = altered(whole(), power=power_table(compare_pairs(scores)))
    told = next(one for one in sections(blind) if one.identifier == "statistics").paragraphs[0]
    assert "no difference of any size could have been detected: there are fewer than five cells" in told
    assert told.endswith("Tests over the questions, below, do not take so many cells.")
    alone = next(one for one in sections(altered(blind, question_comparisons=None)) if one.identifier == "statistics")
    assert "below" not in alone.paragraphs[0]


def test_what_a_comparison_says_beyond_its_p_value() -> None:
    content = whole()
    told = next(section for section in sections(content) if section.identifier == "statistics")
    test = "Accuracy of tiny on offline: by the Wilcoxon signed-rank test over cells"
    assert any(text.startswith(test) and ", a mean difference under " in text for text in told.paragraphs)
    assert told.paragraphs[-1].startswith("Accuracies of models that differ only in their seed")
    alone = altered(content, seeds=None)
    assert any("trained with one seed" in text for section in sections(alone) for text in section.paragraphs)
    pairs = next(table for table in tables(content) if table.name == "comparisons-tiny-offline")
    shown = to_markdown(pairs)
    assert all(f"| {header} |" in shown for header in ("p, Holm", "p, BH", "rank-biserial", "detectable (points)"))
    ranks = next(table for table in tables(content) if table.name == "average-ranks-tiny-offline")
    assert "bpe | – [a]" in to_markdown(ranks)
    assert "[a] missing: 2048/choice\\_b" in to_markdown(ranks)


def test_sentences_say_what_is_so_here() -> None:
    """A running mean only where there is one, the baseline's empty cells by their reason, models as configured."""
    frames = whole().frames
    captions = {one.name: one.caption for one in drawings(whole())}
    assert "running mean" not in captions["curves-tiny"]
    long = frames["curves"].with_columns(batch=pl.lit(1))
    several = pl.concat([long] * 3).with_columns(pl.int_range(pl.len()).over("variant", "size").alias("batch"))
    smooth = {one.name: one.caption for one in drawings(altered(whole(), curves=several))}
    assert "Lines are a running mean over a fiftieth of the curve" in smooth["curves-tiny"]
    rows = [
        intrinsic().row(0, named=True) | {"metric": metric, "definition": definition, "variant": variant}
        for variant, metric, definition in (
            ("bpe", "unseen_tokens", "never; model tiny"),
            ("sage", "unseen_tokens", "never; model tiny"),
            ("sage", "mean_embedding_norm", "tokens that bpe lacks (added); model tiny"),
        )
    ]
    frame = pl.DataFrame(rows, schema_overrides={"reason": pl.String})
    content = altered(whole(), intrinsic=frame, baselines=["bpe"])
    [table] = [one for one in tables(content) if one.name == "intrinsic-books-embeddings"]
    assert "it is the baseline: nothing is added or dropped" in table.reasons.values()
    scores = pl.concat([accuracy().with_columns(model=pl.lit(name)) for name in ("atom", "tiny")])
    facts = altered(whole(), accuracy=scores, models=["tiny", "atom"])
    [told] = [list(one.paragraphs) for one in sections(facts) if one.identifier == "experiment"]
    assert "2 language-model recipes: tiny and atom." in told
