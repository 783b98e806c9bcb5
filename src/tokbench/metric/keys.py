"""Short unique names of measurements, ordered with the common ones first; result files use neither."""

import re
from collections import Counter
from collections.abc import Sequence

from tokbench.metric.measurement import Measurement

FIRST = (
    *("corpus_token_count", "bytes_per_token", "fertility", "fertility_words", "tokens_per_space", "whole_word_share"),
    *("vocabulary_size", "unused_token_share", "byte_fallback_share", "tokens_cutting_characters"),
    "renyi_efficiency_2.5",
)
"""Keys of the first rows."""
RULES = tuple(
    (re.compile(definition), key)
    for definition, key in (
        (r"^occurrences of tokens of one byte / tokens of the text$", r"{metric}_share"),
        (r"^occurrences of tokens of one byte / bytes of the text$", r"{metric}_per_byte"),
        (r"^occurrences of tokens of one byte of a longer character", r"{metric}_in_character_share"),
        (r"^tokens / pre-tokens that hold a letter or a number$", r"{metric}_words"),
        (r"^tokens of the pre-tokens that hold a letter or a number / ", r"{metric}_inside_words"),
        (r"^tokens / \(spaces \+ line feeds\)$", r"tokens_per_space"),
        (r" uses 0 times$", r"tokens_used_0_times"),
        (r" uses 2\^(?P<power>\d+) ", r"tokens_used_{times}_times"),
        (r" of (?P<more>more than )?0*(?P<number>\d+) bytes$", r"tokens_{above}_{number}_bytes"),
        (r"^characters .* / removed tokens$", r"{metric}_removed"),
        (r"^removed tokens .* / removed tokens$", r"{metric}_removed"),
        (r"^characters .* / tokens of the vocabulary$", r"{metric}_characters_vocabulary"),
        (r"^characters .* / tokens of the text$", r"{metric}_characters"),
        (r"^tokens marked .* / tokens of the vocabulary$", r"{metric}_marked_vocabulary"),
        (r"^tokens marked .* / tokens of the text$", r"{metric}_marked"),
        (r"^entropy / log\(number of types seen in the text\)$", r"{metric}_seen"),
        (r"; each pre-token cut so that its sum is greatest$", r"{metric}_best"),
        (r"; text cut by cover in order of ids$", r"{metric}_cover"),
        (r"^characters of (?P<number>\d) bytes whose bytes are in more than one token", r"{metric}_of_{number}_bytes"),
        (r"^mean F1 of the splits of a number of (?P<number>\d+) digits", r"{metric}_{number}_digits"),
        (r"\bnumbers of (?P<number>\d+) digit", r"{metric}_{number}_digits"),
        (r"^entropy in bits of the splits of a number of up to", r"{metric}_short"),
        (r"^entropy in bits of the splits of a number of more than", r"{metric}_long"),
        (r"^entropy of followers / log2\(distinct followers of the text\)", r"{metric}_of_text"),
        *(
            (rf"^isolated {kind} operators / ", rf"{{metric}}_{kind}")
            for kind in ("arithmetic", "comparison", "assignment", "logical", "shift", "ternary")
        ),
        *(
            (rf"^{kind}s that begin and end with a token .* {end}$", rf"{{metric}}_{kind}{form}")
            for kind in ("identifier", "keyword", "operator", "literal", "delimiter")
            for form, end in (("", "left out"), ("_raw", "with their first space"))
        ),
        (r"^(lower end .*: )?(upper end .*: )?mean over documents of tokens / ", r"{metric}_mean"),
        (r"^leaves that .*; tokens with their first space$", r"{metric}_raw"),
        (r"^tokens longer than one byte that are .* / tokens longer than one byte$", r"{metric}_longer"),
    )
)
"""Keys of metrics with several definitions; the first matching rule applies."""
OF_VOCABULARY = " / tokens of the vocabulary"


def key_of(row: Measurement, only: bool) -> str:
    """Return the key of a measurement.

    Args:
        row: the measurement.
        only: True if its metric has one definition.
    """
    if only:
        return row.metric
    for pattern, key in RULES:
        if match := pattern.search(row.definition):
            groups = match.groupdict()
            times = 2 ** int(groups.get("power") or 0)
            above = "above" if groups.get("more") else "of"
            return key.format(metric=row.metric, times=times, above=above, number=groups.get("number"))
    of_vocabulary = row.definition.endswith(OF_VOCABULARY) and row.metric != "whole_word_share"
    return f"{row.metric}_vocabulary" if of_vocabulary else row.metric


def assign_keys(rows: Sequence[Measurement]) -> list[tuple[str, Measurement]]:
    """Return the measurements of one text with their keys, those of :data:`FIRST` first.

    A key that would occur twice gets a number.
    """
    definitions = Counter(row.metric for row in rows)
    times: Counter[str] = Counter()
    named = []
    for row in rows:
        key = key_of(row, definitions[row.metric] == 1)
        times[key] += 1
        named.append((key if times[key] == 1 else f"{key}_{times[key]}", row))
    order = {key: place for place, key in enumerate(FIRST)}
    return sorted(named, key=lambda pair: order.get(pair[0], len(FIRST)))
