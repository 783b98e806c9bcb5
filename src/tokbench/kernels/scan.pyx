# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Scanners, which split texts into pre-tokens: their base class, and the scanner of the built-in schemes.

The built-in schemes are hand-written versions of the regular expressions in ``tokbench.pretokenization.built_in``. All
other patterns are compiled to tables (:mod:`tokbench.kernels.pattern`).

Scanners work on bytes and agree with the ``regex`` package on ``text.decode("utf-8", "surrogateescape")``. A byte that
is not part of valid UTF-8 is a character, but neither letter, number nor blank. There are two ways through a text. The
first finds the end of a pre-token character by character, with a table of classes by code point. The second classifies
64 bytes at once into bit masks, from which all boundaries follow by a few shifts. It handles ASCII and most two-byte
letters of Latin and Cyrillic. The first takes over at the end of the text, at other characters and at contractions.

Reference: ``boundaries`` in :mod:`tokbench.reference.segmentation`.
"""

from cython cimport final
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from tokbench.kernels import unicode_classes
from tokbench.kernels.byte_ranges cimport in_range
from tokbench.kernels.utf8 cimport beyond_ascii, code_before

cdef extern from *:
    """
    /* Mark which of 64 bytes belong to two-byte letters in U+00C0 to U+027F and U+0400 to U+04FF, Latin and Cyrillic.
       No byte from 0xC2 on is part of a character that began before it. */
    static inline uint64_t letters_of_two(const uint8_t *text) {
    #if defined(__SSE2__) || defined(NEON)
        const uint64_t first = in_range(text, 0, 0xC3, 0xC9) | in_range(text, 0, 0xD0, 0xD3);
        if (!first) return 0;
        /* U+00D7, U+00F7 and U+0482 to U+0489 are not letters. */
        const uint64_t signs = in_range(text, 0, 0xC3, 0xC3) << 1 & in_range(text, 0x20, 0xB7, 0xB7);
        const uint64_t marks = in_range(text, 0, 0xD2, 0xD2) << 1 & in_range(text, 0, 0x82, 0x89);
        const uint64_t second = first << 1 & in_range(text, 0, 0x80, 0xBF) & ~(signs | marks);
        return second | second >> 1;
    #else
        return 0;
    #endif
    }
    """
    uint64_t letters_of_two(const uint8_t* text) noexcept nogil
    int __builtin_ctzll(uint64_t word) noexcept nogil


# Every code point belongs to exactly one class. Numbers are DIGITS (\d) and NUMERALS (the rest of \p{N}).
cdef enum:
    LETTERS = 1
    DIGITS = 2
    NUMERALS = 4
    BLANKS = 8
    OTHERS = 16
    NUMBERS = DIGITS | NUMERALS
    NON_BLANKS = LETTERS | DIGITS | NUMERALS | OTHERS

cdef enum:
    LEAST_MASKED = 12       # bytes of text; with fewer, masks are slower

cdef uint8_t CLASSES[0x110000]


cdef void fill_classes(uint8_t kind, str ranges):
    cdef int64_t first, last
    for word in ranges.split():
        start, _, end = word.partition("-")
        first = int(start, 16)
        last = int(end or start, 16)
        memset(CLASSES + first, kind, last - first + 1)


memset(CLASSES, OTHERS, sizeof(CLASSES))
fill_classes(LETTERS, unicode_classes.LETTERS)
fill_classes(DIGITS, unicode_classes.DIGITS)
fill_classes(NUMERALS, unicode_classes.NUMERALS)
fill_classes(BLANKS, unicode_classes.BLANKS)

# Bytes of ASCII and of two-byte letters. Masks are faster if the next two bytes are among these.
cdef uint8_t WORTH[256]

memset(WORTH, 0, 256)
memset(WORTH, 1, 0xC0)
memset(WORTH + 0xC3, 1, 7)
memset(WORTH + 0xD0, 1, 4)


cdef inline int class_at(const uint8_t* p, const uint8_t* end, int* size) noexcept nogil:
    if p[0] < 0x80:
        size[0] = 1
        return CLASSES[p[0]]
    return CLASSES[beyond_ascii(p, end, size)]


cdef inline const uint8_t* run_end(const uint8_t* p, const uint8_t* end, int classes) noexcept nogil:
    """Return the end of the run of characters of some classes that starts at ``p``; the run may be empty."""
    cdef int size
    while p < end and class_at(p, end, &size) & classes:
        p += size
    return p


cdef inline const uint8_t* blanks_end(const uint8_t* p, const uint8_t* end) noexcept nogil:
    r"""``\s+(?!\S)|\s+``: a run of blanks without its last one, unless it is the only one or ends the text."""
    cdef const uint8_t* before = p
    cdef const uint8_t* last = p
    cdef int size
    while p < end and class_at(p, end, &size) == BLANKS:
        last = p
        p += size
    return last if p < end and last > before else p


cdef inline const uint8_t* space_end(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """`` |[^ ]+``"""
    if p[0] == c" ":
        return p + 1
    while p < end and p[0] != c" ":
        p += 1
    return p


cdef inline const uint8_t* digit_end(const uint8_t* p, const uint8_t* end) noexcept nogil:
    r"""``\d|[^\d]+``"""
    cdef int size
    if class_at(p, end, &size) == DIGITS:
        return p + size
    return run_end(p, end, NON_BLANKS & ~DIGITS | BLANKS)


cdef inline const uint8_t* space_digit_end(const uint8_t* p, const uint8_t* end) noexcept nogil:
    r"""`` |\d|[^ \d]+``"""
    cdef int size, kind
    if p[0] == c" ":
        return p + 1
    kind = class_at(p, end, &size)
    if kind == DIGITS:
        return p + size
    while kind != DIGITS and p[0] != c" ":
        p += size
        if p == end:
            break
        kind = class_at(p, end, &size)
    return p


cdef inline const uint8_t* first_space_end(const uint8_t* p, const uint8_t* end) noexcept nogil:
    r"""`` ?\S+|\s+(?!\S)|\s+``"""
    cdef const uint8_t* q = p + 1 if p[0] == c" " and end - p > 1 else p
    cdef int size
    if class_at(q, end, &size) == BLANKS:
        return blanks_end(p, end)
    return run_end(q, end, NON_BLANKS)


cdef inline const uint8_t* first_space_digit_end(const uint8_t* p, const uint8_t* end) noexcept nogil:
    r"""``\d| ?[^\s\d]+|\s+(?!\S)|\s+``"""
    cdef const uint8_t* q = p + 1 if p[0] == c" " and end - p > 1 else p
    cdef int size, kind = class_at(q, end, &size)
    if kind == BLANKS:
        return blanks_end(p, end)
    if kind == DIGITS:
        return q if q > p else p + size
    return run_end(q, end, NON_BLANKS & ~DIGITS)


cdef inline const uint8_t* contraction_end(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """``'s|'t|'re|'ve|'m|'ll|'d``; ``p`` if there is no match."""
    if end - p > 1:
        if p[1] == c"s" or p[1] == c"t" or p[1] == c"m" or p[1] == c"d":
            return p + 2
        if end - p > 2 and (
            (p[2] == c"e" and (p[1] == c"r" or p[1] == c"v")) or (p[1] == c"l" and p[2] == c"l")
        ):
            return p + 3
    return p


