"""Round-trip checks: encoding and decoding must restore every byte.

Further checks measure the losses of lossy tokenizers: white space and unknown tokens.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from time import process_time
from unicodedata import category

from tokbench.inspection.checks import probes
from tokbench.inspection.checks.finding import Check, Example, Finding, not_applicable, of, shortest
from tokbench.inspection.checks.probes import PROBES
from tokbench.inspection.checks.subject import EncodeError, TokenizerUnderTest

SHOWN = 3
"""Maximum number of examples per check."""
SLOW = 1.0
"""Processor time in seconds after which no longer run is tried."""
MOST_UNKNOWN = 0.01
"""Share of unknown tokens in a script above which the check warns."""


def came_back(subject: TokenizerUnderTest, text: bytes) -> bytes | str | None:
    """Return None if a text is restored, else the decoded bytes, or the error message if it was rejected."""
    return _tried(subject, text)[1]


def _tried(subject: TokenizerUnderTest, text: bytes) -> tuple[list[int], bytes | str | None]:
    """Return the ids of a text (none if it is rejected) and the result of :func:`came_back`."""
    try:
        ids = subject.encode(text)
        back = subject.decode(ids)
    except EncodeError as error:
        return [], str(error)
    return ids, None if back == text else back


def cause(subject: TokenizerUnderTest, text: bytes, ids: Sequence[int], back: bytes | str) -> str:
    """Return the cause of a failed round trip, inferred from the ids and the decoded bytes."""
    if isinstance(back, str):
        return "rejected"
    if subject.traits.unknown_id in ids:
        return "unknown token"
    try:
        ours, theirs = text.decode(), back.decode()
    except UnicodeDecodeError:
        return "bytes that are not UTF-8"
    if "".join(ours.split()) == "".join(theirs.split()):
        return "white space"
    if any(unicodedata.normalize(form, ours) == theirs for form in ("NFC", "NFD", "NFKC", "NFKD")):
        return "normal form"
    if ours.casefold() == theirs.casefold():
        return "case"
    return "normaliser" if _bare(ours) == _bare(theirs) else "other"


def _bare(text: str) -> str:
    """Reduce a text to base characters, without compatibility forms, marks, case, white space and controls."""
    spread = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return "".join(character for character in spread if unicodedata.category(character)[0] not in "MZC")


def round_trip(subject: TokenizerUnderTest, texts: Iterable[bytes]) -> Finding:
    """Encode and decode texts; report the shortest input for each cause of a loss."""
    causes: Counter[str] = Counter()
    first: dict[str, bytes] = {}
    total = 0
    for text in texts:
        total += 1
        ids, back = _tried(subject, text)
        if back is not None:
            why = cause(subject, text, ids, back)
            causes[why] += 1
            first.setdefault(why, text)
    if not causes:
        sentence = "the text is restored" if total == 1 else f"all {total:,} texts are restored"
        return Finding(True, sentence, numbers={"texts": total, "lost": 0})
    lost = sum(causes.values())
    sentence = ", ".join(f"{why} {count:,}" for why, count in causes.most_common())
    examples = sorted((_shown(subject, text) for text in first.values()), key=lambda example: len(example.data))
    numbers = {"texts": total, "lost": lost, "causes": dict(causes)}
    return Finding(False, f"{of(lost, total, 'texts')} are not restored ({sentence})", examples[:SHOWN], numbers)


def _shown(subject: TokenizerUnderTest, text: bytes) -> Example:
    short = shortest(text, lambda part: came_back(subject, part) is not None)
    back = came_back(subject, short)
    return Example(short, back) if isinstance(back, str) else Example(short, gave=back)


def of_texts(texts: Callable[[], Iterable[bytes]]) -> Callable[[TokenizerUnderTest], Finding]:
    """Return a check that these texts are restored."""
    return lambda subject: round_trip(subject, texts())


def of_probes(*groups: str) -> Callable[[], Iterable[bytes]]:
    """Return a function that lists the probes of these groups."""
    return lambda: [text.encode() for group in groups for text in probes.PROBES[group]]


def long_runs(subject: TokenizerUnderTest) -> Finding:
    """Check runs of a repeated unit, each ten times as long as the last, until one takes over a second.

    SentencePiece needs quadratic time for a run for which its model has no piece.
    """
    stopped: dict[str, int] = {}

    def runs() -> Iterable[bytes]:
        for unit in probes.RUNS:
            for length in probes.RUN_LENGTHS:
                begun = process_time()
                yield unit.encode() * length
                if process_time() - begun > SLOW:
                    stopped[unit] = length
                    break

    finding = round_trip(subject, runs())
    if not stopped:
        return finding
    least = min(stopped.values())
    sentence = f"{finding.sentence}; {of(len(stopped), len(probes.RUNS), 'runs')} take over a second from {least:,} on"
    return Finding(finding.passes, sentence, finding.examples, {**finding.numbers, "slow_from": least})


def documents(subject: TokenizerUnderTest) -> Finding:
    """Check the round trip of the user's documents."""
    if not subject.documents:
        return not_applicable("no documents were given")
    return round_trip(subject, subject.documents)


