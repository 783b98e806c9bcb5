"""Embedded vocabularies and pre-tokenizers, with which a script of the page tokenizes a text of the reader.

The script, ``templates/own_text.js``, uses no regular expressions. A pre-tokenizer is embedded as the automaton that
the library compiles, with its character classes, so the browser's version of Unicode does not matter.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokbench.io.atomic import atomic_file
from tokbench.io.job_record import comment_of_job
from tokbench.options import Options
from tokbench.pretokenization import Pretokenization
from tokbench.pretokenization.patterns.automaton import DEAD, Automaton
from tokbench.pretokenization.patterns.parse import LanguageError
from tokbench.pretokenization.patterns.sequence import automaton_of_sequence
from tokbench.report.wording import in_bytes, join_all
from tokbench.segmentation.events import history_of
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import Vocabulary, costs_of, usable_scores

MOST_BYTES = 1_000_000
"""Most bytes of embedded data, so that the page stays below 2 MB."""
FILE = "own_text.js"
"""File next to the page with the tokenizers that do not fit into it. A script, as pages of a disk load no data."""
CALL = "ownText.add({});\n"
"""Content of this file."""
LONGEST_TEXT = 500
"""Most characters of a text."""
START = "Tokenizers aren't naïve: they split 1,234 words 🙂"
"""Initial text: a contraction, a letter of two bytes, a number, a character of four bytes."""
HOW = (
    "Your text is tokenized in this browser and not sent anywhere. The ids are those of the library; each has its "
    "colour. Underlined: {first} has no token with these bounds."
)
SEPARATOR = "\u0100"
"""Character between two packed tokens. A byte from 0x7F on is packed as its value + 0x100, which is no control."""
_PACKED = {byte: chr(byte + 0x100 * (byte >= 0x7F)) for byte in range(256)}
_MERGING = frozenset({"merge", "whole_or_merge", "bpe_dropout"})
_BY_HISTORY = frozenset({"events", "post_removal"})
METHODS = frozenset(
    {*_MERGING, *_BY_HISTORY, "ranked", "greedy", "longest_prefix", "longest_suffix", "shortest_path", "likelihood"}
    | {"cover", "likeliest_shortest_path"}
)
"""Segmentations that the script supports."""


@dataclass(frozen=True)
class OwnText:
    """A box in which a reader types a text.

    Attributes:
        data: JSON for the script, without ``<``; empty if no tokenizer can be embedded.
        note: explanation of the rows, and tokenizers that are left out, each with the reason.
        start: initial text.
        longest: most characters of a text.
        script: content of :data:`FILE`, which the page loads when the reader asks for it; empty without such a file.
        names: names of the tokenizers in it.
    """

    data: str
    note: str
    start: str = START
    longest: int = LONGEST_TEXT
    script: str = ""
    names: Sequence[str] = ()

    @property
    def file(self) -> str:
        """Name of the file next to the page; empty if there is none."""
        return FILE if self.script else ""

    @property
    def offer(self) -> str:
        """Text of the button that loads the file."""
        return f"Load the vocabularies of {join_all(self.names)} ({in_bytes(len(self.script.encode()))})"


def own_text(
    tokenizers: Iterable[Tokenizer], most_bytes: int = MOST_BYTES, *, with_file: bool = False
) -> OwnText | None:
    """Return the box for some tokenizers; None if there are none.

    Args:
        tokenizers: tokenizers in the order of their rows. A tokenizer that would exceed the limit is left out; later
            ones may still fit.
        most_bytes: most bytes of the data in UTF-8 (default: 1,000,000).
        with_file: True if tokenizers that would exceed the limit are in a file next to the page (default: False).
    """
    made = list(tokenizers)
    sizes = {tokenizer.nominal_size for tokenizer in made}
    page, beyond = _Page(), _Page()
    left_out: list[str] = []
    for tokenizer in made:
        name = tokenizer.name if len(sizes) == 1 else f"{tokenizer.name} {tokenizer.nominal_size:,}"
        if reason := unsupported_reason(tokenizer):
            left_out.append(f"{name} ({reason})")
        elif not page.add(name, tokenizer, most_bytes) and not (with_file and beyond.add(name, tokenizer, inf)):
            left_out.append(f"{name} (its vocabulary does not fit into the {most_bytes / 1e6:g} MB of this box)")
    if not made:
        return None
    without = [f"Left out: {join_all(left_out)}."] if left_out else []
    rows = [*page.tokenizers, *beyond.tokenizers]
    if not rows:
        return OwnText("", without[0])
    note = " ".join([HOW.format(first=rows[0]["name"]), *without])
    script = CALL.format(beyond.written()) if beyond.tokenizers else ""
    return OwnText(page.written(), note, script=script, names=[row["name"] for row in beyond.tokenizers])


def unsupported_reason(tokenizer: Tokenizer) -> str:
    """Return the reason why the script does not support a tokenizer; empty if it does."""
    if type(tokenizer) is not Tokenizer:
        return "it works through another library"
    if tokenizer.segmentation not in METHODS:
        return f"the script does not have the segmentation {tokenizer.segmentation}"
    if tokenizer.normalization or tokenizer.vocabulary.added is not None:
        return "it normalises texts, or has added tokens"
    if _automaton(tokenizer.scheme) is None and tokenizer.scheme.splits != ():
        return f"its pre-tokenizer {tokenizer.scheme.label} has no automaton"
    return ""


def _automaton(scheme: Pretokenization) -> Automaton | None:
    """Return the automaton of a pre-tokenizer; None if it has none or does not split."""
    if scheme.scanner is None or not scheme.splits:
        return None
    try:
        return automaton_of_sequence(scheme.splits)
    except LanguageError:
        return None


class _Page:
    """Data of a page, in which tokenizers share pre-tokenizers and vocabularies."""

    def __init__(self) -> None:
        self.pretokenizers: dict[str, int] = {}
        self.vocabularies: dict[str, int] = {}
        self.tokenizers: list[dict[str, Any]] = []
        self.size = 0

    def add(self, name: str, tokenizer: Tokenizer, most_bytes: float) -> bool:
        """Add a tokenizer if its data fit; return True if they do."""
        automaton = _automaton(tokenizer.scheme)
        pretokenizer = "null" if automaton is None else _json(_steps(automaton))
        vocabulary = _json(_vocabulary(tokenizer))
        row: dict[str, Any] = {"name": name, "method": tokenizer.segmentation, "options": _options(tokenizer.options)}
        parts = [*({pretokenizer} - self.pretokenizers.keys()), *({vocabulary} - self.vocabularies.keys()), _json(row)]
        size = self.size + sum(len(part.encode()) for part in parts)
        if size > most_bytes:
            return False
        self.size = size
        row["pretokenizer"] = self.pretokenizers.setdefault(pretokenizer, len(self.pretokenizers))
        row["vocabulary"] = self.vocabularies.setdefault(vocabulary, len(self.vocabularies))
        self.tokenizers.append(row)
        return True

    def written(self) -> str:
        """Return the data as JSON."""
        parts = {"pretokenizers": self.pretokenizers, "vocabularies": self.vocabularies}
        shared = "".join(f'"{name}":[{",".join(texts)}],' for name, texts in parts.items())
        return f'{{{shared}"tokenizers":{_json(self.tokenizers)}}}'


def _json(value: object) -> str:
    """Return JSON that may be part of an HTML page."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _options(options: Options) -> dict[str, Any]:
    """Return options with a value; a seed as text, because it may have 64 bits."""
    values = {key: value for key, value in options.model_dump(mode="json").items() if value is not None}
    return values | ({"seed": str(values["seed"])} if "seed" in values else {})


