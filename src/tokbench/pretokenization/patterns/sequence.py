"""Automaton of several patterns, each applied to the pieces of the one before.

**Runs first.** Patterns before the last must be runs of a set, ``[set]+`` or ``[set]{1,n}``, with disjoint sets. Such a
pattern splits a text where characters of its set meet others. So the characters are divided into *worlds*: one for each
set, and one for the remaining characters. A match within one world treats other characters as the end of the text.
Within the world of an unlimited run, the last pattern splits as usual. Within the world of a limited run it must not
split; all runs are tried to check this.

**Further splits.** Later patterns may split these pieces further, as numbers after the pattern of GPT-2
(:func:`intersect`). At each place, such a pattern must already determine whether its match ends there, without reading
ahead. Examples are a number, up to three numbers, a number or one other character, and runs of a set. Then both
automata are followed in parallel, and a match of their combination ends at the first end of either.

This is valid under two conditions. Where the second pattern splits, the match of the first must be certain to continue
to there and not to end before. After such a split, the first pattern must continue as at the start of a match, because
a scan starts there without history. Both are checked in every state; states are equal if no text distinguishes them.
"""

from collections.abc import Iterator, Sequence
from itertools import product

from tokbench.pretokenization.patterns.automaton import (
    DEAD,
    START,
    Automaton,
    automaton_of,
    groups_of,
    looks_for_end,
    sets_in,
    smallest,
    symbols_of,
)
from tokbench.pretokenization.patterns.borders import Steps
from tokbench.pretokenization.patterns.characters import Ranges
from tokbench.pretokenization.patterns.parse import Characters, LanguageError, Node, Repeat, parse

GAP = -1
"""State of the second pattern between two matches."""
MOST_PAIRS = 4000
Pair = tuple[int, int]
MOST_RUNS = 10_000


def intersect(first: Automaton, second: Automaton) -> Automaton:
    """Return the automaton that splits every piece of the first by the second.

    Args:
        first: automaton that matches at every character.
        second: automaton over the same symbols.

    Raises:
        LanguageError: there is no such automaton, or it has too many states.
    """
    inner_pattern = _SecondPattern(second)
    surely, ends_later = Steps(first).sure_states, able(first)
    symbols = first.symbols
    numbers: dict[Pair, int] = {}
    targets: list[list[int]] = [[DEAD] * symbols.count, [DEAD] * symbols.count]
    ends: list[int] = [0, 0]
    pending: list[Pair] = []
    equal_states: list[tuple[int, int]] = []

    # States of both automata together; new pairs are numbered when they are reached.
    def number(state: int, inner: int) -> int:
        if state == DEAD:
            return DEAD
        if (state, inner) not in numbers:
            if len(targets) >= MOST_PAIRS:
                raise LanguageError
            numbers[state, inner] = len(targets)
            targets.append([DEAD] * symbols.count)
            ends.append(0)
            pending.append((state, inner))
        return numbers[state, inner]

    # Both start with the first character of a piece.
    for symbol in range(symbols.end):
        if not surely >> first.targets[START][symbol] & 1:
            raise LanguageError
        targets[START][symbol] = number(first.targets[START][symbol], inner_pattern.begin(symbol))
    # A piece ends where either pattern cuts, if the first one is certain to end there as well.
    while pending:
        state, inner = pair = pending.pop()
        place = numbers[pair]
        for symbol in range(symbols.count):
            ended, target = first.ends[state] >> symbol & 1, first.targets[state][symbol]
            cut, next_inner = (False, GAP) if symbol == symbols.end else inner_pattern.step(inner, symbol)
            if cut and not ended and ends_later >> target & 1:
                if not surely >> target & 1:
                    raise LanguageError
                ended = 1
            ends[place] |= ended << symbol
            if cut and ended:
                if target != DEAD:
                    equal_states.append((number(target, next_inner), targets[START][symbol]))
            elif not cut:
                targets[place][symbol] = number(target, next_inner)
    # Where both end, the next piece must begin as at the start.
    product = Automaton(symbols, tuple(map(tuple, targets)), tuple(ends), first.worlds)
    group = groups_of(product)
    if any(group[left_state] != group[right_state] for left_state, right_state in equal_states):
        raise LanguageError
    return smallest(product)