cdef inline const uint8_t* gpt2_end(const uint8_t* p, const uint8_t* end) noexcept nogil:
    r"""``'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+``"""
    cdef const uint8_t* q = p + 1 if p[0] == c" " and end - p > 1 else p
    cdef int size, kind = class_at(q, end, &size)
    if kind == LETTERS:
        return run_end(q, end, LETTERS)
    if kind == BLANKS:
        return blanks_end(p, end)
    if kind == OTHERS:
        if p[0] == c"'":
            q = contraction_end(p, end)
            if q > p:
                return q
        return run_end(q, end, OTHERS)
    return run_end(q, end, NUMBERS)


cdef inline const uint8_t* pretoken_end(Scheme scheme, const uint8_t* p, const uint8_t* end) noexcept nogil:
    if scheme == GPT2:
        return gpt2_end(p, end)
    if scheme == FIRST_SPACE:
        return first_space_end(p, end)
    if scheme == FIRST_SPACE_DIGIT:
        return first_space_digit_end(p, end)
    if scheme == SPACE:
        return space_end(p, end)
    if scheme == DIGIT:
        return digit_end(p, end)
    if scheme == SPACE_DIGIT:
        return space_digit_end(p, end)
    return end


cdef inline uint64_t starts_in(Scheme scheme, const uint8_t* text, uint64_t two) noexcept nogil:
    """Mark which of 64 bytes start a pre-token; the first one must. ``two`` are the bytes of two-byte letters.

    The result is valid for a byte if it and its neighbours are ASCII or such letters, and no contraction precedes it.
    """
    cdef uint64_t spaces = in_range(text, 0, c" ", c" "), digits, blanks, letters, others, starts, words, joined
    if scheme == SPACE:
        return spaces | spaces << 1
    digits = in_range(text, 0, c"0", c"9")
    if scheme == DIGIT:
        return digits | digits << 1
    if scheme == SPACE_DIGIT:
        return spaces | digits | (spaces | digits) << 1
    blanks = spaces | in_range(text, 0, c"\t", c"\r")
    starts = blanks & ~(blanks << 1 & blanks >> 1)
    joined = spaces << 1
    if scheme == FIRST_SPACE:
        return starts | (~blanks & ~(~blanks << 1 | joined))
    if scheme == FIRST_SPACE_DIGIT:
        words = ~(blanks | digits)
        return starts | digits | (words & ~(words << 1 | joined))
    letters = in_range(text, 0x20, c"a", c"z") | two
    others = ~(blanks | digits | letters)
    words = (letters & ~(letters << 1)) | (digits & ~(digits << 1)) | (others & ~(others << 1))
    return starts | (words & ~joined)


