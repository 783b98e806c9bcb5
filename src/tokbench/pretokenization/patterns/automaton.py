"""Patterns as automata over classes of characters: one table that says, character by character, how a match goes on.

A pattern becomes a graph of nodes (Thompson 1968) in which of two ways on the preferred one is named first. A state of
the automaton is a list of nodes in order of preference, as a backtracking search would try them: where the end of a
match is reached, what follows in the list is dropped, for the search would never come to it; of nodes that are equal
the first stays. So the automaton finds the same match as backtracking, the leftmost with the preferred way through, in
one pass (Pike's threads, determinised; Cox, "Regular expression matching: the virtual machine approach").

Characters that no part of the pattern tells apart are one class. Whether a match may end before a character, and
whether a look-ahead is content, is known when its class is: every step takes the next character's class, says whether
a match ends before it, and goes to the next state. The end of the text is a class, too, and so is a line feed that ends
it where the pattern has ``$``. A possessive run of a set is a greedy one that stops only before what is not of the set.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tokbench.pretokenization.patterns.characters import LAST, Ranges, single
from tokbench.pretokenization.patterns.parse import Ahead, Characters, Choice, LanguageError, Node, Repeat
from tokbench.pretokenization.patterns.parse import Sequence as Joined

MOST_CLASSES = 250
MOST_NODES = 4000
MOST_STATES = 1500
DEAD, START = 0, 1


@dataclass(frozen=True)
class Classes:
    """All code points by class, numbered from 0.

    Attributes:
        runs: first code point and class of each run, ascending; the first starts at 0.
        count: how many classes there are.
        members: of each set given, its classes as bits.
    """

    runs: tuple[tuple[int, int], ...]
    count: int
    members: dict[Ranges, int]

    def of_ascii(self) -> bytes:
        """The classes of the first 128 characters."""
        found = bytearray(128)
        for first, number in self.runs:
            found[first:] = bytes([number]) * (128 - first) if first < 128 else b""
        return bytes(found)


def classes_of(sets: Iterable[Ranges]) -> Classes:
    """The coarsest classes of which each set is made.

    Raises:
        LanguageError: there are too many.
    """
    known = list(dict.fromkeys(sets))
    changes: dict[int, int] = {0: 0}
    for number, ranges in enumerate(known):
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
        ranges: sum(1 << number for held, number in numbers.items() if held >> index & 1)
        for index, ranges in enumerate(known)
    }
    return Classes(tuple(runs), len(numbers), members)


def sets_in(node: Node) -> Iterator[Ranges]:
    """The sets of characters that a pattern names."""
    match node:
        case Characters(ranges) | Ahead(ranges):
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
    """Whether a line feed that ends the text is something by itself."""
    match node:
        case Ahead(final=final):
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
    """What a step may take: the classes, then a line feed that ends the text where that is told apart, then the end.

    Attributes:
        classes: of characters.
        feed: class of the line feed.
        final: the number of a line feed that ends the text; None where it is like any other.
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
        """The symbols that a character of a class may be."""
        return (number, self.final) if self.final is not None and number == self.feed else (number,)

    def taking(self, ranges: Ranges) -> int:
        """The symbols, as bits, that are a character of a set."""
        found = self.classes.members[ranges]
        return found | 1 << self.final if self.final is not None and found >> self.feed & 1 else found

    def before(self, ahead: Ahead) -> int:
        """The symbols, as bits, with which a look-ahead is content."""
        found = self.taking(ahead.ranges) | (ahead.end << self.end)
        return found | 1 << self.final if ahead.final and self.final is not None else found


def symbols_of(nodes: Sequence[Node], more: Iterable[Ranges] = ()) -> Symbols:
    """The symbols of patterns, told apart by further sets, too."""
    ends = any(map(looks_for_end, nodes))
    feed = single("\n")
    sets = [ranges for node in nodes for ranges in sets_in(node)]
    classes = classes_of([*sets, *more, *([feed] if ends else [])])
    number = next(kind for first, kind in reversed(classes.runs) if first <= ord("\n"))
    return Symbols(classes, number, classes.count if ends else None)


