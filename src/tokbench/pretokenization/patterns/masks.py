"""Borders in ASCII by bit masks: what pairs of characters say, as a program of a few operations on words of 64 bits.

Bit i of a mask stands for byte i of a stretch of text that begins at a border. There is a mask for each group of
characters that the pairs do not tell apart; a pair "a, then b" is ``a << 1 & b``. The program computes where there
certainly is a border and where the pairs leave it *open*. Where they do, a second look takes into account whether there
is a border one character before. Both are right only where no hazard is in reach, nor anything beyond ASCII, since the
last border before: the third mask says where these are, and who runs the program looks out for them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tokbench.pretokenization.patterns.automaton import Automaton
from tokbench.pretokenization.patterns.borders import Borders

MOST_REGISTERS = 32
OR, AND, AND_NOT, SHIFT = range(4)
BEYOND, EVERY, EDGE = range(3)
"""Registers that are set beforehand: bytes that are not ASCII; all; the first byte of the stretch."""
FOLD = 0x20
Row = tuple[int, int, int, int]


@dataclass
class Program:
    """Operations on registers, each a mask of a stretch of text; None is a register of zeros.

    Attributes:
        loads: register; bits that are set in each byte beforehand; first and last byte: what it takes from the text.
        operations: operation; register of the result; registers of its arguments.
        registers: how many there are.
    """

    loads: list[Row] = field(default_factory=list)
    operations: list[Row] = field(default_factory=list)
    registers: int = 3
    _known: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def load(self, codes: Sequence[int]) -> int:
        """A register of the bytes that are one of these characters."""
        self.loads += [(self.registers, *run) for run in _folded(_runs(codes))]
        self.registers += 1
        return self.registers - 1

    def union(self, *registers: int | None) -> int | None:
        parts = sorted({register for register in registers if register is not None})
        found = parts[0] if parts else None
        for register in parts[1:]:
            found = self._apply(OR, found, register)
        return found

    def both(self, left: int | None, right: int | None) -> int | None:
        return self._apply(AND, left, right)

    def without(self, left: int | None, right: int | None) -> int | None:
        return left if right is None else self._apply(AND_NOT, left, right)

    def shifted(self, register: int | None, times: int = 1) -> int | None:
        """The bytes after these."""
        for _ in range(times):
            register = self._apply(SHIFT, register, register)
        return register

    def _apply(self, operation: int, left: int | None, right: int | None) -> int | None:
        if left is None or right is None:
            return None
        key = operation, left, right
        if key not in self._known:
            self.operations.append((operation, self.registers, left, right))
            self._known[key] = self.registers
            self.registers += 1
        return self._known[key]

    def compact(self, results: Sequence[int]) -> tuple[Sequence["Row"], Sequence["Row"], Sequence[int]]:
        """The loads, the operations that lead to the results, and where these are, in as few registers as may be.

        A register is free again once its last reader has run; that may write to it, as masks are read before.
        """
        last: dict[int, int] = dict.fromkeys((BEYOND, EVERY, EDGE, *results), len(self.operations))
        kept = []
        for number, row in reversed(list(enumerate(self.operations))):
            if row[1] in last:
                kept.append((number, row))
                for register in row[2:]:
                    last.setdefault(register, number)
        places = {register: register for register in (BEYOND, EVERY, EDGE)}
        for register, *_ in self.loads:
            if register in last:
                places.setdefault(register, len(places))
        loads = [(places[row[0]], *row[1:]) for row in self.loads if row[0] in places]
        free: list[int] = []
        most, operations = len(places), []
        for number, (operation, result, left, right) in reversed(kept):
            read = places[left], places[right]
            free += sorted({places[register] for register in (left, right) if last[register] == number})
            if not free:
                free.append(most)
                most += 1
            places[result] = free.pop()
            operations.append((operation, places[result], *read))
        return loads, operations, [places[register] for register in results]


@dataclass(frozen=True)
class Masks:
    """A program and where it leaves what it found.

    Attributes:
        loads: register; bits that are set in each byte beforehand; first and last byte: what it takes from the text.
        operations: operation; register of the result; registers of its arguments.
        always: register of the borders.
        open: register of what the pairs leave open.
        hazards: register of hazards and of what is not ASCII.
        reach: over how many characters after a hazard nothing is certain.
    """

    loads: Sequence[Row]
    operations: Sequence[Row]
    always: int
    open: int
    hazards: int
    reach: int


def masks_of(automaton: Automaton, borders: Borders) -> Masks | None:
    """The program of what pairs say; None where it would need too many registers."""
    of_ascii = automaton.symbols.classes.of_ascii()
    groups = _groups(sorted(set(of_ascii)), borders)
    program = Program()
    planes = _planes(program, [[code for code in range(128) if of_ascii[code] in group] for group in groups])
    first = [group[0] for group in groups]

    def pairs(chosen: Callable[[int, int], bool]) -> int | None:
        """Where pairs stand of which something is true. What follows a hazard is within its reach anyway."""
        rows: dict[tuple[int, ...], list[int]] = {}
        for number, before in enumerate(first):
            if borders.hazards >> before & 1:
                continue
            after = tuple(other for other, each in enumerate(first) if chosen(before, each))
            rows.setdefault(after, []).append(number)
        return program.union(
            *(
                program.both(
                    program.shifted(program.union(*(planes[number] for number in numbers))),
                    program.union(*(planes[other] for other in after)),
                )
                for after, numbers in rows.items()
            )
        )

    def told(says: str, kind: str) -> int | None:
        """Where pairs stand that are open at first, and of which another table says something."""
        table = getattr(getattr(borders, says), kind)
        return pairs(lambda before, after: borders.anywhere.open(before, after) and bool(table[before] >> after & 1))

    always = pairs(lambda before, after: bool(borders.anywhere.always[before] >> after & 1))
    unclear = pairs(borders.anywhere.open)
    hazards = program.union(
        BEYOND, *(plane for plane, number in zip(planes, first, strict=True) if borders.hazards >> number & 1)
    )
    zone = program.union(*(program.shifted(hazards, times) for times in range(1, borders.reach + 2)))
    starts = program.without(program.shifted(program.union(always, EDGE)), zone)
    others = program.without(EVERY, program.union(always, unclear, hazards, EDGE))
    later = program.without(program.shifted(others), zone)
    borders_told = program.union(
        program.both(starts, told("first", "always")), program.both(later, told("later", "always"))
    )
    nothing_told = program.union(
        program.both(starts, told("first", "never")), program.both(later, told("later", "never"))
    )
    found = program.union(always, borders_told)
    left = program.union(BEYOND, program.without(unclear, program.union(borders_told, nothing_told)))
    if found is None or left is None or hazards is None:
        return None
    loads, operations, results = program.compact((found, left, hazards))
    used = {row[0] for row in loads} | {row[1] for row in operations}
    if not loads or max(used) >= MOST_REGISTERS:
        return None
    return Masks(loads, operations, results[0], results[1], results[2], borders.reach)


def _planes(program: Program, members: Sequence[Sequence[int]]) -> list[int | None]:
    """A register for each group of characters. That of the most runs is what is in none of the others."""
    rest = max(range(len(members)), key=lambda number: len(_folded(_runs(members[number]))))
    planes: list[int | None] = [None if number == rest else program.load(codes) for number, codes in enumerate(members)]
    planes[rest] = program.without(EVERY, program.union(BEYOND, *planes))
    return planes


def _groups(classes: Sequence[int], borders: Borders) -> list[list[int]]:
    """Classes of ASCII that no table tells apart."""

    def code(before: int, after: int) -> tuple[bool, ...]:
        if borders.hazards >> before & 1:
            return ()
        if not borders.anywhere.open(before, after):
            return (bool(borders.anywhere.always[before] >> after & 1),)
        tables = (borders.first.always, borders.first.never, borders.later.always, borders.later.never)
        return (True, *(bool(table[before] >> after & 1) for table in tables))

    found: dict[object, list[int]] = {}
    for number in classes:
        rows = tuple(code(number, other) for other in classes)
        columns = tuple(code(other, number) for other in classes)
        found.setdefault((rows, columns, borders.hazards >> number & 1), []).append(number)
    return list(found.values())


def _runs(codes: Iterable[int]) -> list[tuple[int, int]]:
    """First and last of each run of codes."""
    found: list[tuple[int, int]] = []
    for code in codes:
        if found and code == found[-1][1] + 1:
            found[-1] = found[-1][0], code
        else:
            found.append((code, code))
    return found


def _folded(runs: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """The runs with the bits that are set before they are looked for; both cases of letters are one."""
    small = {(first + FOLD, last + FOLD) for first, last in runs if first >= 0x40 and last < 0x60}
    both = small & set(runs)
    kept = [(first, last) for first, last in runs if (first + FOLD, last + FOLD) not in both]
    return [(FOLD if run in both else 0, *run) for run in kept]