class _SecondPattern:
    """State of the second pattern, character by character."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        for state in self._reached_states():  # A match must end where it can no longer continue, hence never before.
            ends, targets = automaton.ends[state], automaton.targets[state]
            if any(target == DEAD and not ends >> symbol & 1 for symbol, target in enumerate(targets)):
                raise LanguageError

    def _reached_states(self) -> Iterator[int]:
        seen = {START, DEAD}
        pending = [START]
        while pending:
            for target in self._automaton.targets[pending.pop()]:
                if target not in seen:
                    seen.add(target)
                    pending.append(target)
                    yield target

    def begin(self, symbol: int) -> int:
        """Return the state after the first character of a piece."""
        return self._automaton.targets[START][symbol] or GAP

    def step(self, state: int, symbol: int) -> tuple[bool, int]:
        """Return whether there is a split before a character, and the state after it."""
        if state == GAP:
            begun = self.begin(symbol)
            return begun != GAP, begun
        target = self._automaton.targets[state][symbol]
        return (False, target) if target != DEAD else (True, self.begin(symbol))


def able(automaton: Automaton) -> int:
    """Return the states in which a match may still end, as a bit mask."""
    states = sum(1 << state for state, ends in enumerate(automaton.ends) if ends)
    while True:
        more = states
        for state, targets in enumerate(automaton.targets):
            if any(states >> target & 1 for target in targets):
                more |= 1 << state
        if more == states:
            return states
        states = more


def automaton_of_sequence(patterns: Sequence[str]) -> Automaton:
    """Return the automaton of one pattern or several.

    Raises:
        LanguageError: a pattern, or the sequence of patterns, is outside the compiled language.
    """
    if not patterns:
        raise LanguageError
    nodes = list(map(parse, patterns))
    for count in range(len(nodes), 0, -1):
        try:
            return _cut_further(_runs_first(nodes[:count], nodes[count:]), nodes[count:])
        except LanguageError:
            if count == 1:
                raise
    raise LanguageError


def _cut_further(first: Automaton, nodes: Sequence[Node]) -> Automaton:
    """Return an automaton whose pieces are split by further patterns in turn."""
    if any(map(looks_for_end, nodes)):
        raise LanguageError
    for node in nodes:
        first = intersect(first, automaton_of(first.symbols, [node], [0] * first.symbols.classes.count))
    return first


def _runs_first(first_nodes: Sequence[Node], more: Sequence[Node]) -> Automaton:
    """Return the automaton of runs and a last pattern; its symbols also distinguish the sets of ``more``."""
    *before, last = first_nodes
    runs = [_run(node) for node in before]
    sets = [node.ranges for node, _ in runs]
    symbols = symbols_of([last], [*sets, *(ranges for node in more for ranges in sets_in(node))])
    if before and symbols.final is not None:
        raise LanguageError
    worlds = [0] * symbols.classes.count
    for world, ranges in enumerate(sets, 1):
        for number in _classes(symbols.classes.members, ranges):
            if worlds[number]:
                raise LanguageError
            worlds[number] = world
    last_automaton = automaton_of(symbols, [last], [0] * symbols.classes.count)
    nodes: list[Node] = [last]
    for world, (node, most) in enumerate(runs, 1):
        if most is None:
            nodes.append(last)
            continue
        letters = [number for number, other in enumerate(worlds) if other == world]
        if any(_cuts(last_automaton, text) for text in _texts(letters, most)):
            raise LanguageError
        nodes.append(Repeat(node, 1, most))
    return automaton_of(symbols, nodes, worlds) if before else last_automaton


def _run(node: Node) -> tuple[Characters, int | None]:
    """Return the repeated set and its maximum number of repetitions (None for no limit)."""
    if isinstance(node, Characters):
        return node, 1
    if isinstance(node, Repeat) and isinstance(node.node, Characters) and node.least == 1 and not node.lazy:
        return node.node, node.most
    raise LanguageError


def _classes(members: dict[Ranges, int], ranges: Ranges) -> list[int]:
    bits = members[ranges]
    return [number for number in range(bits.bit_length()) if bits >> number & 1]


def _texts(letters: Sequence[int], most: int) -> list[tuple[int, ...]]:
    """Return all texts of 1 to ``most`` letters."""
    if sum(len(letters) ** length for length in range(1, most + 1)) > MOST_RUNS:
        raise LanguageError
    return [text for length in range(1, most + 1) for text in product(letters, repeat=length)]


def _cuts(automaton: Automaton, text: Sequence[int]) -> bool:
    """Return whether a text is split into more than one piece."""
    symbols = [*text, automaton.symbols.end]
    matches = [automaton.match(symbols, start) for start in range(len(text))]
    return matches[0] != len(text) and any(end > start for start, end in enumerate(matches))
