# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Scanner for any pattern that was compiled to tables (see :mod:`tokbench.pretokenization.patterns`).

There are two ways through a text. The first runs the pattern's automaton character by character. Each character has a
class; a table gives the next state, and whether a match ends before the character. The scanner reads until no match can
continue; the pre-token ends at the last end seen. Text that does not match is a pre-token up to the next match.

The second processes up to 512 bytes at once, if most of them are ASCII. It computes masks of the characters and runs
the pattern's program over them, each operation on all bytes. The result is two masks: places that are boundaries by
their two neighbouring characters, in any context, and open places that these do not decide. At the first open place the
automaton takes over until it has passed it. The next few characters after a hazard are open as well; hazards are, for
example, the apostrophe of a contraction and characters beyond ASCII. Text before a boundary has no influence on what
follows it.

Reference: ``boundaries`` in :mod:`tokbench.reference.segmentation`.
"""

from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from tokbench.kernels.mask_program cimport (
    BEYOND, Load, Mask, Operation, Program, WORDS, __builtin_ctzll, beyond, choose_width, look
)
from tokbench.kernels.scan cimport Scanner
from tokbench.kernels.utf8 cimport beyond_ascii, code_before

cdef extern from *:
    """
    #define ENDS 0x80000000u    /* flag of a step: a match ends before the character */
    #define STATE 0x7FFFFFFFu
    """
    uint32_t ENDS
    uint32_t STATE


cdef enum:
    MOST_REGISTERS = 32
    BLOCK = 256             # code points per block of classes
    LEAST_ASCII = 48        # of 64 bytes; with fewer, masks are slower than the automaton
    LEAST_MASKED = 24       # bytes of text; with fewer, masks are slower than the automaton


cdef inline uint64_t within(uint64_t hazards, uint64_t before, int reach) noexcept nogil:
    """Return the places up to ``reach`` after a hazard, in this word or the one before it."""
    cdef uint64_t found = 0
    cdef int i
    for i in range(1, reach + 1):
        found |= hazards << i | before >> (64 - i)
    return found


@final
cdef class PatternScanner(Scanner):
    """Scanner of a pattern.

    A symbol is a class of characters, or one of up to two additional symbols. These are a line feed that ends the text,
    if the pattern treats it specially, and the end of the text, which is always the last symbol.

    Args:
        index: uint16 [4352], block number of every 256 code points.
        blocks: uint8 [b, 256], class of each code point of a block.
        steps: uint32 [states, symbols], next state, plus 2^31 if a match ends before the symbol. In state 0 no match
            can continue; state 1 is the start of a match.
        worlds: uint8 [classes]. Text that does not match ends before a character of another world.
        settled: uint8 [classes, classes], 1 if a text may be split between characters of the two classes.
        closing: Symbol of a line feed that ends the text; -1 if it is not treated specially.
        loads, operations, results: int32 [n, 4], int32 [n, 4] and int32 [4] (always, open, hazards, reach) of
            :class:`tokbench.pretokenization.patterns.masks.Masks`. ``loads`` and ``operations`` are empty without
            masks.

    Raises:
        ValueError: an array has another shape, or an index is out of range.
    """

    cdef const uint16_t* index
    cdef const uint8_t* blocks
    cdef const uint32_t* steps
    cdef const uint8_t* worlds
    cdef const uint8_t* settled
    cdef Program program
    cdef int32_t classes, closing, end_symbol
    cdef uint32_t start_row
    cdef int32_t always, open, hazards, reach
    cdef bint masked
    cdef uint8_t[128] of_ascii
    cdef object arrays

    def __cinit__(
        self,
        index: ArrayLike,
        blocks: ArrayLike,
        steps: NDArray[np.uint32],
        worlds: ArrayLike,
        settled: ArrayLike,
        int32_t closing,
        loads: ArrayLike,
        operations: ArrayLike,
        results: ArrayLike,
    ):
        cdef const uint16_t[::1] index_view = np.array(index, np.uint16)
        cdef const uint8_t[:, ::1] blocks_view = np.array(blocks, np.uint8, ndmin=2)
        cdef uint32_t[:, ::1] steps_view = np.array(steps, np.uint32, ndmin=2)
        cdef const uint8_t[::1] worlds_view = np.array(worlds, np.uint8)
        cdef const uint8_t[:, ::1] settled_view = np.array(settled, np.uint8, ndmin=2)
        cdef int32_t[:, ::1] loads_view = np.array(loads, np.int32).reshape(-1, 4)
        cdef int32_t[:, ::1] operations_view = np.array(operations, np.int32).reshape(-1, 4)
        cdef int64_t symbols = steps_view.shape[1], states = steps_view.shape[0], classes = worlds_view.shape[0]
        _check(
            *map(np.asarray, (index_view, blocks_view, steps_view, settled_view, loads_view, operations_view)),
            classes, closing, list(results),
        )
        # A state is stored as the start of its row.
        ends = np.asarray(steps_view) & np.uint32(ENDS)
        rows = (np.asarray(steps_view) & np.uint32(STATE)) * np.uint32(symbols)
        steps_view = np.ascontiguousarray(rows | ends, dtype=np.uint32)
        self.arrays = (index_view, blocks_view, steps_view, worlds_view, settled_view, loads_view, operations_view)
        self.index, self.blocks, self.steps = &index_view[0], &blocks_view[0, 0], &steps_view[0, 0]
        self.worlds, self.settled = &worlds_view[0], &settled_view[0, 0]
        self.program.loads_count, self.program.operations_count = loads_view.shape[0], operations_view.shape[0]
        self.masked = loads_view.shape[0] > 0 and operations_view.shape[0] > 0
        if self.masked:
            self.program.loads = <const Load*>&loads_view[0, 0]
            self.program.operations = <const Operation*>&operations_view[0, 0]
        self.classes, self.closing, self.end_symbol = <int32_t>classes, closing, <int32_t>(symbols - 1)
        self.start_row = <uint32_t>symbols
        self.always, self.open, self.hazards, self.reach = results
        self.settles = bool(np.asarray(settled_view).any())
        for code in range(128):
            self.of_ascii[code] = self.blocks[BLOCK * self.index[0] + code]

    cdef inline uint32_t class_of(self, uint32_t code) noexcept nogil:
        return self.blocks[<int64_t>BLOCK * self.index[code >> 8] + (code & 0xFF)]

    cdef inline uint32_t symbol_at(self, const uint8_t* p, const uint8_t* end, int* size) noexcept nogil:
        if p[0] < 0x80:
            size[0] = 1
            if p[0] == c"\n" and p + 1 == end and self.closing >= 0:
                return self.closing
            return self.of_ascii[p[0]]
        return self.class_of(beyond_ascii(p, end, size))

    cdef inline const uint8_t* match_end(
        self, const uint8_t* p, const uint8_t* end, const uint8_t** reached
    ) noexcept nogil:
        """Return the end of the match at ``p``, or ``p`` if there is none, and store the end of the text read."""
        cdef const uint32_t* steps = self.steps
        cdef const uint8_t* last = p
        # A line feed that ends the text is a separate symbol, so the text before it is read first.
        cdef const uint8_t* stop = end - 1 if self.closing >= 0 and (end - 1)[0] == c"\n" else end
        cdef uint32_t row = self.start_row, step, symbol
        cdef int size
        while p < stop:
            if p[0] < 0x80:
                symbol = self.of_ascii[p[0]]
                size = 1
            else:
                symbol = self.class_of(beyond_ascii(p, end, &size))
            step = steps[row + symbol]
            if step & ENDS:
                last = p
            row = step & STATE
            if not row:
                reached[0] = p
                return last
            p += size
        reached[0] = end
        if p < end:
            step = steps[row + self.closing]
            if step & ENDS:
                last = p
            row = step & STATE
            if not row:
                return last
        return end if steps[row + self.end_symbol] & ENDS else last

    cdef inline const uint8_t* piece_end(
        self, const uint8_t* p, const uint8_t* end, int64_t* read
    ) noexcept nogil:
        """Return the end of the pre-token that starts at ``p``; add the number of bytes examined to ``read``."""
        cdef const uint8_t* reached
        cdef const uint8_t* last = self.match_end(p, end, &reached)
        cdef uint32_t symbol
        cdef uint8_t world
        cdef int size
        read[0] += reached - p + 1
        if last > p:
            return last
        world = self.world_of(self.symbol_at(p, end, &size))
        p += size
        while p < end:
            symbol = self.symbol_at(p, end, &size)
            if self.world_of(symbol) != world:
                break
            read[0] += 1
            if self.steps[self.start_row + symbol]:
                last = self.match_end(p, end, &reached)
                read[0] += reached - p
                if last > p:
                    break
            p += size
        return p

    cdef inline uint8_t world_of(self, uint32_t symbol) noexcept nogil:
        return self.worlds[symbol] if symbol < <uint32_t>self.classes else self.worlds[self.of_ascii[c"\n"]]

    cdef int64_t next_boundaries(
        self, const uint8_t* text, int64_t start, int64_t end, int64_t* bounds, int64_t room
    ) noexcept nogil:
        cdef Mask registers[MOST_REGISTERS]
        cdef uint8_t[64 * WORDS] padded
        cdef const uint8_t* data
        cdef int64_t found = 0, read = 0, words, word, stop, base, more
        while start < end and found < room:
            if not self.masked or end - start < LEAST_MASKED or room < 64:
                start = self.piece_end(text + start, text + end, &read) - text
                bounds[found] = start
                found += 1
                continue
            if found and room - found < 64:
                return found
            words = min(<int64_t>WORDS, (end - start + 63) >> 6, (room - found) >> 6)
            data = text + start
            if 64 * words > end - start:
                memset(padded + 64 * (words - 1), 0, 64)
                memcpy(padded, data, end - start)
                data = padded
            if 64 * words - beyond(data, words, registers[BEYOND]) < LEAST_ASCII * words:
                stop = min(start + 64 * words, end)
                while start < stop and found < room:
                    start = self.piece_end(text + start, text + end, &read) - text
                    bounds[found] = start
                    found += 1
                continue
            look(&self.program, data, words, registers)
            base = start
            for word in range(words):
                more = self.bounds_in(text, base, start, end, word, registers, bounds + found, &read)
                if more:
                    found += more
                    start = bounds[found - 1]
            if start == base:
                start = self.piece_end(text + start, text + end, &read) - text
                bounds[found] = start
                found += 1
        return found

    cdef inline int64_t bounds_in(
        self,
        const uint8_t* text,
        int64_t base,
        int64_t start,
        int64_t end,
        int64_t word,
        Mask* registers,
        int64_t* bounds,
        int64_t* read,
    ) noexcept nogil:
        """Write the boundaries of a word of masks after the boundary ``start``, up to 64, and return their number.

        If the text ends inside the word, its end is the last boundary.
        """
        cdef int64_t place = base + 64 * word, found = 0, passed
        cdef uint64_t always, left, hazards, before = 0, known, kept = ~<uint64_t>0, inside = ~<uint64_t>0
        if start >= min(place + 63, end):
            return 0
        always = registers[self.always][word]
        if end - place < 64:
            inside = (<uint64_t>1 << (end - place)) - 1
            always = always & inside | inside + 1
        left = registers[self.open][word]
        hazards = registers[self.hazards][word]
        if start >= place:
            kept = ~<uint64_t>0 << (start - place)
        elif word:
            before = registers[self.hazards][word - 1]
            if start > place - 64:
                before &= ~<uint64_t>0 << (start - place + 64)
        while True:
            if start >= place:
                always &= kept & kept << 1
                left = (left & kept | within(hazards & kept, 0, self.reach)) & kept << 1
            else:
                left |= within(hazards, before, self.reach)
            left &= inside
            known = always & ((left & -left) - 1)
            always ^= known
            while known:
                bounds[found] = place + __builtin_ctzll(known)
                found += 1
                known &= known - 1
            if not left:
                return found
            if found:
                start = bounds[found - 1]
            start = self.piece_end(text + start, text + end, read) - text
            bounds[found] = start
            found += 1
            passed = start - place
            if passed >= 63 or start == end:
                return found
            if passed >= 0:
                kept = ~<uint64_t>0 << passed
            left = registers[self.open][word]

    cdef bint is_settled(self, const uint8_t* text, int64_t place, int64_t size) noexcept nogil:
        cdef uint8_t byte = text[place]
        cdef uint32_t after
        cdef int width
        if byte < 0x80:
            after = self.of_ascii[byte]
        elif byte < 0xC2 or byte > 0xF4 or size - place < 4:
            return False
        else:
            after = self.class_of(beyond_ascii(text + place, text + size, &width))
        return self.settled[self.class_of(code_before(text, place)) * <int64_t>self.classes + after]

    def steps_over(self, bytes text not None) -> int:
        """Return the number of automaton steps for a full text, without masks."""
        cdef const uint8_t* data = text
        cdef const uint8_t* end = data + len(text)
        cdef int64_t read = 0
        with nogil:
            while data < end:
                data = self.piece_end(data, end, &read)
        return read


def set_width(int most) -> str:
    """Limit vectors to ``most`` bytes, 0 to 64; return the width in use. It does not change the masks."""
    return choose_width(most).decode()


set_width(64)


def _check(index, blocks, steps, settled, loads, operations, classes, closing, results):
    """Reject tables that would make a scan read or write out of bounds."""
    states, symbols = steps.shape
    if index.shape != (0x110000 // BLOCK,) or blocks.shape[1] != BLOCK or int(index.max()) >= blocks.shape[0]:
        raise ValueError("the index must name a block of 256 classes for every 256 code points")
    if int(blocks.max()) >= classes or settled.shape != (classes, classes) or not classes:
        raise ValueError("a code point has a class that there is not")
    if symbols != classes + 1 + (closing >= 0) or closing not in (-1, classes) or states < 2:
        raise ValueError("the steps must have a column for each symbol")
    if int((steps & np.uint32(STATE)).max()) >= states or states * symbols > STATE or steps[0].any():
        raise ValueError("a step leads to a state that there is not, or out of state 0")
    if (steps[1] & np.uint32(ENDS)).any():
        raise ValueError("a match may be empty")
    registers = np.concatenate([loads[:, :1].ravel(), operations[:, 1:].ravel(), np.array(results[:3], np.int32)])
    if len(results) != 4 or int(registers.min()) < 0 or int(registers.max()) >= MOST_REGISTERS:
        raise ValueError("a register that there is not")
    if not 1 <= results[3] <= 60:
        raise ValueError("the reach of hazards must be 1 to 60")
