"""Automata of patterns over classes of characters: one table of steps, one character at a time.

A pattern becomes a graph of nodes (Thompson 1968) in which the preferred of two branches comes first. A state of the
automaton is a list of nodes in order of preference, as a backtracking search would try them. If the end of a match is
reached, the rest of the list is dropped, since the search would never try it. Of equal nodes only the first is kept. So
the automaton finds the same match as backtracking (leftmost, preferred branch) in one pass. (Pike's threads,
determinised; Cox, "Regular expression matching: the virtual machine approach".)

Characters that no part of the pattern distinguishes form one class. The class of a character determines whether a match
may end before it and whether a look-ahead is satisfied. So every step reads the next character's class, reports whether
a match ends before it, and goes to the next state. The end of the text is a class, too. If the pattern contains ``$``,
so is a line feed at the end of the text. A possessive run of a set is a greedy one that stops only before characters
outside the set.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tokbench.pretokenization.patterns.characters import LAST, Ranges, single
from tokbench.pretokenization.patterns.parse import Characters, Choice, LanguageError, LookAhead, Node, Repeat
from tokbench.pretokenization.patterns.parse import Sequence as Joined

MOST_CLASSES = 250
MOST_NODES = 4000
MOST_STATES = 1500
DEAD, START = 0, 1


@dataclass(frozen=True)
class Classes:
    """Partition of all code points into classes, numbered from 0.

    Attributes:
        runs: first code point and class of each run, ascending; the first starts at 0.
        count: number of classes.
        members: bit mask of classes of each input set.
    """

    runs: tuple[tuple[int, int], ...]
    count: int
    members: dict[Ranges, int]

    def of_ascii(self) -> bytes:
        """Return the classes of the first 128 characters."""
        numbers = bytearray(128)
        for first, number in self.runs:
            numbers[first:] = bytes([number]) * (128 - first) if first < 128 else b""
        return bytes(numbers)


def classes_of(sets: Iterable[Ranges]) -> Classes:
    """Return the coarsest partition of which each set is a union.

    Raises:
        LanguageError: there are too many classes.
    """
    distinct = list(dict.fromkeys(sets))
    changes: dict[int, int] = {0: 0}
    for number, ranges in enumerate(distinct):
        for first, last in ranges:
            changes[first] = changes.get(first, 0) ^ 1 << number
            changes[last + 1] = changes.get(last + 1, 0) ^ 1 << number
    changes.pop(LAST + 1, None)
    numbers: dict[int, int] = {}
    runs: list[tuple[int, int]] = []
    signature = 0
    for first, change in sorted(changes.items()):
        signature ^= change
        runs.append((first, numbers.setdefault(signature, len(numbers))))
    if len(numbers) > MOST_CLASSES:
        raise LanguageError
    members = {
        ranges: sum(1 << number for index_bits, number in numbers.items() if index_bits >> index & 1)
        for index, ranges in enumerate(distinct)
    }
    return Classes(tuple(runs), len(numbers), members)


def sets_in(node: Node) -> Iterator[Ranges]:
    """Yield the sets of characters in a pattern."""
    match node:
        case Characters(ranges) | LookAhead(ranges):
            yield ranges
        case Joined(parts):
            for part in parts:
                yield from sets_in(part)
        case Choice(options):
            for option in options:
                yield from sets_in(option)
        case Repeat(inner):
            yield from sets_in(inner)


def looks_for_end(node: Node) -> bool:
    """Return whether a pattern treats a line feed at the end of the text specially (``$``)."""
    match node:
        case LookAhead(final=final):
            return final
        case Joined(parts):
            return any(map(looks_for_end, parts))
        case Choice(options):
            return any(map(looks_for_end, options))
        case Repeat(inner):
            return looks_for_end(inner)
    return False


@dataclass(frozen=True)
class Symbols:
    """Input symbols of a step: the classes, a line feed at the end of the text (if distinguished), and the end.

    Attributes:
        classes: classes of characters.
        feed: class of the line feed.
        final: number of a line feed that ends the text; None if it is not distinguished.
    """

    classes: Classes
    feed: int
    final: int | None

    @property
    def end(self) -> int:
        return self.classes.count + (self.final is not None)

    @property
    def count(self) -> int:
        return self.end + 1

    def of_class(self, number: int) -> tuple[int, ...]:
        """Return the symbols that a character of a class may be."""
        return (number, self.final) if self.final is not None and number == self.feed else (number,)

    def symbols_in(self, ranges: Ranges) -> int:
        """Return the symbols in a set of characters, as a bit mask."""
        symbols = self.classes.members[ranges]
        return symbols | 1 << self.final if self.final is not None and symbols >> self.feed & 1 else symbols

    def symbols_ahead(self, ahead: LookAhead) -> int:
        """Return the symbols that satisfy a look-ahead, as a bit mask."""
        symbols = self.symbols_in(ahead.ranges) | (ahead.end << self.end)
        return symbols | 1 << self.final if ahead.final and self.final is not None else symbols


def symbols_of(nodes: Sequence[Node], more: Iterable[Ranges] = ()) -> Symbols:
    """Return the symbols of patterns; further sets are distinguished, too."""
    ends = any(map(looks_for_end, nodes))
    feed = single("\n")
    sets = [ranges for node in nodes for ranges in sets_in(node)]
    classes = classes_of([*sets, *more, *([feed] if ends else [])])
    number = next(kind for first, kind in reversed(classes.runs) if first <= ord("\n"))
    return Symbols(classes, number, classes.count if ends else None)


@dataclass
class PatternGraph:
    """Numbered nodes of patterns: each reads a symbol, looks at it, is a choice, or is the end of a match."""

    symbols: Symbols
    kinds: list[str] = field(default_factory=lambda: ["match"])
    symbol_masks: list[int] = field(default_factory=lambda: [0])
    ways: list[tuple[int, ...]] = field(default_factory=lambda: [()])

    def add(self, kind: str, allowed: int, *ways: int) -> int:
        if len(self.kinds) >= MOST_NODES:
            raise LanguageError
        self.kinds.append(kind)
        self.symbol_masks.append(allowed)
        self.ways.append(ways)
        return len(self.kinds) - 1

    def build(self, node: Node, then: int) -> int:
        """Add a node that continues at ``then``; return its number."""
        match node:
            case Characters(ranges):
                return self.add("take", self.symbols.symbols_in(ranges), then)
            case LookAhead():
                return self.add("look", self.symbols.symbols_ahead(node), then)
            case Joined(parts):
                for part in reversed(parts):
                    then = self.build(part, then)
                return then
            case Choice(options):
                return self.add("choose", 0, *(self.build(option, then) for option in options))
            case Repeat():
                return self.repeat(node, then)

    def repeat(self, node: Repeat, then: int) -> int:
        """Add copies of a repeated node: the required ones, then the optional ones."""
        leave = then
        if node.possessive and isinstance(node.node, Characters):
            all_symbols = (1 << self.symbols.count) - 1
            leave = self.add("look", all_symbols & ~self.symbols.symbols_in(node.node.ranges), then)
        if node.most is None:
            start = self.add("choose", 0)
            ways = (self.build(node.node, start), leave)
            self.ways[start] = ways[::-1] if node.lazy else ways
        else:
            start = then
            for _ in range(node.most - node.least):
                ways = (self.build(node.node, start), leave)
                start = self.add("choose", 0, *(ways[::-1] if node.lazy else ways))
        for _ in range(node.least):
            start = self.build(node.node, start)
        return start

    def follow(self, threads: Sequence[int], symbol: int) -> tuple[bool, tuple[int, ...]]:
        """Return whether a match ends before a symbol, and the nodes after it in order of preference."""
        seen: set[int] = set()
        targets: dict[int, None] = {}
        stack = list(reversed(threads))
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            kind = self.kinds[node]
            if kind == "match":
                return True, tuple(targets)
            if kind == "choose":
                stack.extend(reversed(self.ways[node]))
            elif self.symbol_masks[node] >> symbol & 1:
                if kind == "look":
                    stack.append(self.ways[node][0])
                else:
                    targets.setdefault(self.ways[node][0])
        return False, tuple(targets)


@dataclass(frozen=True)
class Automaton:
    """A table of steps. State 0 is dead (no match can follow), state 1 is the start of a match.

    Attributes:
        symbols: input symbols of a step.
        targets: next state by state and symbol.
        ends: symbols before which a match ends, as a bit mask, by state.
        worlds: number of the pattern that each class belongs to (see :func:`automaton_of`).
    """

    symbols: Symbols
    targets: tuple[tuple[int, ...], ...]
    ends: tuple[int, ...]
    worlds: tuple[int, ...]

    def match(self, text: Sequence[int], start: int = 0) -> int:
        """Return the end of the match that starts at ``start`` in a list of symbols; the last symbol is the end."""
        state, end = START, start
        for place in range(start, len(text)):
            if self.ends[state] >> text[place] & 1:
                end = place
            state = self.targets[state][text[place]]
            if state == DEAD:
                break
        return end


def automaton_of(symbols: Symbols, nodes: Sequence[Node], worlds: Sequence[int]) -> Automaton:
    """Return the automaton of one pattern, or of several that share a text.

    Args:
        symbols: input symbols.
        nodes: the patterns.
        worlds: number of the pattern that each class of characters belongs to. A match reads characters of one world
            only, and treats others as the end of the text.

    Raises:
        LanguageError: the automaton has too many states, or a match may be empty.
    """
    graph = PatternGraph(symbols)
    starts = [graph.build(node, 0) for node in nodes]
    world_of = [*worlds, *([worlds[symbols.feed]] if symbols.final is not None else [])]
    numbers: dict[tuple[int, tuple[int, ...]], int] = {}
    pending: list[tuple[int, tuple[int, ...]]] = []
    targets: list[list[int]] = [[DEAD] * symbols.count]
    ends: list[int] = [0]

    # States are sets of nodes in one world; new ones are numbered when they are reached.
    def number(world: int, threads: tuple[int, ...]) -> int:
        if not threads:
            return DEAD
        key = (world, threads)
        if key not in numbers:
            if len(targets) >= MOST_STATES:
                raise LanguageError
            numbers[key] = len(targets)
            targets.append([DEAD] * symbols.count)
            ends.append(0)
            pending.append(key)
        return numbers[key]

    # The start, where no match may be empty.
    targets.append([DEAD] * symbols.count)
    ends.append(0)
    for symbol in range(symbols.end):
        world = world_of[symbol]
        ended, threads = graph.follow((starts[world],), symbol)
        if ended:
            raise LanguageError
        targets[START][symbol] = number(world, threads)
    if any(graph.follow((start,), symbols.end)[0] for start in starts):
        raise LanguageError
    # All other states. A character of another world ends a match like the end of the text.
    while pending:
        world, state_threads = key = pending.pop()
        state = numbers[key]
        at_end = graph.follow(state_threads, symbols.end)[0]
        for symbol in range(symbols.count):
            if symbol < symbols.end and world_of[symbol] == world:
                ended, threads = graph.follow(state_threads, symbol)
                targets[state][symbol] = number(world, threads)
            else:
                ended = at_end
            ends[state] |= ended << symbol
    return smallest(Automaton(symbols, tuple(map(tuple, targets)), tuple(ends), tuple(worlds)))


def groups_of(automaton: Automaton) -> list[int]:
    """Return the group of each state: states of a group behave equally on every text (Moore 1956).

    Group 0 contains the dead state, group 1 only the start.
    """
    rows = range(len(automaton.targets))
    group = [0 if state == DEAD else 1 if state == START else 2 for state in rows]
    count = 0
    while True:
        keys: dict[tuple[int, int, tuple[int, ...]], int] = {}
        fresh = [
            keys.setdefault(
                (group[state], automaton.ends[state], tuple(group[target] for target in automaton.targets[state])),
                len(keys),
            )
            for state in rows
        ]
        if len(keys) == count:
            return group
        group, count = fresh, len(keys)


def smallest(automaton: Automaton) -> Automaton:
    """Return the equivalent automaton with the fewest states; the dead state stays 0 and the start 1."""
    group = groups_of(automaton)
    first = {number: state for state, number in reversed(list(enumerate(group)))}
    order = [first[number] for number in range(len(first))]
    return Automaton(
        automaton.symbols,
        tuple(tuple(group[target] for target in automaton.targets[state]) for state in order),
        tuple(automaton.ends[state] for state in order),
        automaton.worlds,
    )
