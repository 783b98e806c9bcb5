"""Borders in ASCII by bit masks: statements of pairs of characters as a program on words of 64 bits.

Bit i of a mask represents byte i of a stretch of text that begins at a border. There is a mask for each group of
characters that the pairs do not distinguish; a pair "a, then b" is ``a << 1 & b``. The program computes certain
borders, and the places that pairs leave *open*. For these, a second test considers whether there is a border one
character before. Both are valid only if there is no hazard within reach and nothing beyond ASCII since the last border
before. The third mask marks those, and the caller must check it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tokbench.pretokenization.patterns.automaton import Automaton
from tokbench.pretokenization.patterns.borders import Borders

MOST_REGISTERS = 32
OR, AND, AND_NOT, SHIFT = range(4)
NOT_ASCII, ALL_BYTES, EDGE = range(3)
"""Registers with preset values: bytes that are not ASCII, all bytes, the first byte of the stretch."""
FOLD = 0x20
Row = tuple[int, int, int, int]


@dataclass
class Program:
    """Operations on registers, each a mask of a stretch of text; None represents a register of zeros.

    Attributes:
        loads: rows of (register, bits set in each byte before the comparison, first byte, last byte).
        operations: rows of (operation, register of the result, registers of the arguments).
        registers: number of registers.
    """

    loads: list[Row] = field(default_factory=list)
    operations: list[Row] = field(default_factory=list)
    registers: int = 3
    _results: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def load(self, codes: Sequence[int]) -> int:
        """Add a load of the bytes that are one of these characters; return its register."""
        self.loads += [(self.registers, *run) for run in _merge_cases(_runs(codes))]
        self.registers += 1
        return self.registers - 1

    def union(self, *registers: int | None) -> int | None:
        parts = sorted({register for register in registers if register is not None})
        register_of_union = parts[0] if parts else None
        for register in parts[1:]:
            register_of_union = self._apply(OR, register_of_union, register)
        return register_of_union

    def intersection(self, left: int | None, right: int | None) -> int | None:
        return self._apply(AND, left, right)

    def difference(self, left: int | None, right: int | None) -> int | None:
        return left if right is None else self._apply(AND_NOT, left, right)

    def shift(self, register: int | None, times: int = 1) -> int | None:
        """Return the register of the bytes that follow these."""
        for _ in range(times):
            register = self._apply(SHIFT, register, register)
        return register

    def _apply(self, operation: int, left: int | None, right: int | None) -> int | None:
        if left is None or right is None:
            return None
        key = operation, left, right
        if key not in self._results:
            self.operations.append((operation, self.registers, left, right))
            self._results[key] = self.registers
            self.registers += 1
        return self._results[key]

    def compact(self, results: Sequence[int]) -> tuple[Sequence["Row"], Sequence["Row"], Sequence[int]]:
        """Return the loads, the operations needed for the results, and the results' registers, with registers reused.

        A register is free after its last reader. That reader may write to it, as arguments are read first.
        """
        last: dict[int, int] = dict.fromkeys((NOT_ASCII, ALL_BYTES, EDGE, *results), len(self.operations))
        used_rows = []
        for number, row in reversed(list(enumerate(self.operations))):
            if row[1] in last:
                used_rows.append((number, row))
                for register in row[2:]:
                    last.setdefault(register, number)
        places = {register: register for register in (NOT_ASCII, ALL_BYTES, EDGE)}
        for register, *_ in self.loads:
            if register in last:
                places.setdefault(register, len(places))
        loads = [(places[row[0]], *row[1:]) for row in self.loads if row[0] in places]
        free: list[int] = []
        most, operations = len(places), []
        for number, (operation, result, left, right) in reversed(used_rows):
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
    """A program and the registers of its results.

    Attributes:
        loads: rows of (register, bits set in each byte before the comparison, first byte, last byte).
        operations: rows of (operation, register of the result, registers of the arguments).
        always: register of the borders.
        open: register of the places that pairs leave open.
        hazards: register of hazards and of bytes that are not ASCII.
        reach: number of characters after a hazard at which nothing is certain.
    """

    loads: Sequence[Row]
    operations: Sequence[Row]
    always: int
    open: int
    hazards: int
    reach: int


def masks_of(automaton: Automaton, borders: Borders) -> Masks | None:
    """Return the program for the statements of pairs; None if there is none with few enough registers."""
    of_ascii = automaton.symbols.classes.of_ascii()
    groups = _groups(sorted(set(of_ascii)), borders)
    program = Program()
    planes = _planes(program, [[code for code in range(128) if of_ascii[code] in group] for group in groups])
    first = [group[0] for group in groups]

    def pairs(condition: Callable[[int, int], bool]) -> int | None:
        """Return the mask of pairs that satisfy a condition, without pairs that begin with a hazard."""
        rows: dict[tuple[int, ...], list[int]] = {}
        for number, before in enumerate(first):
            if borders.hazards >> before & 1:
                continue
            after = tuple(other for other, class_after in enumerate(first) if condition(before, class_after))
            rows.setdefault(after, []).append(number)
        return program.union(
            *(
                program.intersection(
                    program.shift(program.union(*(planes[number] for number in numbers))),
                    program.union(*(planes[other] for other in after)),
                )
                for after, numbers in rows.items()
            )
        )

    def decided_pairs(statements: str, kind: str) -> int | None:
        """Return the mask of pairs that are open at first, but decided by another table."""
        table = getattr(getattr(borders, statements), kind)
        return pairs(lambda before, after: borders.anywhere.open(before, after) and bool(table[before] >> after & 1))

    # Boundaries, unclear places and hazards between neighbouring bytes.
    always = pairs(lambda before, after: bool(borders.anywhere.always[before] >> after & 1))
    unclear = pairs(borders.anywhere.open)
    hazards = program.union(
        NOT_ASCII, *(plane for plane, number in zip(planes, first, strict=True) if borders.hazards >> number & 1)
    )
    # Near a hazard nothing is decided; other places are decided by a scan that just began or goes on.
    zone = program.union(*(program.shift(hazards, times) for times in range(1, borders.reach + 2)))
    starts = program.difference(program.shift(program.union(always, EDGE)), zone)
    others = program.difference(ALL_BYTES, program.union(always, unclear, hazards, EDGE))
    later = program.difference(program.shift(others), zone)
    decided = program.union(
        program.intersection(starts, decided_pairs("first", "always")),
        program.intersection(later, decided_pairs("later", "always")),
    )
    undecided_pairs = program.union(
        program.intersection(starts, decided_pairs("first", "never")),
        program.intersection(later, decided_pairs("later", "never")),
    )
    # The results, with as few registers as possible.
    boundaries = program.union(always, decided)
    unclear_bytes = program.union(NOT_ASCII, program.difference(unclear, program.union(decided, undecided_pairs)))
    if boundaries is None or unclear_bytes is None or hazards is None:
        return None
    loads, operations, results = program.compact((boundaries, unclear_bytes, hazards))
    used = {row[0] for row in loads} | {row[1] for row in operations}
    if not loads or max(used) >= MOST_REGISTERS:
        return None
    return Masks(loads, operations, results[0], results[1], results[2], borders.reach)


def _planes(program: Program, members: Sequence[Sequence[int]]) -> list[int | None]:
    """Return a register for each group of characters. The group with the most runs is computed as the remainder."""
    rest = max(range(len(members)), key=lambda number: len(_merge_cases(_runs(members[number]))))
    planes: list[int | None] = [None if number == rest else program.load(codes) for number, codes in enumerate(members)]
    planes[rest] = program.difference(ALL_BYTES, program.union(NOT_ASCII, *planes))
    return planes


def _groups(classes: Sequence[int], borders: Borders) -> list[list[int]]:
    """Return groups of ASCII classes that no table distinguishes."""

    def code(before: int, after: int) -> tuple[bool, ...]:
        if borders.hazards >> before & 1:
            return ()
        if not borders.anywhere.open(before, after):
            return (bool(borders.anywhere.always[before] >> after & 1),)
        tables = (borders.first.always, borders.first.never, borders.later.always, borders.later.never)
        return (True, *(bool(table[before] >> after & 1) for table in tables))

    groups: dict[object, list[int]] = {}
    for number in classes:
        rows = tuple(code(number, other) for other in classes)
        columns = tuple(code(other, number) for other in classes)
        groups.setdefault((rows, columns, borders.hazards >> number & 1), []).append(number)
    return list(groups.values())


def _runs(codes: Iterable[int]) -> list[tuple[int, int]]:
    """Return the first and last code of each run."""
    runs: list[tuple[int, int]] = []
    for code in codes:
        if runs and code == runs[-1][1] + 1:
            runs[-1] = runs[-1][0], code
        else:
            runs.append((code, code))
    return runs


def _merge_cases(runs: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Return the runs with bits to set before the comparison: ranges of both cases of letters are merged."""
    small = {(first + FOLD, last + FOLD) for first, last in runs if first >= 0x40 and last < 0x60}
    paired = small & set(runs)
    distinct = [(first, last) for first, last in runs if (first + FOLD, last + FOLD) not in paired]
    return [(FOLD if run in paired else 0, *run) for run in distinct]