cdef inline uint64_t ends_in(Scheme scheme, const uint8_t* text, int64_t size) noexcept nogil:
    """Mark which of 64 bytes are known to be boundaries; the first one must be and is not marked.

    Only the first ``size`` bytes, at least 1, belong to the text.
    """
    cdef uint64_t beyond = ~in_range(text, 0, 0, 0x7F), two = letters_of_two(text) if beyond else 0
    cdef uint64_t starts = starts_in(scheme, text, two) & ~<uint64_t>1, strange, quotes
    strange = beyond & ~two | <uint64_t>1 << (size - 1)
    starts &= (strange & -strange) - 1 >> 1
    if scheme == GPT2:
        quotes = starts & in_range(text, 0, c"'", c"'")
        starts &= quotes ^ (quotes - 1)
    return starts


cdef int64_t boundaries_of(
    Scheme scheme, const uint8_t* text, int64_t start, int64_t end, int64_t* bounds, int64_t room
) noexcept nogil:
    cdef uint8_t[64] padded
    cdef uint64_t ends
    cdef int64_t found = 0
    while start < end and found < room:
        if end - start >= LEAST_MASKED and WORTH[text[start]] & WORTH[text[start + 1]] and scheme != NONE:
            if found and room - found < 64:
                return found
            if room < 64:
                ends = 0
            elif end - start >= 64:
                ends = ends_in(scheme, text + start, 64)
            else:
                memset(padded, 0, 64)
                memcpy(padded, text + start, end - start)
                ends = ends_in(scheme, padded, end - start)
            if ends and not (scheme == GPT2 and text[start] == c"'"):
                while ends:
                    bounds[found] = start + __builtin_ctzll(ends)
                    found += 1
                    ends &= ends - 1
                start = bounds[found - 1]
                continue
        start = pretoken_end(scheme, text + start, text + end) - text
        bounds[found] = start
        found += 1
    return found


cdef class Scanner:
    """Scanner that returns the full text as one pre-token; base class of all scanners. Immutable and thread-safe.

    Attributes:
        settles: True if any text can be split at some place (see :func:`settled_after`).
    """

    cdef int64_t next_boundaries(
        self, const uint8_t* text, int64_t start, int64_t end, int64_t* bounds, int64_t room
    ) noexcept nogil:
        bounds[0] = end
        return 1

    cdef bint is_settled(self, const uint8_t* text, int64_t place, int64_t size) noexcept nogil:
        return False


