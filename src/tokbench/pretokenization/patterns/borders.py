r"""Borders that follow from two neighbouring characters in any context, and the test for linear time.

A text is split from left to right: a *scan* starts at every border and reads until its automaton is dead; the match
ends at the last end seen. If nothing matches, the text up to the next match is one piece, a *gap*; scans fail there at
every character. Let b be the character at a place and a the one before it. Let the *live states* be all states of any
scan after it has read a, over all texts that end with a (or a superset).

**Always.** If the automaton dies on b in every live state, there is a border before b, provided that a or b is *sure*
or that they belong to two worlds. A character is sure if every match tried at it succeeds. If a is in a match, the scan
of that match is in a live state, hence it reads no further; as its match contains a, it ends before b. If a is in a
gap, it is not sure; so b is, and a match starts there and ends the gap, or the world does.

**Never.** If in no live state a match ends before b that is not surely superseded by a longer one, then no match ends
there. So there is no border if a is in a match, as it is if a is sure. There is none either if no match starts at b and
the world is the same: gaps end where matches start and where worlds end.

**Settled.** The text before b has independent pieces under two conditions. There is always a border before b, and in
every live state a match ends before b exactly if one would at the end of the text. Scans that died before b never saw
it. The others die on b, or at the end of the text, and their matches end at the same places in both cases. If a pattern
contains ``$``, a line feed at the end of a text differs from others: after a line feed nothing is settled.

More is known in three cases: the scan has read one character only, because there is a border before a (*first*); it has
read more, because there is none (*later*); or no *hazard*, such as the apostrophe of a contraction, is among the last
``reach`` characters. Characters beyond ASCII count as hazards here.

**Linear time.** A scan may read beyond the end of its match, as ``\s*[\r\n]+`` reads whitespace after a line feed while
it looks for another, and those characters are read again. If every scan read to the end of a run in this way, time
would grow with the square of the run.

A scan *waits* while it has seen no end since some place and none is certain to come. Let scan i wait over a stretch,
and a later scan j start within it. Follow both over the same characters, as pairs of states in which the second starts
at the start of a match. If there is no cycle among the pairs in which both wait, then both wait together over at most N
characters, N being the number of pairs. Choose any character, and the first scan that waits over it. Every other scan
that waits over it began to wait at most N characters before, each at another place, as matches are not empty. So no
character is read by more than N + 2 scans.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from tokbench.pretokenization.patterns.automaton import DEAD, START, Automaton

FREQUENT = {" ": 170.0, "\n": 15.0, "'": 5.0, '"': 5.0, ",": 12.0, ".": 10.0, "-": 3.0}
"""Approximate frequency of characters in English, in thousandths; others by :func:`frequency`."""
LONGEST_REACH = 3
MOST_HAZARDS = 3


def frequency(code: int) -> float:
    character = chr(code)
    if character in FREQUENT:
        return FREQUENT[character]
    if character.islower():
        return 29.0
    return 1.0 if character.isalnum() else 0.5 if character.isprintable() else 0.001


@dataclass(frozen=True)
class PairStatements:
    """Statements of pairs of classes: for each first class, the second classes as a bit mask."""

    always: tuple[int, ...]
    never: tuple[int, ...]

    def open(self, before: int, after: int) -> bool:
        return not (self.always[before] | self.never[before]) >> after & 1


@dataclass(frozen=True)
class Borders:
    """Statements of pairs of ASCII classes about a border between them; ``hazards`` are excluded.

    Attributes:
        anywhere: no hazard is among the ``reach`` characters before the border.
        first: there is a border before the first character of the pair.
        later: there is none, and no hazard as in ``anywhere``.
        hazards: bit mask of classes.
        reach: number of characters.
    """

    anywhere: PairStatements
    first: PairStatements
    later: PairStatements
    hazards: int
    reach: int


class Steps:
    """Operations of an automaton on sets of states, as bit masks.

    Attributes:
        classes: number of classes of characters.
        same_world: bit mask of the classes in the same world, by class.
        sure: bit mask of the classes at which every match that is tried succeeds.
        starts: bit mask of the classes at which a match may start.
    """

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        symbols = automaton.symbols
        self.classes = symbols.classes.count
        worlds = automaton.worlds
        self.same_world = [
            self._bits(number for number in range(self.classes) if worlds[number] == worlds[other])
            for other in range(self.classes)
        ]
        self._groups = [symbols.of_class(number) for number in range(self.classes)]
        self._targets: dict[tuple[int, int], int] = {}
        states = range(len(automaton.targets))
        # Classes at which a match is certain, or possible.
        self.sure = self._bits(
            number
            for number in range(self.classes)
            if all(self.sure_states >> self._start(s) & 1 for s in self._groups[number])
        )
        self.starts = self._bits(
            number for number in range(self.classes) if any(map(self._start, self._groups[number]))
        )
        # States by symbol: those in which the scan goes on, those at an end, and those with a certain later end.
        alive = [self._bits(q for q in states if automaton.targets[q][s] != DEAD) for s in range(symbols.count)]
        ended = [self._bits(q for q in states if automaton.ends[q] >> s & 1) for s in range(symbols.count)]
        surpassed = [
            self._bits(q for q in states if self.sure_states >> automaton.targets[q][s] & 1)
            for s in range(symbols.count)
        ]
        self.alive = [self._union(alive[s] for s in group) for group in self._groups]
        self.ending_states = [self._union(ended[s] & ~surpassed[s] for s in group) for group in self._groups]
        self.unlike_end = [self._union(ended[s] ^ ended[symbols.end] for s in group) for group in self._groups]

    @staticmethod
    def _bits(numbers: Iterable[int]) -> int:
        bits = 0
        for number in numbers:
            bits |= 1 << number
        return bits

    @staticmethod
    def _union(sets: Iterable[int]) -> int:
        bits = 0
        for member in sets:
            bits |= member
        return bits

    def _start(self, symbol: int) -> int:
        return self._automaton.targets[START][symbol]

    @cached_property
    def sure_states(self) -> int:
        """States in which a match is certain to end at this place or later."""
        automaton = self._automaton
        states = (1 << len(automaton.targets)) - 2
        while True:
            remaining = states
            for state in range(1, len(automaton.targets)):
                for symbol, target in enumerate(automaton.targets[state]):
                    if not automaton.ends[state] >> symbol & 1 and not states >> target & 1:
                        remaining &= ~(1 << state)
            if remaining == states:
                return states
            states = remaining

    @cached_property
    def all_states(self) -> int:
        """All states except the dead one."""
        return (1 << len(self._automaton.targets)) - 2

    def step(self, states: int, number: int) -> int:
        """Return the live states after a character of a class, also after a line feed at the end of the text."""
        cached = self._targets.get((states, number))
        if cached is not None:
            return cached
        targets, remaining, reached = 0, states, self._next_states[number]
        while remaining:
            targets |= reached[(remaining & -remaining).bit_length() - 1]
            remaining &= remaining - 1
        self._targets[states, number] = targets & ~1
        return targets & ~1

    @cached_property
    def _next_states(self) -> list[list[int]]:
        """States that follow each state by a character of each class."""
        return [
            [self._union(1 << targets[symbol] for symbol in group) for targets in self._automaton.targets]
            for group in self._groups
        ]

    def closure(self, states: int, classes: Iterable[int]) -> int:
        """Return the states after any number of characters of these classes, including zero."""
        while True:
            states_next_states = states
            for number in classes:
                states_next_states |= self.step(states, number)
            if states_next_states == states:
                return states_next_states
            states = states_next_states

    def pair_statements(self, live: Callable[[int], int]) -> PairStatements:
        """Return the statements of pairs, given a function from a class to the live states after it."""
        always, never = [], []
        for before in range(self.classes):
            states, ends, goes_on = live(before), self.gap_ends(before), self.gap_goes_on(before)
            dead = self._bits(number for number, alive in enumerate(self.alive) if not states & alive)
            endings = self._bits(number for number, ending in enumerate(self.ending_states) if not states & ending)
            always.append(ends & dead & ~(goes_on & endings))
            never.append(goes_on & endings)
        return PairStatements(tuple(always), tuple(never))

    def gap_ends(self, before: int) -> int:
        """Return the classes that end a gap after a character of class ``before``; all (-1) if that is in no gap."""
        return -1 if self.sure >> before & 1 else self.sure | ~self.same_world[before]

    def gap_goes_on(self, before: int) -> int:
        """Return the classes that do not end a gap after class ``before``; all (-1) if that is in no gap."""
        return -1 if self.sure >> before & 1 else self.same_world[before] & ~self.starts


def settled_pairs(automaton: Automaton) -> tuple[int, ...]:
    """Return the classes after each class, as bit masks, between which a text may be divided.

    Both parts then have their own pieces, which do not depend on the rest of the text.
    """
    steps = Steps(automaton)
    all_reachable = steps.closure(steps.all_states, range(steps.classes))
    pairs = []
    for before in range(steps.classes):
        live = steps.step(all_reachable, before)
        ends = steps.gap_ends(before)
        after = [
            number
            for number in range(steps.classes)
            if ends >> number & 1 and not live & (steps.alive[number] | steps.unlike_end[number])
        ]
        distinguished = automaton.symbols.final is not None and before == automaton.symbols.feed
        pairs.append(0 if distinguished else sum(1 << number for number in after))
    return tuple(pairs)


def borders_of(automaton: Automaton) -> Borders:
    """Return the statements of ASCII pairs, with hazards chosen to leave the fewest places of English text open."""
    steps = Steps(automaton)
    shares = [0.0] * steps.classes
    for code, number in enumerate(automaton.symbols.classes.of_ascii()):
        shares[number] += frequency(code) / 1000
    present = [number for number in range(steps.classes) if shares[number]]
    hazards = 0
    best = _with(steps, present, hazards, LONGEST_REACH)
    for _ in range(MOST_HAZARDS):
        more = [hazards | 1 << number for number in present if not hazards >> number & 1]
        candidates = [_with(steps, present, candidate, LONGEST_REACH) for candidate in more]
        lowest = min([best, *candidates], key=lambda borders: _open(borders, shares, present))
        if lowest is best:
            break
        best, hazards = lowest, lowest.hazards
    shorter = [_with(steps, present, hazards, reach) for reach in range(1, LONGEST_REACH)]
    return min([*shorter, best], key=lambda borders: _open(borders, shares, present))


def _with(steps: Steps, present: list[int], hazards: int, reach: int) -> Borders:
    """Return the statements of pairs of ASCII classes that are out of reach of these hazards."""
    safe = [number for number in present if not hazards >> number & 1]
    started = 1 << START
    first_states = steps.closure(started, safe)
    passed = steps.all_states
    for _ in range(reach - 1):
        passed = _after_any(steps, passed, safe)
    states = first_states | steps.closure(passed, safe)
    return Borders(
        steps.pair_statements(lambda number: steps.step(states, number)),
        steps.pair_statements(lambda number: steps.step(started, number)),
        steps.pair_statements(lambda number: steps.step(states & ~started, number)),
        hazards,
        reach,
    )


def _after_any(steps: Steps, states: int, classes: Iterable[int]) -> int:
    reached = 0
    for number in classes:
        reached |= steps.step(states, number)
    return reached


def _open(borders: Borders, shares: list[float], present: list[int]) -> float:
    """Return the approximate share of places left open, including places within reach of hazards."""
    cost = sum(borders.reach * shares[number] for number in present if borders.hazards >> number & 1)
    for before in present:
        for after in present:
            if borders.anywhere.open(before, after):
                half_known = not borders.first.open(before, after) and not borders.later.open(before, after)
                cost += shares[before] * shares[after] * (0.2 if half_known else 1.0)
    return cost


Pair = tuple[int, int]
Node = TypeVar("Node", bound=Hashable)


def is_linear(automaton: Automaton) -> bool:
    """Return whether no two scans can wait over the same characters for any length."""
    sure = Steps(automaton).sure_states
    letters = range(automaton.symbols.end)
    # Steps in which a scan waits: no end has been seen, and none is certain to come.
    waits = [
        {
            symbol: target
            for symbol in letters
            if (target := automaton.targets[state][symbol]) != DEAD
            and not automaton.ends[state] >> symbol & 1
            and not sure >> target & 1
        }
        for state in range(len(automaton.targets))
    ]
    if not _cycle({state: set(steps.values()) for state, steps in enumerate(waits)}):
        return True
    # Pairs of a scan that waits and a scan that starts after the same character.
    starts = {
        (target, automaton.targets[START][symbol])
        for state in range(1, len(automaton.targets))
        for symbol in letters
        if (target := automaton.targets[state][symbol]) != DEAD and not sure >> target & 1
    }
    # Both follow the same characters; a cycle of pairs in which both wait has no limit.
    pending = [pair for pair in starts if pair[1] != DEAD]
    reached = set(pending)
    successors: dict[Pair, set[Pair]] = {}
    while pending:
        first, second = pair = pending.pop()
        successors[pair] = set()
        for symbol, target in waits[first].items():
            following = target, automaton.targets[second][symbol]
            if following[1] == DEAD:
                continue
            if symbol in waits[second]:
                successors[pair].add(following)
            if following not in reached:
                reached.add(following)
                pending.append(following)
    return not _cycle(successors)


def _cycle(ways: Mapping[Node, set[Node]]) -> bool:
    """Return whether a graph has a cycle: removes nodes without successors until none is left to remove."""
    left = {node: set(others) for node, others in ways.items()}
    while ended := {node for node, others in left.items() if not others}:
        left = {node: others - ended for node, others in left.items() if node not in ended}
    return bool(left)
