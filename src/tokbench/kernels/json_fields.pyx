# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Search for fields of a JSON object without building the values of other fields.

Memory: one bit per level of nested lists and objects. The accepted syntax is that of Python's own parser, including NaN
and Infinity. Bytes are UTF-8, and may include single surrogates. A ``bytes`` object ends with NUL in memory, which no
JSON rule allows, so the scanner needs no end checks.

Reference: :func:`json.loads`.
"""

import json

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcmp, strncmp
from libcpp.vector cimport vector

from tokbench.kernels.utf8 cimport beyond_ascii, trails


cdef tuple WORDS = (b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity")


cdef const uint8_t* rejected(const uint8_t* text, const uint8_t* p) except NULL:
    raise ValueError(p - text)


cdef inline const uint8_t* blanks(const uint8_t* p) noexcept:
    while p[0] == b" " or p[0] == b"\n" or p[0] == b"\r" or p[0] == b"\t":
        p += 1
    return p


cdef inline bint is_digit(uint8_t byte) noexcept:
    return b"0" <= byte <= b"9"


cdef inline bint is_hex(uint8_t byte) noexcept:
    return is_digit(byte) or b"a" <= byte | 0x20 <= b"f"


cdef const uint8_t* string(const uint8_t* text, const uint8_t* p, const uint8_t* end, bint* escaped) except NULL:
    # Return the position after a string; ``p`` is after its opening quote.
    cdef int size, digit
    escaped[0] = False
    while True:
        while p[0] >= 0x20 and p[0] < 0x80 and p[0] != b'"' and p[0] != b"\\":
            p += 1
        if p[0] == b'"':
            return p + 1
        if p[0] == b"\\":
            escaped[0] = True
            p += 1
            if p[0] == b"u":
                for digit in range(1, 5):
                    if not is_hex(p[digit]):
                        return rejected(text, p)
                p += 5
            elif p[0] in b'"\\/bfnrt':
                p += 1
            else:
                return rejected(text, p)
        elif p[0] < 0x80:
            return rejected(text, p)
        else:
            beyond_ascii(p, end, &size)
            if size == 1:
                if p[0] != 0xED or not trails(p[1]) or not trails(p[2]):
                    return rejected(text, p)
                size = 3
            p += size


cdef const uint8_t* number(const uint8_t* text, const uint8_t* p) except NULL:
    # A decimal point or an exponent without digits is not consumed; the caller rejects it.
    if p[0] == b"-":
        p += 1
    if not is_digit(p[0]):
        return rejected(text, p)
    if p[0] == b"0":
        p += 1
    else:
        while is_digit(p[0]):
            p += 1
    if p[0] == b"." and is_digit(p[1]):
        p += 2
        while is_digit(p[0]):
            p += 1
    if p[0] == b"e" or p[0] == b"E":
        if is_digit(p[1]):
            p += 2
        elif (p[1] == b"+" or p[1] == b"-") and is_digit(p[2]):
            p += 3
        else:
            return p
        while is_digit(p[0]):
            p += 1
    return p


cdef const uint8_t* scalar(const uint8_t* text, const uint8_t* p, const uint8_t* end) except NULL:
    # Return the position after a string, a number or a word.
    cdef bint escaped
    if p[0] == b'"':
        return string(text, p + 1, end, &escaped)
    if is_digit(p[0]) or p[0] == b"-" and p[1] != b"I":
        return number(text, p)
    for word in WORDS:
        if strncmp(<const char*> p, <const char*> word, len(<bytes> word)) == 0:
            return p + len(<bytes> word)
    return rejected(text, p)


cdef const uint8_t* behind_key(const uint8_t* text, const uint8_t* p, const uint8_t* end) except NULL:
    # Return the position of the value of a member whose key begins at ``p``.
    cdef bint escaped
    if p[0] != b'"':
        return rejected(text, p)
    return behind_colon(text, string(text, p + 1, end, &escaped))


cdef inline const uint8_t* behind_colon(const uint8_t* text, const uint8_t* p) except NULL:
    p = blanks(p)
    if p[0] != b":":
        return rejected(text, p)
    return blanks(p + 1)


cdef const uint8_t* value(const uint8_t* text, const uint8_t* p, const uint8_t* end) except NULL:
    # Return the position after the value that begins at ``p``.
    cdef vector[uint64_t] objects  # one bit per level: whether it is an object
    cdef size_t depth = 0
    cdef bint in_object
    while True:
        if p[0] == b"{" or p[0] == b"[":
            in_object = p[0] == b"{"
            p = blanks(p + 1)
            if p[0] == (c"}" if in_object else c"]"):
                p += 1
            else:
                if depth >> 6 == objects.size():
                    objects.push_back(0)
                if in_object:
                    objects[depth >> 6] |= <uint64_t> 1 << (depth & 63)
                    p = behind_key(text, p, end)
                else:
                    objects[depth >> 6] &= ~(<uint64_t> 1 << (depth & 63))
                depth += 1
                continue
        else:
            p = scalar(text, p, end)
        while depth:
            in_object = objects[(depth - 1) >> 6] >> ((depth - 1) & 63) & 1
            p = blanks(p)
            if p[0] == b",":
                p = blanks(p + 1)
                if in_object:
                    p = behind_key(text, p, end)
                break
            if p[0] != (c"}" if in_object else c"]"):
                return rejected(text, p)
            p += 1
            depth -= 1
        else:
            return p


cdef int place_of(const uint8_t* key, Py_ssize_t size, bint escaped, tuple names) except -2:
    # Return the index of a key among the names; -1 if it is none of them.
    cdef bytes name
    cdef int place
    if escaped:
        name = json.loads((key - 1)[: size + 2].decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")
        return names.index(name) if name in names else -1
    for place in range(len(names)):
        name = names[place]
        if len(name) == size and memcmp(<const char*> name, key, size) == 0:
            return place
    return -1


def find_fields(
    bytes line not None, Py_ssize_t start, tuple names not None, bint inner=False
) -> list[tuple[int, int, int]] | None:
    """Find members of an object by their keys.

    Args:
        line: JSON text.
        start: Start of the object; it may be preceded by blanks.
        names: Keys, as bytes.
        inner: Whether the object is part of a larger value, so that any text may follow (default: False).

    Returns:
        For each name the number of occurrences of the key, and the start and end of its last value. None if the value
            is not an object.

    Raises:
        ValueError: the line is not JSON; the argument is the position of the error.
    """
    cdef const uint8_t* text = line
    cdef const uint8_t* end = text + len(line)
    cdef const uint8_t* p = blanks(text + start)
    cdef const uint8_t* key
    cdef const uint8_t* first
    cdef bint escaped
    cdef int place
    cdef list found = None
    if p[0] == b"{":
        found = [(0, 0, 0)] * len(names)
        p = blanks(p + 1)
        if p[0] == b"}":
            p += 1
        else:
            while True:
                if p[0] != b'"':
                    rejected(text, p)
                key = p + 1
                p = string(text, key, end, &escaped)
                place = place_of(key, p - key - 1, escaped, names)
                first = p = behind_colon(text, p)
                p = value(text, p, end)
                if place >= 0:
                    found[place] = (found[place][0] + 1, first - text, p - text)
                p = blanks(p)
                if p[0] == b"}":
                    p += 1
                    break
                if p[0] != b",":
                    rejected(text, p)
                p = blanks(p + 1)
    else:
        p = value(text, p, end)
    if not inner and blanks(p) != end:
        rejected(text, blanks(p))
    return found
