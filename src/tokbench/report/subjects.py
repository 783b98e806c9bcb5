"""Intrinsic measures by subject, in an order of reading, each under a name of its own.

A measure that stands nowhere here, as one of another distribution, comes last of the subject that its family states,
under its metric's name; where none is stated, last of all.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tokbench.report.wording import words
from tokbench.subjects import stated_subject

Measure = tuple[str, str]
"""A metric and its definition."""


@dataclass(frozen=True)
class Subject:
    """Measures that are read together.

    Attributes:
        identifier: of the heading's link.
        title: of the heading.
        columns: metric, how its definition begins or what it has in it (a regular expression), and the column's name.
    """

    identifier: str
    title: str
    columns: tuple[tuple[str, str, str], ...]


SUBJECTS = (
    Subject("compression", "Compression", (
        ("corpus_token_count", "", "tokens"),
        ("relative_corpus_token_count", "", "tokens / baseline's"),
        ("gap", "", "gap to the optimum"),
        ("bytes_per_token", "", "bytes per token"),
        ("partition_cover_attained", "", "joined pairs / most possible"),
        ("partition_cover_ratio", "", "joined / GreedWMC covers"),
        ("joined_pairs", "", "joined pairs"),
        ("covered_pairs", "", "covered pairs"),
        ("joined_share_of_covered_pairs", "", "joined / covered pairs"),
    )),
    Subject("words", "Tokens per word (fertility) and whole words", (
        ("fertility", r"^tokens / \(spaces", "tokens per space-separated word"),
        ("fertility", r"^tokens / pre-tokens$", "tokens per pre-token"),
        ("fertility", r"^tokens / pre-tokens that", "tokens per word-like pre-token"),
        ("fertility", r"^tokens of the pre-tokens", "tokens in a word-like pre-token"),
        ("whole_word_share", r"/ tokens of the vocabulary", "vocabulary that is whole words"),
        ("whole_word_share", r"/ tokens longer", "longer tokens that are whole words"),
        ("word_initial_share", r"^tokens that begin .* of the text", "text's tokens that begin a word"),
        ("word_initial_share", r"^tokens marked .* of the text", "text's tokens marked as beginning"),
    )),
    Subject("morphology", "Morphology (alignment with morphemes)", (
        ("morphological_alignment", r"whose gold", "F1, spellable words"),
        ("morphological_alignment", "", "F1"),
        ("morphological_precision", r"whose gold", "precision, spellable words"),
        ("morphological_precision", "", "precision"),
        ("morphological_recall", r"whose gold", "recall, spellable words"),
        ("morphological_recall", "", "recall"),
        ("morphological_coverage", r"^words whose", "words with all morphemes as tokens"),
        ("morphological_coverage", "", "the same, words that are no token"),
        ("gold_words_left_out", r"one gold", "left out: one segment"),
        ("gold_words_left_out", "", "left out: spelt otherwise"),
    )),
    Subject("reading", "Reading times of people (cognitive plausibility)", (
        ("cognitive_plausibility", "", "cognitive plausibility"),
        ("cognitive_words_reaction_time", "", "r, reaction time, words"),
        ("cognitive_words_accuracy", "", "r, accuracy, words"),
        ("cognitive_nonwords_reaction_time", "", "r, reaction time, nonwords"),
        ("cognitive_nonwords_accuracy", "", "r, accuracy, nonwords"),
        ("lexical_decisions_left_out", "", "left out"),
    )),
    Subject("vocabulary", "Vocabulary", (
        ("vocabulary_size", "", "tokens in it"),
        ("unused_tokens", "", "unused tokens"),
        ("unused_token_share", "", "share unused"),
        ("word_initial_share", r"^tokens that begin .* of the vocabulary", "begin a word"),
        ("word_initial_share", r"^tokens marked .* of the vocabulary", "marked as beginning"),
        ("removed_tokens", "", "removed while built"),
        ("word_initial_share", r"^removed", "removed that begin a word"),
    )),
    Subject("lengths", "Token lengths", (
        ("mean_token_length", r"^characters .* / tokens of the vocabulary", "characters, vocabulary"),
        ("mean_token_length", r"^bytes / tokens of the vocabulary", "bytes, vocabulary"),
        ("mean_token_length", r"^characters .* / tokens of the text", "characters, text"),
        ("mean_token_length", r"^bytes / tokens of the text", "bytes, text"),
        ("mean_token_length", r"removed", "characters, removed while built"),
    )),
    Subject("exchanged", "Vocabulary beside the baseline's", (
        ("common_token_share", "", "in common"),
        ("added_tokens", "", "added"),
        ("dropped_tokens", "", "dropped"),
        ("mean_token_length", r"\(added\)", "mean characters, added"),
        ("mean_token_length", r"\(dropped\)", "mean characters, dropped"),
        ("word_initial_share", r"\(added\)", "begin a word, added"),
        ("word_initial_share", r"\(dropped\)", "begin a word, dropped"),
    )),
    Subject("renyi", "Evenness of use (Rényi efficiency)", tuple(
        (f"renyi_efficiency_{alpha}", over, f"α = {alpha}{of}")
        for over, of in (("nominal", ""), ("types seen", ", types seen"))
        for alpha in ("1", "1.5", "2", "2.5", "3", "3.5")
    )),
    Subject("frequency", "How often tokens occur", (
        ("token_frequency_at_50", "", "least of the top 50 %"),
        ("token_frequency_at_95", "", "least of the top 95 %"),
        ("token_frequency_at_99", "", "least of the top 99 %"),
        ("unigram_objective", "cut by the tokenizer", "unigram objective"),
        ("unigram_objective", "cut by cover", "unigram objective, cover"),
        ("unigram_objective", "greatest", "unigram objective, best cut"),
    )),
    Subject("bytes", "Byte fallback and broken characters", (
        ("byte_fallback", r"one byte / tokens", "single bytes / tokens"),
        ("byte_fallback", r"one byte / bytes", "single bytes / bytes"),
        ("byte_fallback", r"longer character", "bytes of longer characters / tokens"),
        ("byte_fallback", r"one byte$", "single bytes"),
        ("single_byte_token_share", "", "single-byte tokens / tokens"),
        ("single_byte_tokens_used", "", "single-byte tokens in use"),
        ("tokens_cutting_characters", "of the text$", "tokens cutting characters / tokens"),
        ("tokens_cutting_characters", "of the vocabulary$", "vocabulary cutting characters"),
    )),
    Subject("languages", "Parity between languages", (
        ("parity_range", "", "most / fewest tokens of a language"),
        ("parity", "", "tokens / those of the cheapest language"),
    )),
    Subject("embeddings", "Embeddings of the trained models", (
        ("undertrained_tokens", "", "undertrained tokens"),
        ("unseen_tokens", "", "tokens never seen"),
        ("embedding_norm_correlation", "", "r of norm and probability"),
        ("mean_embedding_norm", r"\(added\)", "mean norm, added"),
        ("mean_embedding_norm", r"\(dropped\)", "mean norm, dropped"),
        ("mean_embedding_norm", r"never holds", "mean norm, never seen"),
        ("mean_embedding_norm", "", "mean norm"),
        ("mean_token_probability", r"\(added\)", "mean probability, added"),
        ("mean_token_probability", r"\(dropped\)", "mean probability, dropped"),
        ("mean_token_probability", "", "mean probability"),
    )),
)  # fmt: skip
SAME = {"single_byte_token_share": "byte_fallback"}
"""Metrics of which another has the same number under another name, which is shown where both were measured."""
OTHERS = Subject("others", "Further measures", ())
_MODEL = re.compile(r"model (\S+)$")


def by_subject(measures: Iterable[Measure]) -> list[tuple[Subject, list[tuple[Measure, str]]]]:
    """The measures of each subject in order, with a name that no other column of the subject has."""
    every = set(measures)
    known = {metric for metric, _ in every}
    left = sorted(one for one in every if SAME.get(one[0]) not in known)
    found: list[tuple[Subject, list[tuple[Measure, str]]]] = []
    for subject in SUBJECTS:
        named: list[tuple[Measure, str]] = []
        for metric, pattern, name in subject.columns:
            these = [one for one in left if one[0] == metric and re.search(pattern, one[1])]
            named += [(one, name) for one in these]
            left = [one for one in left if one not in these]
        stated = [one for one in left if stated_subject(one[0]) == subject.identifier]
        named += [(one, words(one[0])) for one in stated]
        left = [one for one in left if one not in stated]
        if named:
            found.append((subject, _distinct(named)))
    if left:
        found.append((OTHERS, _distinct([(one, words(one[0])) for one in left])))
    return found


def _distinct(named: list[tuple[Measure, str]]) -> list[tuple[Measure, str]]:
    """Names that several measures share are told apart by the model, or by a number."""
    names = [name for _, name in named]
    seen: dict[str, int] = {}
    told = []
    for (metric, definition), name in named:
        if names.count(name) > 1:
            seen[name] = seen.get(name, 0) + 1
            model = _MODEL.search(definition)
            name += f", {model[1]}" if model else f" ({seen[name]})"
        told.append(((metric, definition), name))
    return told
