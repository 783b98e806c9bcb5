# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Segmentation by merging without merging: tokens from left to right that agree with their neighbours.

Merging a text gives the sequence t1 ... tn if and only if merging the bytes of every two neighbours gives back these
two tokens. The reason is that the first merge across a border would also be the first one across it in the two tokens.
Every prefix of a text has exactly one such sequence. So the sequence can be built from left to right: the longest token
that agrees with the one before, or a shorter one if nothing fits after it. No place is visited twice after a failure.

Whether two neighbours agree follows from their derivations, which do not depend on context. Starting from the last
merge, the later of the two tokens at the border is split again. If the two tokens at the border are a pair that is
merged before the merge just undone, the neighbours do not agree. Equal merges are made from left to right.

In a long pre-token, places that no token crosses are found first, from the two bytes on each side. The parts between
them are independent, and in scripts without blanks most parts are tokens.

This requires that every token is made of tokens of lower ranks, as in trained vocabularies. Merges that no text needs
are dropped. For other lists, in which a token may be made of later ones, ``complete`` is False.

Source: van Antwerpen and Neubeck, "So many tokens, so little time" (GitHub, 2024), for ranks without a list of merges.

Reference: ``derivations`` in :mod:`tokbench.reference.segmentation`; for the result, ``merge`` in
:mod:`tokbench.reference.segmentation`.
"""

from cpython.mem cimport PyMem_RawFree
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from tokbench.kernels.huge cimport zeroed
from tokbench.kernels.pair_table cimport shift_for
from tokbench.kernels.pretoken_key cimport INLINE, KEY_MASKS, Key, hash_of, inline_key
from tokbench.kernels.segmenter cimport Scratch, reserve
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at

import numpy as np


cdef enum:
    BYTES = 256
    NO_TOKEN = 0x7FFFFFFF
    MOST_IDS = 1 << 26          # limit of the ids, and of the total length of the tokens
    WORD = 16                   # bytes read from a text at once
    FEW_WORDS = 4               # of 64 places each: shorter pre-tokens need no allocated memory
    FEW = 64 * FEW_WORDS
    PADDED = FEW + WORD
    SHORTEST = 1 << 2 | 1 << 3      # lengths that are always tried
    LONGER = 1                      # bit for tokens longer than a key
    FEWER_BITS = 2                  # binary logarithm of the number of places per list of lengths
    NEAR = 2                        # bytes on each side of a place that are in the filter of crossed places
    BITS_EACH = 4                   # bits of that filter per byte of a token
    LEAST_PARTED = 64               # bytes of a pre-token that is parted at places that no token crosses


cdef extern from *:
    int __builtin_clz(uint32_t word) noexcept nogil


cdef inline uint64_t hash_of_pair(int32_t left, int32_t right) noexcept nogil:
    return (<uint64_t>left << 32 | <uint64_t>right) * <uint64_t>0x9E3779B97F4A7C15


cdef inline bint may_hold(const Table* table, int shift, uint64_t hashed) noexcept nogil:
    return table.bits[hashed >> shift] >> (hashed >> (shift - 3) & 7) & 1


cdef inline void mark(Table* table, int shift, uint64_t hashed) noexcept nogil:
    table.bits[hashed >> shift] |= <uint8_t>(1 << (hashed >> (shift - 3) & 7))


cdef inline void put(Table* table, int shift, uint64_t hashed, int32_t number) noexcept nogil:
    cdef uint64_t place = hashed >> shift, mask = (<uint64_t>1 << (64 - shift)) - 1
    mark(table, shift, hashed)
    while table.places[place].number >= 0:
        place = (place + 1) & mask
    table.places[place].tag = <uint32_t>(hashed >> (shift - 32))
    table.places[place].number = number


cdef inline int32_t made_of(const DerivedView* view, int32_t left, int32_t right) noexcept nogil:
    """Return the token made of a pair; NO_TOKEN if there is none."""
    cdef uint64_t hashed = hash_of_pair(left, right), place = hashed >> view.shift
    cdef const Place* found
    cdef const Derived* token
    if may_hold(&view.pairs, view.shift, hashed):
        while True:
            found = &view.pairs.places[place]
            if found.number < 0:
                break
            if found.tag == <uint32_t>(hashed >> (view.shift - 32)):
                token = &view.tokens[found.number]
                if token.left == left and token.right == right:
                    return found.number
            place = (place + 1) & ((<uint64_t>1 << (64 - view.shift)) - 1)
    return NO_TOKEN


cdef inline bint agree(const DerivedView* view, int32_t left, int32_t right) noexcept nogil:
    """Return whether merging the bytes of two tokens gives back the two tokens."""
    cdef int32_t limit = NO_TOKEN
    while made_of(view, left, right) >= limit:
        if left > right:
            if left < BYTES:
                return True
            limit = left
            left = view.tokens[left].right
        else:
            if right < BYTES:
                return True
            limit = right + 1
            right = view.tokens[right].left
    return False


cdef inline Key key_of_first(const Key* word, int64_t length) noexcept nogil:
    """Return the key of the first bytes of a word, at most INLINE."""
    cdef Key key
    key.low = word.low & KEY_MASKS[length].low
    key.high = word.high & KEY_MASKS[length].high | <uint64_t>length << 56
    return key


cdef inline int64_t length_of(const DerivedView* view, int32_t number) noexcept nogil:
    cdef const Key* key = &view.tokens[number].key
    return key.low if key.high >> 56 > INLINE else <int64_t>(key.high >> 56)


cdef inline uint16_t* lengths_by(const DerivedView* view, uint64_t low) noexcept nogil:
    return &view.lengths[(<uint64_t><uint32_t>low * <uint64_t>0x9E3779B97F4A7C15) >> (view.shift + FEWER_BITS)]


cdef inline int32_t spelled_by(const DerivedView* view, const Key* key, uint64_t hashed) noexcept nogil:
    """Return the token of a key; -1 if there is none."""
    cdef uint64_t place = hashed >> view.shift
    cdef const Place* found
    cdef const Derived* token
    while True:
        found = &view.spelled.places[place]
        if found.number < 0:
            return -1
        if found.tag == <uint32_t>(hashed >> (view.shift - 32)):
            token = &view.tokens[found.number]
            if token.key.low == key.low and token.key.high == key.high:
                return found.number
        place = (place + 1) & ((<uint64_t>1 << (64 - view.shift)) - 1)


cdef int32_t longest_of_trie(const TrieView* trie, const uint8_t* text, int64_t size) noexcept nogil:
    cdef int32_t node = 0, found = -1
    cdef int64_t i
    for i in range(size):
        node = step(trie, node, text[i])
        if node < 0:
            break
        if token_at(trie, node) >= 0:
            found = token_at(trie, node)
    return found


cdef inline int32_t longest(const DerivedView* view, const uint8_t* text, int64_t size) noexcept nogil:
    """Return the longest token at the start of a non-empty text. Reads WORD bytes of the text."""
    cdef Key word, key
    cdef uint64_t hashed
    cdef uint32_t lengths
    cdef int length
    cdef int32_t found
    memcpy(&word, text, WORD)
    lengths = SHORTEST | (lengths_by(view, word.low)[0] if size >= 4 else 0)
    if size <= INLINE:
        lengths &= (<uint32_t>2 << size) - 1
    elif lengths & LONGER:
        key = key_of_first(&word, INLINE)
        key.high |= <uint64_t>0xF0 << 56
        if may_hold(&view.spelled, view.shift, hash_of(key)):
            found = longest_of_trie(view.trie, text, size)
            if found >= 0:
                return found
    lengths &= ~<uint32_t>LONGER
    while lengths:
        length = 31 - __builtin_clz(lengths)
        lengths ^= <uint32_t>1 << length
        key = key_of_first(&word, length)
        hashed = hash_of(key)
        if may_hold(&view.spelled, view.shift, hashed):
            found = spelled_by(view, &key, hashed)
            if found >= 0:
                return found
    return text[0]


cdef inline uint64_t hash_of_place(uint32_t word, int left, int right) noexcept nogil:
    """Return a hash of the bytes around a place, of which ``word`` has two on each side: ``left`` and ``right``."""
    word = word << 8 * (2 - right) >> 8 * (4 - left - right)
    return (<uint64_t>(left << 1 | right) << 32 | word) * <uint64_t>0x9E3779B97F4A7C15


cdef inline uint64_t bits_of(uint64_t hashed) noexcept nogil:
    return <uint64_t>1 << (hashed >> 20 & 63) | <uint64_t>1 << (hashed >> 26 & 63)


cdef inline bint is_crossed(const DerivedView* view, uint32_t word, int left, int right) noexcept nogil:
    """Return whether a filter has the bytes around a place. There may be false positives, but no false negatives."""
    cdef uint64_t hashed = hash_of_place(word, left, right), bits = bits_of(hashed)
    return view.crossed[hashed >> view.crossed_shift] & bits == bits


cdef inline int64_t part_end(const DerivedView* view, const uint8_t* text, int64_t place, int64_t size) noexcept nogil:
    """Return the first place after ``place`` that no token crosses in this text, or its end.

    A token crosses a place with at least two bytes on each side, or with one byte on a side.
    """
    cdef int64_t i
    cdef uint32_t word, crossed = 0
    for i in range(place + 1, size):
        if i > 1 and i + 1 < size:
            memcpy(&word, text + i - 2, 4)
            if word == crossed and i > place + 1:
                continue
            crossed = word
            if is_crossed(view, word, 1, 1) or is_crossed(view, word, 2, 2):
                continue
            if is_crossed(view, word, 1, 2) or is_crossed(view, word, 2, 1):
                continue
        else:
            word = <uint32_t>text[i - 1] << 8 | <uint32_t>text[i] << 16
            if is_crossed(view, word, 1, 1):
                continue
            if i > 1 and is_crossed(view, word | text[i - 2], 2, 1):
                continue
            if i + 1 < size and is_crossed(view, word | <uint32_t>text[i + 1] << 24, 1, 2):
                continue
        return i
    return size


cdef int64_t cut_derived(
    const DerivedView* view, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch
) except -1 nogil:
    """Write the ids of a pre-token of ``size`` bytes, at least 1, and return their number.

    Raises:
        MemoryError: there is not enough memory.
    """
    cdef int64_t place = 0, after, count = 0
    cdef int32_t number
    cdef Key key
    if size < LEAST_PARTED:
        return cut_part(view, text, size, ids, scratch)
    while place < size:
        after = part_end(view, text, place, size)
        number = -1
        if after - place <= INLINE:
            key = inline_key(text + place, after - place, text + size)
            number = spelled_by(view, &key, hash_of(key))
        if number >= 0:
            ids[count] = view.tokens[number].id
            count += 1
        else:
            count += cut_part(view, text + place, after - place, ids + count, scratch)
        place = after
    return count


cdef int64_t cut_part(
    const DerivedView* view, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch
) except -1 nogil:
    """Write the ids of a pre-token, or of a part of it between two places that no token crosses."""
    cdef const Derived* tokens = view.tokens
    cdef uint8_t few_bytes[PADDED]
    cdef uint64_t few[FEW_WORDS]
    cdef uint8_t* padded = few_bytes
    cdef uint64_t* dead = few           # places after which nothing fits
    cdef int64_t count = 0, place = 0, after, i, reach, seen = 0
    cdef int32_t token, first, left = -1, right = -1       # the last two neighbours that agreed
    if size >= FEW:
        dead = <uint64_t*>reserve(scratch, (size // 64 + 1) * sizeof(uint64_t) + size + WORD)
        padded = <uint8_t*>(dead + size // 64 + 1)
    memcpy(padded, text, size)
    memset(padded + size, 0, WORD)
    token = longest(view, padded, size)
    if length_of(view, token) == size:
        ids[0] = tokens[token].id
        return 1
    memset(dead, 0, (size // 64 + 1) * sizeof(uint64_t))
    reach = max(<int64_t>WORD, view.trie.max_length)
    first = token
    while True:
        while token >= 0:
            after = place + length_of(view, token)
            if not dead[after >> 6] >> (after & 63) & 1:
                if not count or ids[count - 1] == left and token == right:
                    break
                if agree(view, ids[count - 1], token):
                    left, right = ids[count - 1], token
                    break
            token = tokens[token].shorter
        if token >= 0:
            ids[count] = token
            count += 1
            place = after
            if place == size:
                break
            # Repeated text has the same longest token.
            if seen > place or size - place < reach or memcmp(padded + place, padded + seen, reach):
                first = longest(view, padded + place, size - place)
            seen = place
            token = first
        else:
            dead[place >> 6] |= <uint64_t>1 << (place & 63)
            count -= 1
            place -= length_of(view, ids[count])
            token = tokens[ids[count]].shorter
    for i in range(count):
        ids[i] = tokens[ids[i]].id
    return count


cdef class Derivations:
    """Derivations of tokens by merges.

    Args:
        merges: int32 [m, 3], (left id, right id, resulting id), by rank. The first of equal pairs is used.
        byte_ids: int32 [256], id of each byte.
        by_result: Whether the resulting id is the rank (default: False); ``merges`` must then ascend by it.

    Attributes:
        complete: True if the derivations determine the results of merging. If False, nothing else is filled in.
        count: Number of tokens, including the 256 bytes.

    Raises:
        MemoryError: there is not enough memory.
    """

    def __cinit__(
        self, const int32_t[:, ::1] merges not None, const int32_t[::1] byte_ids not None, bint by_result=False
    ):
        cdef int64_t m = merges.shape[0], results = 0, row
        cdef int32_t most = 0, least = 0, k
        cdef int32_t[::1] numbers
        cdef uint8_t[::1] seen
        self.owned = self.crossed = NULL
        self.complete = False
        self.count = BYTES
        for row in range(m):
            for k in range(3):
                most = max(most, merges[row, k])
                least = min(least, merges[row, k])
            if by_result and row and merges[row, 2] < merges[row - 1, 2]:
                return
        for k in range(BYTES):
            most = max(most, byte_ids[k])
            least = min(least, byte_ids[k])
        if least < 0 or most >= MOST_IDS:
            return
        numbers = np.full(<int64_t>most + 1, -1, np.int32)
        seen = np.zeros(<int64_t>most + 1, np.uint8)
        for row in range(m):
            results += not seen[merges[row, 2]]
            seen[merges[row, 2]] = 1
        for k in range(BYTES):
            if numbers[byte_ids[k]] >= 0:
                return
            numbers[byte_ids[k]] = k
        self.derive(merges, byte_ids, by_result, numbers, results)

    def __dealloc__(self):
        PyMem_RawFree(self.owned)
        PyMem_RawFree(self.crossed)

    cdef int derive(
        self,
        const int32_t[:, ::1] merges,
        const int32_t[::1] byte_ids,
        bint by_result,
        int32_t[::1] numbers,
        int64_t results,
    ) except -1:
        cdef DerivedView* view = &self.view
        cdef int32_t[::1] lengths = np.ones(BYTES + results, np.int32)
        cdef int32_t[::1] late = np.empty(merges.shape[0] + 1, np.int32)
        cdef int64_t row, rows = merges.shape[0], lates = 0, total = BYTES, places, most
        cdef int32_t left, right, k
        cdef bint sound = True
        view.shift = shift_for(BYTES + results)
        places = <int64_t>1 << (64 - view.shift)
        most = BYTES + results
        view.tokens = <Derived*>zeroed(
            most * sizeof(Derived)
            + 2 * places * (sizeof(Place) + 1) + (places >> FEWER_BITS) * sizeof(uint16_t),
            &self.owned,
        )
        view.pairs.places = <Place*>(view.tokens + most)
        view.spelled.places = view.pairs.places + places
        view.lengths = <uint16_t*>(view.spelled.places + places)
        view.pairs.bits = <uint8_t*>(view.lengths + (places >> FEWER_BITS))
        view.spelled.bits = view.pairs.bits + places
        memset(view.pairs.places, 0xFF, 2 * places * sizeof(Place))
        for k in range(BYTES):
            view.tokens[k].left = view.tokens[k].right = view.tokens[k].shorter = -1
            view.tokens[k].id = byte_ids[k]
        with nogil:
            for row in range(rows):
                left, right = numbers[merges[row, 0]], numbers[merges[row, 1]]
                if left < 0 or right < 0:
                    late[lates] = <int32_t>row
                    lates += 1
                elif agree(view, left, right):
                    total += lengths[left] + lengths[right]
                    if numbers[merges[row, 2]] >= 0 or total > MOST_IDS:
                        sound = False
                        break
                    numbers[merges[row, 2]] = self.count
                    lengths[self.count] = lengths[left] + lengths[right]
                    view.tokens[self.count].id = merges[row, 2]
                    view.tokens[self.count].left, view.tokens[self.count].right = left, right
                    put(&view.pairs, view.shift, hash_of_pair(left, right), self.count)
                    self.count += 1
            # A merge of tokens that are made later than its rank must never apply.
            for row in range(lates if sound else 0):
                left, right = numbers[merges[late[row], 0]], numbers[merges[late[row], 1]]
                # If the two are already a pair by an equal merge of a higher rank, this one takes precedence.
                if left >= 0 and right >= 0 and (made_of(view, left, right) != NO_TOKEN or agree(view, left, right)):
                    sound = False
                    break
        if sound:
            self.spell(lengths, total)
            self.complete = True
        return 0

    cdef int spell(self, int32_t[::1] lengths, int64_t total) except -1:
        """Compute the keys of all tokens, and the tables that find tokens by their bytes."""
        cdef DerivedView* view = &self.view
        cdef Derived* tokens = view.tokens
        cdef uint8_t[::1] data = np.zeros(total + WORD, np.uint8)
        cdef int64_t[::1] offsets = np.empty(self.count + 1, np.int64)
        cdef uint8_t[::1] is_long = np.zeros(self.count, np.uint8)
        cdef Key key
        cdef int32_t k, part, i
        cdef int64_t at = 0
        offsets[0] = 0
        view.crossed_shift = shift_for(total * BITS_EACH // 128)
        view.crossed = <uint64_t*>zeroed((<int64_t>1 << (64 - view.crossed_shift)) * sizeof(uint64_t), &self.crossed)
        with nogil:
            for k in range(self.count):
                if k < BYTES:
                    data[at] = <uint8_t>k
                else:
                    part = view.tokens[k].left
                    memcpy(&data[at], &data[offsets[part]], lengths[part])
                    memcpy(&data[at + lengths[part]], &data[offsets[view.tokens[k].right]], lengths[view.tokens[k].right])
                for i in range(1, lengths[k]):
                    self.cross(&data[at + i], <int>min(i, NEAR), <int>min(lengths[k] - i, NEAR))
                at += lengths[k]
                offsets[k + 1] = at
            for k in range(self.count):
                memcpy(&key, &data[offsets[k]], WORD)
                if lengths[k] >= 4:
                    lengths_by(view, key.low)[0] |= <uint16_t>(1 << lengths[k] if lengths[k] <= INLINE else LONGER)
                key = key_of_first(&key, min(lengths[k], <int32_t>INLINE))
                if lengths[k] <= INLINE:
                    tokens[k].key = key
                    put(&view.spelled, view.shift, hash_of(key), k)
                else:
                    is_long[k] = 1
                    key.high |= <uint64_t>0xF0 << 56
                    mark(&view.spelled, view.shift, hash_of(key))
                    tokens[k].key.low = lengths[k]
                    tokens[k].key.high = <uint64_t>0xFF << 56
        self.trie = Trie(data, offsets, is_long)
        view.trie = &self.trie.view
        with nogil:
            for k in range(BYTES, self.count):
                tokens[k].shorter = longest(view, &data[offsets[k]], lengths[k] - 1)
        return 0

    cdef inline void cross(self, const uint8_t* text, int left, int right) noexcept nogil:
        """Enter the bytes around a place inside a token."""
        cdef uint32_t word = 0
        cdef uint64_t hashed
        memcpy(<uint8_t*>&word + 2 - left, text - left, left + right)
        hashed = hash_of_place(word, left, right)
        self.view.crossed[hashed >> self.view.crossed_shift] |= bits_of(hashed)

    cdef bint are_all_of(self, const TrieView* trie) noexcept nogil:
        """Return whether these are exactly the tokens of a trie, with the same ids."""
        cdef int32_t slot, k, node, part, held = 0
        for slot in range(trie.slots):
            held += slot > 0 and trie.units[slot].check >= 0 and trie.units[slot].token >= 0
        for k in range(self.count):
            node = self.walked(trie, 0, k)
            held -= node >= 0 and token_at(trie, node) == self.view.tokens[k].id
        return held == 0

    cdef int32_t walked(self, const TrieView* trie, int32_t node, int32_t number) noexcept nogil:
        """Return the node reached from a node by the bytes of a token; -1 if there is none."""
        if number < BYTES:
            return step(trie, node, <uint8_t>number)
        node = self.walked(trie, node, self.view.tokens[number].left)
        return self.walked(trie, node, self.view.tokens[number].right) if node >= 0 else -1