@final
cdef class SchemeScanner(Scanner):
    r"""Scanner of a built-in scheme.

    A place where a text can be split without changing its pre-tokens is recognised by the byte at the place and the
    character before it. Pre-tokens do not depend on anything before the boundary at which they start. So a place is
    valid if (1) it is a boundary of the text and (2) the text before it has the same pre-tokens without the text after
    it:

    - ``space``, ``space_digit``: before a space, which is always a pre-token; no alternative looks ahead.
    - ``digit``: before an ASCII digit, for the same reason.
    - ``first_space``, ``first_space_digit``, ``gpt2``: before an ASCII blank that does not follow a blank. No
      alternative matches a blank after another character, hence (1). Only ``\s+(?!\S)`` looks ahead, by one character.
      The character before the place is not a blank, so the look-ahead never reaches past the place, hence (2).

    Args:
        scheme: Member of :class:`Scheme`.
    """

    def __cinit__(self, Scheme scheme):
        self.scheme = scheme
        self.settles = scheme != NONE

    cdef int64_t next_boundaries(
        self, const uint8_t* text, int64_t start, int64_t end, int64_t* bounds, int64_t room
    ) noexcept nogil:
        return boundaries_of(self.scheme, text, start, end, bounds, room)

    cdef bint is_settled(self, const uint8_t* text, int64_t place, int64_t size) noexcept nogil:
        cdef uint8_t byte = text[place]
        if byte >= 0x80:
            return False
        if self.scheme == SPACE or self.scheme == SPACE_DIGIT:
            return byte == c" "
        if self.scheme == DIGIT:
            return CLASSES[byte] == DIGITS
        return CLASSES[byte] == BLANKS and CLASSES[code_before(text, place)] != BLANKS


def settled_after(Scanner scanner not None, const uint8_t[::1] text not None, int64_t place) -> int:
    """Return the first place at or after ``place`` where a text can be split without changing its pre-tokens.

    ASCII bytes are always characters, and first bytes of UTF-8 always begin a character. So the characters next to the
    place are the same in the parts as in the full text. The first WIDEST bytes are skipped, so that the text may itself
    be a part.

    Args:
        scanner: Scanner.
        text: Any bytes.
        place: 0 to ``len(text)``.

    Returns:
        The place, or ``len(text)`` if there is none.
    """
    cdef int64_t size = text.shape[0]
    place = max(place, WIDEST) if scanner.settles else size
    with nogil:
        while place < size and not scanner.is_settled(&text[0], place, size):
            place += 1
    return min(place, size)


def settled_before(Scanner scanner not None, const uint8_t[::1] text not None, int64_t place) -> int:
    """Return the last place before ``place`` that splits a text as :func:`settled_after` does; 0 for none."""
    cdef int64_t size = text.shape[0]
    place = min(place, size) - 1 if scanner.settles else 0
    with nogil:
        while place >= WIDEST and not scanner.is_settled(&text[0], place, size):
            place -= 1
    return place if place >= WIDEST else 0


def boundaries(Scanner scanner not None, bytes text) -> NDArray[np.int64]:
    """Return the pre-token boundaries of a text.

    Args:
        scanner: Scanner.
        text: Any bytes; they need not be valid UTF-8.

    Returns:
        int64 [n + 1]: 0 and the end of each of the n pre-tokens; ``[0]`` for an empty text.
    """
    cdef const uint8_t* data = text
    cdef int64_t size = len(text), found = 1, room = size // 4 + 64
    bounds = np.empty(room, np.int64)
    cdef int64_t[::1] view = bounds
    view[0] = 0
    while view[found - 1] < size:
        if room - found < 64:
            room *= 2
            bounds = np.concatenate([bounds, np.empty(room - found, np.int64)])
            view = bounds
        with nogil:
            found += scanner.next_boundaries(data, view[found - 1], size, &view[found], room - found)
    return bounds[:found].copy()