@dataclass
class PatternGraph:
    """Nodes of patterns, numbered: one that takes symbols, one that looks at them, a choice, or the end of a match."""

    symbols: Symbols
    kinds: list[str] = field(default_factory=lambda: ["match"])
    allowed: list[int] = field(default_factory=lambda: [0])
    ways: list[tuple[int, ...]] = field(default_factory=lambda: [()])

    def add(self, kind: str, allowed: int, *ways: int) -> int:
        if len(self.kinds) >= MOST_NODES:
            raise LanguageError
        self.kinds.append(kind)
        self.allowed.append(allowed)
        self.ways.append(ways)
        return len(self.kinds) - 1

    def build(self, node: Node, then: int) -> int:
        """Where a node begins that goes on to ``then``."""
        match node:
            case Characters(ranges):
                return self.add("take", self.symbols.taking(ranges), then)
            case Ahead():
                return self.add("look", self.symbols.before(node), then)
            case Joined(parts):
                for part in reversed(parts):
                    then = self.build(part, then)
                return then
            case Choice(options):
                return self.add("choose", 0, *(self.build(option, then) for option in options))
            case Repeat():
                return self.repeat(node, then)

    def repeat(self, node: Repeat, then: int) -> int:
        """Copies of what is repeated, so many as there have to be and then those that may be left out."""
        leave = then
        if node.possessive and isinstance(node.node, Characters):
            every = (1 << self.symbols.count) - 1
            leave = self.add("look", every & ~self.symbols.taking(node.node.ranges), then)
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
        """Whether a match ends before a symbol, and the nodes after it, in order of preference."""
        seen: set[int] = set()
        found: dict[int, None] = {}
        stack = list(reversed(threads))
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            kind = self.kinds[node]
            if kind == "match":
                return True, tuple(found)
            if kind == "choose":
                stack.extend(reversed(self.ways[node]))
            elif self.allowed[node] >> symbol & 1:
                if kind == "look":
                    stack.append(self.ways[node][0])
                else:
                    found.setdefault(self.ways[node][0])
        return False, tuple(found)


@dataclass(frozen=True)
class Automaton:
    """A table of steps. State 0 is the end of all hope, state 1 the start of a match.

    Attributes:
        symbols: what a step takes.
        targets: of each state, the next one by symbol.
        ends: of each state, the symbols, as bits, before which a match ends.
        worlds: of each class, the pattern that it belongs to (see :func:`automaton_of`).
    """

    symbols: Symbols
    targets: tuple[tuple[int, ...], ...]
    ends: tuple[int, ...]
    worlds: tuple[int, ...]

    def match(self, text: Sequence[int], start: int = 0) -> int:
        """Where the match ends that starts at a place in a text of symbols, the last of them the end."""
        state, found = START, start
        for place in range(start, len(text)):
            if self.ends[state] >> text[place] & 1:
                found = place
            state = self.targets[state][text[place]]
            if state == DEAD:
                break
        return found


def automaton_of(symbols: Symbols, nodes: Sequence[Node], worlds: Sequence[int]) -> Automaton:
    """The automaton of one pattern, or of several that share a text out among themselves.

    Args:
        symbols: what they take.
        nodes: the patterns.
        worlds: of each class of characters, which pattern it belongs to. A match takes characters of one world only,
            and takes the others for the end of the text.

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
    while pending:
        world, held = key = pending.pop()
        state = numbers[key]
        at_end = graph.follow(held, symbols.end)[0]
        for symbol in range(symbols.count):
            if symbol < symbols.end and world_of[symbol] == world:
                ended, threads = graph.follow(held, symbol)
                targets[state][symbol] = number(world, threads)
            else:
                ended = at_end
            ends[state] |= ended << symbol
    return smallest(Automaton(symbols, tuple(map(tuple, targets)), tuple(ends), tuple(worlds)))


def groups_of(automaton: Automaton) -> list[int]:
    """The number of each state's group: states of a group are told apart by no text (Moore 1956).

    The dead state is in group 0, the start in group 1, alone.
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
    """The same with as few states as can be; the dead state stays 0 and the start 1."""
    group = groups_of(automaton)
    first = {number: state for state, number in reversed(list(enumerate(group)))}
    order = [first[number] for number in range(len(first))]
    return Automaton(
        automaton.symbols,
        tuple(tuple(group[target] for target in automaton.targets[state]) for state in order),
        tuple(automaton.ends[state] for state in order),
        automaton.worlds,
    )
