# Characters of bytes that need not be valid UTF-8. A byte that is not part of a valid sequence (Unicode standard, table
# 3-7) is a character: the low surrogate from Python's "surrogateescape". ASCII bytes and first bytes of UTF-8 always
# begin a character.

from libc.stdint cimport int64_t, uint8_t, uint32_t


cdef inline bint trails(uint8_t byte) noexcept nogil:
    return byte & 0xC0 == 0x80


cdef inline uint32_t beyond_ascii(const uint8_t* p, const uint8_t* end, int* size) noexcept nogil:
    # Return the code point and the length of the character at ``p``, whose first byte is not ASCII.
    cdef uint32_t lead = p[0], code
    size[0] = 1
    if lead < 0xC2 or end - p < 2 or not trails(p[1]):
        return 0xDC00 | lead
    if lead < 0xE0:
        size[0] = 2
        return (lead & 0x1F) << 6 | (p[1] & 0x3F)
    if end - p < 3 or not trails(p[2]):
        return 0xDC00 | lead
    if lead < 0xF0:
        code = (lead & 0x0F) << 12 | <uint32_t>(p[1] & 0x3F) << 6 | (p[2] & 0x3F)
        if code < 0x800 or code >> 11 == 0xD800 >> 11:
            return 0xDC00 | lead
        size[0] = 3
        return code
    if lead > 0xF4 or end - p < 4 or not trails(p[3]):
        return 0xDC00 | lead
    code = (lead & 0x07) << 18 | <uint32_t>(p[1] & 0x3F) << 12 | <uint32_t>(p[2] & 0x3F) << 6 | (p[3] & 0x3F)
    if code < 0x10000 or code > 0x10FFFF:
        return 0xDC00 | lead
    size[0] = 4
    return code


cdef inline uint32_t code_at(const uint8_t* p, const uint8_t* end, int* size) noexcept nogil:
    if p[0] < 0x80:
        size[0] = 1
        return p[0]
    return beyond_ascii(p, end, size)


cdef inline uint32_t code_before(const uint8_t* text, int64_t place) noexcept nogil:
    # Return the character that ends at ``place``, at least 4. No character may span the place.
    cdef uint32_t code
    cdef int size, width
    if text[place - 1] < 0x80:
        return text[place - 1]
    for width in range(2, 5):
        code = code_at(text + place - width, text + place, &size)
        if size == width:
            return code
    return 0xDC00 | <uint32_t>text[place - 1]