def idempotent(subject: TokenizerUnderTest) -> Finding:
    """Check that encoding, decoding and encoding again returns the same ids."""
    wrong: list[Example] = []
    texts = [*probes.EVERY_PROBE, *probes.white_space(), *probes.emoji_sequences(), *subject.documents]
    for text in texts:
        if _changes(subject, text):
            wrong.append(Example(text))
    if not wrong:
        return Finding(True, f"same ids after a round trip for all {len(texts):,} texts", numbers={"texts": len(texts)})
    short = shortest(min((example.data for example in wrong), key=len), lambda example: _changes(subject, example))
    first = subject.encode(short)
    what = f"ids {first[:8]}, then {subject.encode(subject.decode(first))[:8]}"
    numbers = {"texts": len(texts), "differ": len(wrong)}
    return Finding(
        False,
        f"different ids after a round trip for {of(len(wrong), len(texts), 'texts')}",
        [Example(short, what)],
        numbers,
    )


def _changes(subject: TokenizerUnderTest, text: bytes) -> bool:
    try:
        ids = subject.encode(text)
        return subject.encode(subject.decode(ids)) != ids
    except EncodeError:
        return False  # Reported by the round trip.


CHECKS = (
    Check("every_byte", "U+0000 to U+00FF are restored", "failure", of_texts(probes.every_byte), "C1"),
    Check("probes", "78 short texts of nine kinds are restored", "failure", of_texts(lambda: probes.EVERY_PROBE), "C3"),
    Check("normal_forms", "composed and decomposed characters are restored unchanged", "failure",
          of_texts(of_probes("normal forms", "marks")), "C11"),
    Check("emoji", "sequences of emoji, joiners and selectors are restored", "failure",
          of_texts(probes.emoji_sequences), "C12"),
    Check("controls", "control and format characters are restored", "failure", of_texts(probes.controls), "C12"),
    Check("white_space", "white space of every kind is restored, at both ends and in runs", "failure",
          of_texts(probes.white_space)),
    Check("unicode", "every code point is restored, 256 per text", "failure", of_texts(probes.blocks)),
    Check("invalid_utf8", "bytes that are not UTF-8 are restored", "failure", of_texts(probes.invalid_utf8)),
    Check("long_runs", "runs of up to 100,000 repetitions are restored", "failure", long_runs),
    Check("documents", "the given documents are restored", "failure", documents),
    Check("idempotence", "decoded text encodes to the same ids again", "failure", idempotent),
)  # fmt: skip


def white_space_kept(subject: TokenizerUnderTest) -> Finding:
    """Count the white-space characters of twelve texts that survive a round trip.

    A character survives if it is in the longest common subsequence with the most white space.
    """
    kept = whole = 0
    worst: Example | None = None
    for text in PROBES["white space"]:
        try:
            back = subject.round_trip(text.encode()).decode("utf-8", "replace")
        except EncodeError:
            back = ""
        share, count = _common(text, back), sum(map(_white, text))
        kept, whole = kept + share, whole + count
        if share < count and (worst is None or len(text.encode()) < len(worst.data)):
            worst = Example(text.encode(), gave=back.encode())
    sentence = f"{kept} of {whole} white-space characters are kept"
    return Finding(kept == whole, sentence, [worst] if worst else [], {"kept": kept, "white": whole})


def _white(character: str) -> bool:
    return character in " \t\n\r" or category(character) == "Zs"


def _common(a: str, b: str) -> int:
    """Count white space in the longest common subsequence; among equally long ones, take the one with the most."""
    before: list[tuple[int, int]] = [(0, 0)] * (len(b) + 1)
    for character in a:
        row = [(0, 0)]
        for place, other in enumerate(b):
            length, white = before[place]
            joined = (length + 1, white + _white(character)) if character == other else (0, 0)
            row.append(max(joined, before[place + 1], row[-1]))
        before = row
    return before[-1][1]


def unknown_by_script(subject: TokenizerUnderTest) -> Finding:
    """Compute the share of unknown tokens in a text of each script."""
    unknown = subject.traits.unknown_id
    if unknown is None:
        return not_applicable("it has no unknown token")
    shares = {text: _share(subject, text.encode(), unknown) for text in PROBES["scripts"]}
    worst = sorted((text for text, share in shares.items() if share > MOST_UNKNOWN), key=shares.__getitem__)[::-1]
    sentence = f"more than {MOST_UNKNOWN:.0%} unknown tokens in {len(worst)} of {len(shares)} scripts"
    examples = [Example(text.encode(), f"{shares[text]:.0%} unknown") for text in worst]
    return Finding(not worst, sentence, examples, {"shares": shares})


def _share(subject: TokenizerUnderTest, text: bytes, unknown: int) -> float:
    try:
        ids: Sequence[int] = subject.encode(text)
    except EncodeError:
        return 1.0
    return ids.count(unknown) / len(ids) if ids else 0.0


KEPT_CHECKS = (
    Check("white_space_kept", "white-space characters of twelve texts are kept", "warning", white_space_kept, "C5"),
    Check("unknown_tokens", "few unknown tokens in every script", "warning", unknown_by_script, "C13"),
)
