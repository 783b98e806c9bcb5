"""Vocabulary checks: ids, duplicates, combining marks, incomplete characters, special tokens and unused tokens.

Also the segmentation of numbers, the declared normaliser, and the pre-tokens.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from unicodedata import category

import numpy as np

from tokbench.inspection.checks.finding import Check, Example, Finding, not_applicable, of
from tokbench.inspection.checks.probes import (
    EVERY_PROBE,
    PROBES,
    SPECIAL,
    blocks,
    emoji_sequences,
    invalid_utf8,
    white_space,
)
from tokbench.inspection.checks.round_trip import came_back
from tokbench.inspection.checks.subject import EncodeError, TokenizerUnderTest

SHOWN = 5
"""Maximum number of tokens shown per check."""
LONGEST = 64
"""Number of characters of a token above which the check warns."""
SOME_MARKS = 0.005
"""Share of tokens that begin with a combining mark, from which the check warns."""


def named(tokens: Sequence[tuple[int, bytes]], what: str = "") -> list[Example]:
    """Return the first few tokens as examples, each with its id."""
    return [Example(token, f"id {token_id}{what}") for token_id, token in tokens[:SHOWN]]


def sizes(subject: TokenizerUnderTest) -> Finding:
    """Check that ids are unique and as many as ``len``."""
    ids, length = subject.ids, len(subject.tokenizer)
    twice = [token_id for token_id, count in Counter(ids).items() if count > 1]
    mute = [token_id for token_id in ids if token_id not in subject.tokens]
    sentence = f"{len(ids):,} ids, {length:,} tokens"
    if twice:
        return Finding(False, f"{sentence}; {len(twice):,} ids occur more than once (first {twice[0]})")
    if len(ids) != length or mute:
        return Finding(
            False, sentence + (f"; id {mute[0]} and {len(mute) - 1:,} others decode to nothing" if mute else "")
        )
    return Finding(True, sentence, numbers={"ids": len(ids)})


def holes(subject: TokenizerUnderTest) -> Finding:
    """Check that ids are consecutive from 0."""
    ids = sorted(set(subject.ids))
    missing = ids[-1] + 1 - len(ids) if ids else 0
    if not missing:
        return Finding(True, f"ids 0 to {len(ids) - 1:,}")
    first = next(place for place, token_id in enumerate(ids) if token_id != place)
    return Finding(False, f"{missing:,} ids up to {ids[-1]:,} have no token (first {first:,})")


def duplicates(subject: TokenizerUnderTest) -> Finding:
    """Check for tokens with equal bytes; word-initial and word-internal forms are different tokens."""
    seen: dict[tuple[bytes, bool], list[int]] = {}
    for token_id, form in subject.forms.items():
        seen.setdefault(form, []).append(token_id)
    twice = [(form[0], ids) for form, ids in seen.items() if len(ids) > 1]
    examples = [Example(token, f"ids {', '.join(map(str, ids[:4]))}") for token, ids in twice[:SHOWN]]
    return Finding(not twice, f"{len(twice):,} tokens have the bytes of another", examples, {"tokens": len(twice)})


def every_byte(subject: TokenizerUnderTest) -> Finding:
    """Check that each of the 256 bytes is a token."""
    missing = sorted(set(range(256)) - {token[0] for token in subject.tokens.values() if len(token) == 1})
    sentence = f"{256 - len(missing)} of 256 bytes are tokens"
    return Finding(
        not missing, sentence, [Example(bytes([byte])) for byte in missing[:SHOWN]], {"missing": len(missing)}
    )


def _texts(subject: TokenizerUnderTest) -> dict[int, str]:
    """Return the tokens that are valid UTF-8, by id."""
    texts = {}
    for token_id, token in subject.tokens.items():
        try:
            texts[token_id] = token.decode()
        except UnicodeDecodeError:
            continue
    return texts


def _mark(character: str) -> bool:
    return category(character)[0] == "M"


def only_marks(subject: TokenizerUnderTest) -> Finding:
    """Check for tokens of only combining marks, which are common in scripts of India and Southeast Asia."""
    marks = [(token_id, text.encode()) for token_id, text in _texts(subject).items() if text and all(map(_mark, text))]
    return Finding(not marks, f"{len(marks):,} tokens are only combining marks", named(marks), {"tokens": len(marks)})


def begin_with_marks(subject: TokenizerUnderTest) -> Finding:
    """Check the share of tokens that begin with a combining mark."""
    marked = [(token_id, text.encode()) for token_id, text in _texts(subject).items() if text and _mark(text[0])]
    share = len(marked) / max(1, len(subject.ids))
    sentence = f"{of(len(marked), len(subject.ids), 'tokens')} begin with a combining mark ({share:.2%})"
    return Finding(share < SOME_MARKS, sentence, named(marked), {"share": share})


def broken_characters(subject: TokenizerUnderTest) -> Finding:
    """Report tokens that are not valid UTF-8; single bytes are counted, but not shown."""
    text = _texts(subject)
    broken = [(token_id, token) for token_id, token in subject.tokens.items() if token_id not in text]
    longer = [(token_id, token) for token_id, token in broken if len(token) > 1]
    sentence = f"{of(len(broken), len(subject.ids), 'tokens')} are incomplete characters, "
    sentence += f"{len(longer):,} of them longer than one byte"
    return Finding(True, sentence, named(longer), {"tokens": len(broken), "longer": len(longer)})


def long_tokens(subject: TokenizerUnderTest) -> Finding:
    """Check for tokens of more than 64 characters."""
    long = [
        (token_id, token)
        for token_id, token in subject.tokens.items()
        if len(token.decode("utf-8", "replace")) > LONGEST
    ]
    return Finding(not long, f"{len(long):,} tokens have over {LONGEST} characters", named(long))


def special_in_text(subject: TokenizerUnderTest) -> Finding:
    """Check that names of special tokens are encoded as text, without special ids, as a text and between words.

    If the tokenizer restores all plain probes, these texts must be restored, too.
    """
    special = set(subject.traits.special.values())
    lossless = all(came_back(subject, text) is None for text in EVERY_PROBE)
    if not special and not lossless:
        return not_applicable("it declares no special tokens and does not restore other text")
    names = dict.fromkeys([*SPECIAL, *subject.traits.special])
    wrong = []
    for name in names:
        for text in (name.encode(), f"a {name} b".encode()):
            try:
                ids = subject.encode(text)
                if special & set(ids) or (lossless and subject.decode(ids) != text):
                    wrong.append(Example(text, f"ids {ids[:8]}"))
                    break
            except EncodeError as error:
                wrong.append(Example(text, str(error)))
                break
    sentence = f"{of(len(names) - len(wrong), len(names), 'names')} of special tokens are encoded as text"
    return Finding(not wrong, sentence, sorted(wrong, key=lambda example: len(example.data))[:SHOWN])


def special_ids(subject: TokenizerUnderTest) -> Finding:
    """Check that special tokens have ids in range and decode to their names."""
    special = subject.traits.special
    if not special:
        return not_applicable("it has no special tokens")
    highest = max([*subject.ids, (subject.traits.id_limit or len(subject.tokenizer)) - 1])
    wrong = {
        name: token_id
        for name, token_id in special.items()
        if not 0 <= token_id <= highest or _name(subject, token_id) != name
    }
    sentence = (
        f"{of(len(special) - len(wrong), len(special), 'special tokens')} have an id in range that decodes to them"
    )
    return Finding(
        not wrong,
        sentence,
        [Example(name.encode(), f"id {token_id}") for name, token_id in list(wrong.items())[:SHOWN]],
    )


def _name(subject: TokenizerUnderTest, token_id: int) -> str | None:
    try:
        return subject.decode([token_id]).decode("utf-8", "replace")
    except EncodeError:
        return None


def unique_special_ids(subject: TokenizerUnderTest) -> Finding:
    """Check that special tokens have unique ids, and that a vocabulary without all bytes has an unknown token."""
    special = subject.traits.special
    equal = len(special) - len(set(special.values()))
    lacks = not every_byte(subject).passes and subject.traits.unknown_id is None
    sentence = f"{len(special):,} special tokens, {equal:,} with the id of another"
    return Finding(not equal and not lacks, sentence + "; no unknown token, although bytes are missing" * lacks)


def never_used(subject: TokenizerUnderTest) -> Finding:
    """Report tokens that occur in no document."""
    if not subject.documents:
        return not_applicable("no documents were given")
    used: set[int] = set()
    for text in subject.documents:
        try:
            used.update(np.unique(np.asarray(subject.encode(text), np.int64)).tolist())
        except EncodeError:
            continue
    unseen = [
        (token_id, subject.tokens[token_id])
        for token_id in subject.ids
        if token_id not in used and token_id in subject.tokens
    ]
    longer = [(token_id, token) for token_id, token in unseen if len(token) > 1]
    sentence = (
        f"{of(len(unseen), len(subject.ids), 'tokens')} occur in no document, {len(longer):,} of them over one byte"
    )
    return Finding(True, sentence, named(longer), {"tokens": len(unseen), "longer": len(longer)})


CHECKS = (
    Check("sizes", "every id has one token, and their number is len", "failure", sizes, "C14"),
    Check("special_ids", "special tokens have ids in range and decode to their names", "failure", special_ids, "C7"),
    Check("special_in_text", "names of special tokens in a text are encoded as text", "failure",
          special_in_text),
    Check("special_apart", "special tokens have unique ids; without all bytes there is an unknown token", "warning",
          unique_special_ids, "C7"),
    Check("holes", "ids are consecutive", "warning", holes, "C14"),
    Check("duplicates", "no two tokens have the same bytes", "warning", duplicates),
    Check("bytes", "each of the 256 bytes is a token", "warning", every_byte, "C17"),
    Check("marks", "no token is only combining marks", "warning", only_marks, "C2"),
    Check("leading_marks", "few tokens begin with a combining mark", "warning", begin_with_marks, "C2"),
    Check("long_tokens", f"no token has over {LONGEST} characters", "warning", long_tokens, "C15"),
    Check("broken_characters", "tokens that are incomplete characters", "told", broken_characters),
    Check("never_used", "tokens that do not occur in the documents", "told", never_used),
)  # fmt: skip


LEAST = 0.99
"""Consistency below which the check warns."""


def consistency(patterns: Mapping[str, int]) -> float:
    """Return 1 - H / log2(number of patterns), where H is their entropy in bits; 1 for a single pattern."""
    if len(patterns) < 2:
        return 1.0
    total = sum(patterns.values())
    entropy = -math.fsum(count / total * math.log2(count / total) for count in patterns.values())
    return 1 - entropy / math.log2(len(patterns))


def number_splits(subject: TokenizerUnderTest) -> Finding:
    """Report how numbers are split: the frequency of each pattern, by number of digits."""
    patterns_of = _number_patterns(subject)
    if isinstance(patterns_of, Finding):
        return patterns_of
    sentence = "; ".join(
        f"{length} {'digit' if length == 1 else 'digits'}: "
        + ", ".join(_cut(pattern, count) for pattern, count in patterns.most_common(4))
        + (f" and {len(patterns) - 4} more" if len(patterns) > 4 else "")
        for length, patterns in sorted(patterns_of.items())
    )
    return Finding(
        True, sentence, numbers={"patterns": {str(length): dict(counts) for length, counts in patterns_of.items()}}
    )


def _cut(pattern: str, count: int) -> str:
    """Return a text such as ``77 as 1+1`` or ``13 as one token``."""
    return f"{count:,} as {pattern}" if "+" in pattern else f"{count:,} as one token"


def consistent(subject: TokenizerUnderTest) -> Finding:
    """Check that numbers with equally many digits are split in the same way."""
    patterns_of = _number_patterns(subject)
    if isinstance(patterns_of, Finding):
        return patterns_of
    values = {length: consistency(patterns) for length, patterns in sorted(patterns_of.items())}
    worst = min(values, key=values.__getitem__)
    sentence = (
        f"lowest consistency {values[worst]:.3f}, at {worst} digits" if values[worst] < 1 else "one pattern per length"
    )
    examples = [] if values[worst] >= LEAST else _unlike(subject, worst, patterns_of[worst])
    shown = {str(length): value for length, value in values.items()}
    return Finding(values[worst] >= LEAST, sentence, examples, {"consistency": shown})


def _number_patterns(subject: TokenizerUnderTest) -> Finding | dict[int, Counter[str]]:
    try:
        patterns = subject.cuts_of_numbers
    except EncodeError as error:
        return not_applicable(f"it rejects numbers ({error})")
    return patterns or not_applicable("no number equals its joined tokens")


def _unlike(subject: TokenizerUnderTest, length: int, patterns: Counter[str]) -> list[Example]:
    """Return the smallest number of each of the two most frequent patterns."""
    wanted = [pattern for pattern, _ in patterns.most_common(2)]
    shown = []
    for number, ids in subject.numbers.items():
        if len(number) == length:
            pieces = [subject.tokens.get(token_id, b"").strip() for token_id in ids]
            pattern = "+".join(str(len(piece)) for piece in pieces if piece)
            if pattern in wanted:
                wanted.remove(pattern)
                shown.append(Example(number, "split as " + "|".join(piece.decode() for piece in pieces if piece)))
    return shown


DIGITS_CHECKS = (
    Check("numbers", "how 0 to 9999 are split, by number of digits", "told", number_splits),
    Check("digits", "numbers with equally many digits are split in the same way", "warning", consistent, "C6"),
)


LEAST_COVERED = 0.999
"""Minimum share of the bytes that are not white space that pre-tokens must cover."""


def applied(subject: TokenizerUnderTest) -> Finding:
    """Check that composed and decomposed forms have the same ids if the declared normaliser unifies them."""
    normalized = subject.traits.normalized
    if normalized is None:
        return not_applicable("it declares no normaliser")
    pairs = [
        (unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text))
        for group in ("normal forms", "marks")
        for text in PROBES[group]
    ]
    same = [pair for pair in pairs if normalized(pair[0]) == normalized(pair[1])]
    wrong = [pair for pair in same if subject.encode(pair[0].encode()) != subject.encode(pair[1].encode())]
    if not wrong:
        alike = f"the same ids for all {len(same):,} that it unifies" if same else "it unifies none of them"
        return Finding(True, f"{len(pairs):,} pairs tried: {alike}")
    examples = [Example(decomposed.encode(), "other ids than its composed form") for _, decomposed in wrong[:1]]
    return Finding(False, f"other ids for {of(len(wrong), len(same), 'pairs')} that it unifies", examples)


def covered(subject: TokenizerUnderTest) -> Finding:
    """Check that pre-tokens are consecutive and cover every byte."""
    boundaries = subject.traits.boundaries
    if boundaries is None:
        return not_applicable("it does not define its pre-tokens")
    texts = [b"", *EVERY_PROBE, *white_space(), *emoji_sequences(), *invalid_utf8(), *blocks()]
    whole = joined = 0
    wrong: list[bytes] = []
    for text in texts:
        bounds = boundaries(text).tolist()
        ascending = all(start < end for start, end in pairwise(bounds))
        end_to_end = ascending and (bounds[0], bounds[-1]) == (0, len(text))
        size = len(b"".join(text.split()))
        whole, joined = whole + size, joined + size * end_to_end
        if not end_to_end:
            wrong.append(text)
    sentence = f"{joined:,} of {whole:,} bytes that are not white space are in pre-tokens"
    examples = [Example(min(wrong, key=len))] if wrong else []
    return Finding(joined >= LEAST_COVERED * whole and not wrong, sentence, examples, {"bytes": whole, "held": joined})


NORMALISER_CHECKS = (
    Check("normaliser", "the declared normaliser is applied", "failure", applied, "C4"),
    Check("pretokens", "pre-tokens cover all of a text", "failure", covered, "C10"),
)
