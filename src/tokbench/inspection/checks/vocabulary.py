"""Checks of the vocabulary by itself: ids, forms, marks, broken characters, special tokens, and what is never used.

How numbers are cut: told, and whether those of one length are cut alike.

Checks of what stands before the vocabulary: the normaliser that is declared, and the pre-tokens.
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
"""Tokens that are named of many."""
LONGEST = 64
"""Characters of an entry above which a person should look."""
MANY_MARKS, SOME_MARKS = 0.02, 0.005
"""Shares of entries that begin with a combining mark."""


def named(tokens: Sequence[tuple[int, bytes]], what: str = "") -> list[Example]:
    """The first few tokens, each with its id."""
    return [Example(token, f"id {one}{what}") for one, token in tokens[:SHOWN]]


def sizes(subject: TokenizerUnderTest) -> Finding:
    """As many tokens as the length says, each with an id of its own."""
    ids, length = subject.ids, len(subject.tokenizer)
    twice = [one for one, count in Counter(ids).items() if count > 1]
    mute = [one for one in ids if one not in subject.tokens]
    told = f"{len(ids):,} ids, {length:,} tokens"
    if twice:
        return Finding(False, f"{told}; {len(twice):,} ids stand twice (first {twice[0]})")
    if len(ids) != length or mute:
        return Finding(False, told + (f"; id {mute[0]} and {len(mute) - 1:,} others decode to nothing" if mute else ""))
    return Finding(True, told, numbers={"ids": len(ids)})


def holes(subject: TokenizerUnderTest) -> Finding:
    """Ids from 0 up without a gap."""
    ids = sorted(set(subject.ids))
    missing = ids[-1] + 1 - len(ids) if ids else 0
    if not missing:
        return Finding(True, f"ids 0 to {len(ids) - 1:,}")
    first = next(place for place, one in enumerate(ids) if one != place)
    return Finding(False, f"{missing:,} ids up to {ids[-1]:,} are of no token (first {first:,})")


def duplicates(subject: TokenizerUnderTest) -> Finding:
    """Tokens of the same bytes; one for the start of a pre-token and one for its inside are two."""
    seen: dict[tuple[bytes, bool], list[int]] = {}
    for one, form in subject.forms.items():
        seen.setdefault(form, []).append(one)
    twice = [(form[0], ids) for form, ids in seen.items() if len(ids) > 1]
    examples = [Example(token, f"ids {', '.join(map(str, ids[:4]))}") for token, ids in twice[:SHOWN]]
    return Finding(not twice, f"{len(twice):,} tokens have the bytes of another", examples, {"tokens": len(twice)})


def every_byte(subject: TokenizerUnderTest) -> Finding:
    """Each of the 256 bytes as a token."""
    missing = sorted(set(range(256)) - {token[0] for token in subject.tokens.values() if len(token) == 1})
    told = f"{256 - len(missing)} of 256 bytes are tokens"
    return Finding(not missing, told, [Example(bytes([byte])) for byte in missing[:SHOWN]], {"missing": len(missing)})


def _texts(subject: TokenizerUnderTest) -> dict[int, str]:
    """Tokens that are text, by id."""
    found = {}
    for one, token in subject.tokens.items():
        try:
            found[one] = token.decode()
        except UnicodeDecodeError:
            continue
    return found


def _mark(character: str) -> bool:
    return category(character)[0] == "M"


def only_marks(subject: TokenizerUnderTest) -> Finding:
    """Tokens of combining marks alone, by which text in most scripts of India and Southeast Asia is cut anyway."""
    found = [(one, text.encode()) for one, text in _texts(subject).items() if text and all(map(_mark, text))]
    return Finding(not found, f"{len(found):,} tokens are combining marks alone", named(found), {"tokens": len(found)})


def begin_with_marks(subject: TokenizerUnderTest) -> Finding:
    """The share of tokens that begin with one."""
    found = [(one, text.encode()) for one, text in _texts(subject).items() if text and _mark(text[0])]
    share = len(found) / max(1, len(subject.ids))
    told = f"{of(len(found), len(subject.ids), 'tokens')} begin with a combining mark ({share:.2%})"
    return Finding(share < SOME_MARKS, told, named(found), {"share": share})


def broken_characters(subject: TokenizerUnderTest) -> Finding:
    """Tokens that are not UTF-8 by themselves, single bytes left out."""
    text = _texts(subject)
    found = [(one, token) for one, token in subject.tokens.items() if one not in text]
    longer = [(one, token) for one, token in found if len(token) > 1]
    told = f"{of(len(found), len(subject.ids), 'tokens')} are no whole characters, "
    told += f"{len(longer):,} of them longer than one byte"
    return Finding(True, told, named(longer), {"tokens": len(found), "longer": len(longer)})


def long_tokens(subject: TokenizerUnderTest) -> Finding:
    """Tokens of more than 64 characters."""
    found = [(one, token) for one, token in subject.tokens.items() if len(token.decode("utf-8", "replace")) > LONGEST]
    return Finding(not found, f"{len(found):,} tokens have over {LONGEST} characters", named(found))


def special_in_text(subject: TokenizerUnderTest) -> Finding:
    """What some tokenizer takes for a special token is text: it gives no special id, between words neither.

    Where a tokenizer loses nothing of the plain probes, such a text comes back, too.
    """
    special = set(subject.traits.special.values())
    lossless = all(came_back(subject, text) is None for text in EVERY_PROBE)
    if not special and not lossless:
        return not_applicable("it tells no special tokens, and loses other text as well")
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
    told = f"{of(len(names) - len(wrong), len(names), 'names')} of special tokens are text in a text"
    return Finding(not wrong, told, sorted(wrong, key=lambda one: len(one.data))[:SHOWN])


def special_ids(subject: TokenizerUnderTest) -> Finding:
    """Special tokens have ids in range, and decode to their names."""
    special = subject.traits.special
    if not special:
        return not_applicable("it has no special tokens of its own")
    highest = max([*subject.ids, (subject.traits.id_limit or len(subject.tokenizer)) - 1])
    wrong = {name: one for name, one in special.items() if not 0 <= one <= highest or _name(subject, one) != name}
    told = f"{of(len(special) - len(wrong), len(special), 'special tokens')} have an id in range that decodes to them"
    return Finding(not wrong, told, [Example(name.encode(), f"id {one}") for name, one in list(wrong.items())[:SHOWN]])


def _name(subject: TokenizerUnderTest, one: int) -> str | None:
    try:
        return subject.decode([one]).decode("utf-8", "replace")
    except EncodeError:
        return None


def special_apart(subject: TokenizerUnderTest) -> Finding:
    """No two special tokens share an id, and what cannot spell every byte has an unknown token."""
    special = subject.traits.special
    equal = len(special) - len(set(special.values()))
    lacks = not every_byte(subject).passes and subject.traits.unknown_id is None
    told = f"{len(special):,} special tokens, {equal:,} with the id of another"
    return Finding(not equal and not lacks, told + "; no unknown token, though it lacks bytes" * lacks)


def never_used(subject: TokenizerUnderTest) -> Finding:
    """Tokens that no document has."""
    if not subject.documents:
        return not_applicable("no documents were named")
    used: set[int] = set()
    for text in subject.documents:
        try:
            used.update(np.unique(np.asarray(subject.encode(text), np.int64)).tolist())
        except EncodeError:
            continue
    found = [(one, subject.tokens[one]) for one in subject.ids if one not in used and one in subject.tokens]
    longer = [(one, token) for one, token in found if len(token) > 1]
    told = (
        f"{of(len(found), len(subject.ids), 'tokens')} are in no document, {len(longer):,} of them longer than one byte"
    )
    return Finding(True, told, named(longer), {"tokens": len(found), "longer": len(longer)})


CHECKS = (
    Check("sizes", "every id is of one token, and there are as many as are told", "failure", sizes, "C14"),
    Check("special_ids", "special tokens have ids in range and decode to their names", "failure", special_ids, "C7"),
    Check("special_in_text", "names of special tokens are text where they stand in a text", "failure",
          special_in_text),
    Check("special_apart", "special tokens have ids of their own; what lacks bytes has an unknown token", "warning",
          special_apart, "C7"),
    Check("holes", "ids leave none out", "warning", holes, "C14"),
    Check("duplicates", "no two tokens have the same bytes", "warning", duplicates),
    Check("bytes", "each of the 256 bytes is a token", "warning", every_byte, "C17"),
    Check("marks", "no token is of combining marks alone", "warning", only_marks, "C2"),
    Check("leading_marks", "few tokens begin with a combining mark", "warning", begin_with_marks, "C2"),
    Check("long_tokens", f"no token has over {LONGEST} characters", "warning", long_tokens, "C15"),
    Check("broken_characters", "tokens that are no whole characters", "told", broken_characters),
    Check("never_used", "tokens that the documents do not use", "told", never_used),
)  # fmt: skip


LEAST = 0.99
"""Consistency below which a person should look."""


def consistency(patterns: Mapping[str, int]) -> float:
    """1 - H / log2(patterns), where H is the entropy of how often each occurs; 1 where there is one."""
    if len(patterns) < 2:
        return 1.0
    total = sum(patterns.values())
    entropy = -math.fsum(count / total * math.log2(count / total) for count in patterns.values())
    return 1 - entropy / math.log2(len(patterns))


def how(subject: TokenizerUnderTest) -> Finding:
    """How often each pattern occurs, by length."""
    found = _told(subject)
    if isinstance(found, Finding):
        return found
    told = "; ".join(
        f"{length} {'digit' if length == 1 else 'digits'}: "
        + ", ".join(_cut(pattern, count) for pattern, count in patterns.most_common(4))
        + (f" and {len(patterns) - 4} more" if len(patterns) > 4 else "")
        for length, patterns in sorted(found.items())
    )
    return Finding(True, told, numbers={"patterns": {str(length): dict(one) for length, one in found.items()}})


def _cut(pattern: str, count: int) -> str:
    """How many numbers are cut so: ``77 cut 1+1``, ``13 whole``."""
    return f"{count:,} cut {pattern}" if "+" in pattern else f"{count:,} whole"


def consistent(subject: TokenizerUnderTest) -> Finding:
    """Whether numbers of one length have one pattern."""
    found = _told(subject)
    if isinstance(found, Finding):
        return found
    values = {length: consistency(patterns) for length, patterns in sorted(found.items())}
    worst = min(values, key=values.__getitem__)
    told = (
        f"consistency {values[worst]:.3f} at {worst} digits, the least" if values[worst] < 1 else "one pattern a length"
    )
    examples = [] if values[worst] >= LEAST else _unlike(subject, worst, found[worst])
    shown = {str(length): value for length, value in values.items()}
    return Finding(values[worst] >= LEAST, told, examples, {"consistency": shown})


def _told(subject: TokenizerUnderTest) -> Finding | dict[int, Counter[str]]:
    try:
        found = subject.cuts_of_numbers
    except EncodeError as error:
        return not_applicable(f"it takes no numbers ({error})")
    return found or not_applicable("no number comes back from its tokens")


def _unlike(subject: TokenizerUnderTest, length: int, patterns: Counter[str]) -> list[Example]:
    """The least number of each of the two most frequent patterns."""
    wanted = [pattern for pattern, _ in patterns.most_common(2)]
    shown = []
    for number, ids in subject.numbers.items():
        if len(number) == length:
            pieces = [subject.tokens.get(one, b"").strip() for one in ids]
            pattern = "+".join(str(len(piece)) for piece in pieces if piece)
            if pattern in wanted:
                wanted.remove(pattern)
                shown.append(Example(number, "cut as " + "|".join(piece.decode() for piece in pieces if piece)))
    return shown


DIGITS_CHECKS = (
    Check("numbers", "how 0 to 9999 are cut, by lengths of the parts", "told", how),
    Check("digits", "numbers of one length are cut alike", "warning", consistent, "C6"),
)


LEAST_COVERED = 0.999
"""Share of the bytes that are no blanks that pre-tokens must hold."""


def applied(subject: TokenizerUnderTest) -> Finding:
    """Composed and decomposed forms that are one after the declared normaliser have the same ids."""
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
        alike = f"the same ids for all {len(same):,} that it makes one" if same else "it makes none of them one"
        return Finding(True, f"of {len(pairs):,} pairs tried: {alike}")
    examples = [Example(decomposed.encode(), "other ids than its composed form") for _, decomposed in wrong[:1]]
    return Finding(False, f"other ids for {of(len(wrong), len(same), 'pairs')} that it makes one", examples)


def covered(subject: TokenizerUnderTest) -> Finding:
    """Pre-tokens that lie end to end and hold every byte."""
    boundaries = subject.traits.boundaries
    if boundaries is None:
        return not_applicable("it does not tell its pre-tokens")
    texts = [b"", *EVERY_PROBE, *white_space(), *emoji_sequences(), *invalid_utf8(), *blocks()]
    whole = held = 0
    wrong: list[bytes] = []
    for text in texts:
        bounds = boundaries(text).tolist()
        ascending = all(start < end for start, end in pairwise(bounds))
        end_to_end = ascending and (bounds[0], bounds[-1]) == (0, len(text))
        size = len(b"".join(text.split()))
        whole, held = whole + size, held + size * end_to_end
        if not end_to_end:
            wrong.append(text)
    told = f"{held:,} of {whole:,} bytes that are no blanks lie in pre-tokens"
    examples = [Example(min(wrong, key=len))] if wrong else []
    return Finding(held >= LEAST_COVERED * whole and not wrong, told, examples, {"bytes": whole, "held": held})


NORMALISER_CHECKS = (
    Check("normaliser", "the normaliser that is declared is applied", "failure", applied, "C4"),
    Check("pretokens", "pre-tokens hold all of a text", "failure", covered, "C10"),
)