def _steps(automaton: Automaton) -> dict[str, Any]:
    """Return an automaton: runs of code points with classes, and steps whose lowest bit is set if a match ends."""
    runs, last = [], 0
    for first, number in automaton.symbols.classes.runs:
        runs += [first - last, number]
        last = first
    steps = [
        [2 * target + (ends >> symbol & 1) for symbol, target in enumerate(targets)]
        for targets, ends in zip(automaton.targets, automaton.ends, strict=True)
    ]
    assert not any(steps[DEAD])
    final, feed = automaton.symbols.final, automaton.symbols.feed
    return {"runs": runs, "steps": steps, "worlds": list(automaton.worlds), "final": final, "feed": feed}


def _vocabulary(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the tokens and the parts of a vocabulary that the segmentation needs."""
    vocabulary, method = tokenizer.vocabulary, tokenizer.segmentation
    tokens = vocabulary.tokens
    data: dict[str, Any] = {}
    if method in _MERGING:
        data = _merges(vocabulary)
    elif method in _BY_HISTORY:
        history = history_of(vocabulary, method)
        tokens = history.tokens.tokens
        events = [[int(event.split), *(history.ids[part] for part in event.parts)] for event in history.events]
        data = {"kept": len(vocabulary), "events": events}
    elif method == "likelihood":
        data = _scores(vocabulary)
    elif method == "likeliest_shortest_path":
        data = _scores(vocabulary, costs_of)
    elif method == "longest_prefix" and vocabulary.continuation is not None:
        data = {"continuation": "".join("01"[inside] for inside in vocabulary.continuation.tolist())}
    if vocabulary.ids is not None:
        data["ids"] = vocabulary.ids.tolist()
    return {"tokens": SEPARATOR.join(map(_encode_token, tokens)), **data}


def _encode_token(token: bytes) -> str:
    return token.decode("latin-1").translate(_PACKED)


def _merges(vocabulary: Vocabulary) -> dict[str, Any]:
    """Return the length of each merge's left part in bytes, and its result unless results are the last tokens."""
    assert vocabulary.merges is not None
    merges = vocabulary.merges.tolist()
    lefts = [len(vocabulary.tokens[left]) for left, _, _ in merges]
    results = [result for _, _, result in merges]
    in_order = results == list(range(len(vocabulary) - len(merges), len(vocabulary)))
    return {"lefts": lefts, **({} if in_order else {"results": results})}


def _scores(
    vocabulary: Vocabulary, converted: Callable[[NDArray[np.float64]], NDArray[Any]] = np.asarray
) -> dict[str, Any]:
    """Return scores, optionally converted to costs, in the shortest exact digits; null for an unusable token."""
    assert vocabulary.scores is not None
    scores, usable = usable_scores(vocabulary.tokens, vocabulary.scores)
    pairs: Iterable[tuple[float, bool]] = zip(converted(scores).tolist(), usable.tolist(), strict=True)
    return {"scores": [score if used else None for score, used in pairs]}


def read_own_text(
    folders: Sequence[str], load: Callable[[str], Tokenizer] = Tokenizer.load, *, with_file: bool = False
) -> OwnText | None:
    """Return the box for tokenizers in folders, see :func:`own_text`; None if there are none."""
    return own_text(map(load, folders), with_file=with_file)


def write_script(box: OwnText | None, path: Path | str) -> None:
    """Write the file next to the page, atomically; without tokenizers if all fit into the page."""
    with atomic_file(path) as unfinished:
        script = box.script if box is not None and box.script else CALL.format(_Page().written())
        unfinished.write_text(script + comment_of_job(".js"), encoding="utf-8")
