"""Whether two patterns cut every text alike, however they are written: asked of automata, not of spelling."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

from tokbench.patterns.automaton import START, Automaton, Symbols
from tokbench.patterns.parse import LanguageError
from tokbench.patterns.sequence import automaton_of_sequence

Step = tuple[int, int]
"""A symbol of the one, and what it is to the other."""
ANY: Step = (-1, -1)
"""Stands for every step after which anything may come."""


def cut_alike(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether both cut every text at the same places; False, too, where that is not known.

    A yes is a proof: both automata are followed side by side, over characters that neither tells apart, until no
    further pair of states comes up. What is not of the language of :mod:`tokbench.patterns.parse` is not known.

    Args:
        first: regular expressions, each applied to the pieces of the one before.
        second: others.
    """
    one, other = _automaton(tuple(first)), _automaton(tuple(second))
    return one is not None and other is not None and _same_worlds(one, other) and _same_matches(one, other)


@lru_cache(maxsize=64)
def _automaton(patterns: tuple[str, ...]) -> Automaton | None:
    try:
        return automaton_of_sequence(patterns)
    except (LanguageError, RecursionError):
        return None


def _same_worlds(one: Automaton, other: Automaton) -> bool:
    """Whether what lies between matches is cut at the same places: where worlds meet."""
    worlds = {(one.worlds[a], other.worlds[b]) for a, b in _characters(one.symbols, other.symbols)}
    return len(worlds) == len({a for a, _ in worlds}) == len({b for _, b in worlds})


def _same_matches(one: Automaton, other: Automaton) -> bool:
    """Whether matches end at the same place, wherever they begin: at the last end that is passed."""
    following = _following(one.symbols, other.symbols)
    end = one.symbols.end, other.symbols.end
    pending = [(START, START, True, ANY)]
    seen = set(pending)
    while pending:
        left, right, agree, before = pending.pop()
        for step in following[before]:
            a, b = step
            ends = one.ends[left] >> a & 1, other.ends[right] >> b & 1
            agree_now = ends[0] == ends[1] if any(ends) else agree
            if step == end and not agree_now:
                return False
            kind = step if step in following else ANY
            after = one.targets[left][a], other.targets[right][b], agree_now, kind
            if after not in seen:
                seen.add(after)
                pending.append(after)
    return True


def _following(one: Symbols, other: Symbols) -> dict[Step, list[Step]]:
    """What may come in a text after certain steps, and after any other.

    Where a line feed that ends the text is a symbol of its own, the end comes after that one, and not after another.
    """
    characters = list(_characters(one, other))
    end = one.end, other.end
    if one.final is None and other.final is None:
        return {ANY: [*characters, end], end: []}
    final = one.feed if one.final is None else one.final, other.feed if other.final is None else other.final
    return {ANY: [*characters, final, end], (one.feed, other.feed): [*characters, final], final: [end], end: []}


def _characters(one: Symbols, other: Symbols) -> set[Step]:
    """The classes of every character in both."""
    starts = [[first for first, _ in symbols.classes.runs] for symbols in (one, other)]
    return {
        (
            one.classes.runs[bisect_right(starts[0], code) - 1][1],
            other.classes.runs[bisect_right(starts[1], code) - 1][1],
        )
        for code in {*starts[0], *starts[1]}
    }
