"""Coverage of texts by a pattern's matches, and texts that exercise each step of its automaton.

The texts test another engine for the same pattern. For each state there is a shortest text that leads to it (the access
string of conformance testing, Chow 1978). Each is extended by characters of every class, drawn from the ends of its
runs. So the texts contain the pattern's literals, their cases, and the neighbours of its sets.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache
from random import Random

from tokbench.pretokenization.patterns.automaton import DEAD, START, Automaton
from tokbench.pretokenization.patterns.borders import Steps
from tokbench.pretokenization.patterns.parse import LanguageError
from tokbench.pretokenization.patterns.sequence import automaton_of_sequence

MOST = 2_000
"""Maximum number of texts for a sequence of patterns; if there are more, a sample of this size is drawn."""
FEW = 4
"""Maximum number of characters of a class that extend one text."""


def left_out(pattern: str) -> str | None:
    """Return a character that may be outside of all matches, None if there is none.

    None is a proof: from every character, all paths of the automaton lead to a match. A character is no proof of the
    opposite.

    Args:
        pattern: a regular expression.

    Raises:
        LanguageError: the pattern is outside the compiled language.
    """
    return next((chr(code) for code, sure in _runs(pattern) if not sure), None)


@cache
def spans_words(pattern: str) -> bool:
    """Return whether text outside of all matches may contain both letters and blanks, so that it may be sentences.

    Args:
        pattern: a regular expression.

    Raises:
        LanguageError: the pattern is outside the compiled language.
    """
    runs = list(_runs(pattern))
    return not any(next(sure for code, sure in reversed(runs) if code <= ord(sign)) for sign in "a ")


def _runs(pattern: str) -> Iterator[tuple[int, bool]]:
    """Yield the first code point of each run of a class, and whether every match tried at its characters succeeds."""
    automaton = automaton_of_sequence((pattern,))
    sure = Steps(automaton).sure
    yield from ((code, bool(sure >> number & 1)) for code, number in automaton.symbols.classes.runs)


def access_texts(patterns: Sequence[str], without: frozenset[int] = frozenset()) -> Iterator[str]:
    """Yield texts for patterns that are applied in turn.

    Args:
        patterns: regular expressions of the compiled language.
        without: code points to exclude.

    Raises:
        LanguageError: a pattern is outside the compiled language.
    """
    try:
        automata = [automaton_of_sequence(patterns)]
    except LanguageError:
        automata = [automaton_of_sequence((pattern,)) for pattern in patterns]
    for automaton in automata:
        yield from _texts(automaton, without, MOST // len(automata))


def _texts(automaton: Automaton, without: frozenset[int], most: int) -> Iterator[str]:
    members = _members(automaton, without)
    draw = Random(0)
    paths = list(_paths(automaton, members))
    pairs = [(path, number) for path in paths for number, characters in enumerate(members) if characters]
    if len(pairs) * FEW > most:
        pairs = draw.sample(pairs, min(len(pairs), most // FEW))
    characters_of_all = [character for characters in members for character in characters]
    for path, number in pairs:
        for character in draw.sample(members[number], min(FEW, len(members[number]))):
            yield "".join(members[step][0] for step in path) + character
            prefix = (draw.choice(members[step]) for step in path)
            yield "".join([*prefix, character, *draw.choices(characters_of_all, k=3)])


def _members(automaton: Automaton, without: frozenset[int]) -> list[str]:
    """Return the characters at the ends of the runs of each class."""
    runs = automaton.symbols.classes.runs
    ends = [first - 1 for first, _ in runs[1:]] + [0x10FFFF]
    codes_by_class: list[list[int]] = [[] for _ in range(automaton.symbols.classes.count)]
    for (first, number), last in zip(runs, ends, strict=True):
        codes_by_class[number] += [code for code in {first, last} - without if not 0xD800 <= code < 0xE000]
    return ["".join(map(chr, sorted(codes))) for codes in codes_by_class]


def _paths(automaton: Automaton, members: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Yield the classes of a shortest text that leads to each state."""
    seen = {START, DEAD}
    pending: deque[tuple[int, tuple[int, ...]]] = deque([(START, ())])
    while pending:
        state, path = pending.popleft()
        yield path
        for number, characters in enumerate(members):
            target = automaton.targets[state][number]
            if target not in seen and characters:
                seen.add(target)
                pending.append((target, (*path, number)))
