# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The token trie that segmentations and constructions walk: a double array (Aoe 1989, IEEE TSE 15:1066-1077).

The child of node ``v`` by byte ``c`` is slot ``base[v] + c``, and is v's only if ``check`` there says ``v``: a step is
one addition and one look-up. Base, check and token of a node lie together in 12 bytes, mostly in one cache line.

For other kernels (see ``trie.pxd``; all ``noexcept nogil``, no reference counting, read-only, so that any number of
threads may walk one trie)::

    from tokbench.kernels.trie cimport Trie, TrieView, step, token_at

    cdef const TrieView* view = &trie.view     # valid as long as the Trie object is held
    node = step(view, 0, text[i])              # 0 is the root; -1 where there is no such child
    token = token_at(view, node)               # -1 where no token ends

Weights, scores and masks that change while the trie is walked belong in arrays of the caller's, indexed by token.

Reference: :mod:`tokbench.reference.trie`.
"""

from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from tokbench.kernels.limits cimport within

import numpy as np


cdef enum:
    HOLES_TRIED = 32        # free slots tried for a family of children before the end of the array is taken
    SMALL = 24              # ranges up to this many tokens are sorted by insertion
    MARGIN = 256            # slots past the last used one, so that base + byte stays inside
    ROOT_BASE = 1           # slots 1 to 256 are kept for the root's children; a leaf's base is 0
    NOBODY = -1             # check of a kept slot without a child


cdef struct Spelling:
    const uint8_t* data
    const int64_t* offsets
    bint backwards


cdef struct Range:
    # The tokens order[low:high] share the ``depth`` bytes that lead to ``node``.
    int32_t node
    int32_t low
    int32_t high
    int32_t depth


cdef struct Builder:
    TrieUnit* units
    int64_t slots           # all slots from ``frontier`` to here are free and linked
    int64_t frontier        # one past the last used slot
    int64_t first_free      # free slots form a list in ascending order: base = previous, check = ~next


cdef inline uint8_t byte_at(const Spelling* spelling, int32_t token, int32_t depth) noexcept nogil:
    """The byte that leads from depth ``depth`` to the next on the way to ``token``."""
    if spelling.backwards:
        return spelling.data[spelling.offsets[token + 1] - 1 - depth]
    return spelling.data[spelling.offsets[token] + depth]


cdef int grow(Builder* builder, int64_t slots) except -1 nogil:
    """Make ``slots`` slots, the new ones free, at the list's end."""
    cdef int64_t slot
    cdef TrieUnit* units
    within(slots, "units of a trie")
    units = <TrieUnit*>PyMem_RawRealloc(builder.units, slots * sizeof(TrieUnit))
    if units == NULL:
        raise MemoryError(f"no memory for a trie: it takes {slots * sizeof(TrieUnit)} bytes")
    builder.units = units
    for slot in range(builder.slots, slots):
        units[slot].base = <int32_t>(slot - 1)
        units[slot].check = ~<int32_t>(slot + 1)
        units[slot].token = -1
    builder.slots = slots
    return 0


cdef inline void take(Builder* builder, int64_t slot, int32_t parent) noexcept nogil:
    """Give a free slot to a child of ``parent``."""
    cdef TrieUnit* unit = &builder.units[slot]
    cdef int32_t after = ~unit.check
    if slot == builder.first_free:
        builder.first_free = after
    else:
        builder.units[unit.base].check = unit.check
    builder.units[after].base = unit.base
    unit.base = 0
    unit.check = parent
    if slot >= builder.frontier:
        builder.frontier = slot + 1


cdef int64_t place(Builder* builder, int32_t parent, const uint8_t* children, int32_t count) except -1 nogil:
    """Find a base at which all ``children`` of ``parent`` fall on free slots and take them."""
    cdef int64_t slot, base
    cdef int32_t tried, child
    if parent == 0:
        for child in range(count):
            builder.units[ROOT_BASE + children[child]].check = 0
        return ROOT_BASE
    if builder.frontier + 2 * MARGIN + 2 > builder.slots:
        grow(builder, builder.slots + builder.slots // 2 + 4 * MARGIN)
    slot = builder.first_free       # above 256, so that base never falls below 1
    for tried in range(HOLES_TRIED):
        if slot >= builder.frontier:
            break
        base = slot - children[0]
        for child in range(1, count):
            if builder.units[base + children[child]].check >= 0:
                break
        else:
            break
        slot = ~builder.units[slot].check
    else:
        slot = builder.frontier
    base = slot - children[0]
    for child in range(count):
        take(builder, base + children[child], parent)
    builder.units[parent].base = <int32_t>base
    return base


cdef void sort_by_byte(const Spelling* spelling, int32_t* order, int32_t* spare, Range tokens) noexcept nogil:
    """Order a range of tokens, all longer than ``depth``, by their byte there; stable."""
    cdef int32_t count[257]
    cdef int32_t low = tokens.low, high = tokens.high, depth = tokens.depth, i, j, token
    cdef uint8_t byte
    if high - low <= SMALL:
        for i in range(low + 1, high):
            token = order[i]
            byte = byte_at(spelling, token, depth)
            j = i - 1
            while j >= low and byte_at(spelling, order[j], depth) > byte:
                order[j + 1] = order[j]
                j -= 1
            order[j + 1] = token
        return
    memset(count, 0, sizeof(count))
    for i in range(low, high):
        count[byte_at(spelling, order[i], depth) + 1] += 1
    for i in range(256):
        count[i + 1] += count[i]
    for i in range(low, high):
        byte = byte_at(spelling, order[i], depth)
        spare[low + count[byte]] = order[i]
        count[byte] += 1
    for i in range(low, high):
        order[i] = spare[i]


cdef int64_t build(
    Builder* builder, const Spelling* spelling, int32_t* order, int32_t* spare, Range* stack, int32_t n
) except -1 nogil:
    """Radix-sort the tokens, making each node as its range comes up; returns the number of nodes."""
    cdef Range here, below
    cdef uint8_t children[256]
    cdef int32_t edges[257]
    cdef uint8_t byte
    cdef int32_t i, kept, token, count
    cdef int64_t base, nodes = 1, top = 0
    here.node = here.low = here.depth = 0
    here.high = n
    if n:
        stack[0] = here
        top = 1
    while top:
        top -= 1
        here = stack[top]
        kept = here.low         # tokens that end here move to the range's start
        for i in range(here.low, here.high):
            token = order[i]
            if spelling.offsets[token + 1] - spelling.offsets[token] == here.depth:
                if builder.units[here.node].token < 0 or token < builder.units[here.node].token:
                    builder.units[here.node].token = token
                order[i] = order[kept]
                order[kept] = token
                kept += 1
        if kept == here.high:
            continue
        here.low = kept
        sort_by_byte(spelling, order, spare, here)
        count = 0
        for i in range(here.low, here.high):
            token = order[i]
            byte = byte_at(spelling, token, here.depth)
            if count == 0 or byte != children[count - 1]:
                children[count] = byte
                edges[count] = i
                count += 1
        edges[count] = here.high
        base = place(builder, here.node, children, count)
        nodes += count
        for i in range(count - 1, -1, -1):
            below.node = <int32_t>(base + children[i])
            below.low = edges[i]
            below.high = edges[i + 1]
            below.depth = here.depth + 1
            stack[top] = below
            top += 1
    return nodes


cdef class Trie:
    """An immutable trie of tokens.

    Args:
        data: uint8 [bytes], the tokens laid end to end.
        offsets: int64 [tokens + 1], where each starts; as :meth:`tokbench.vocabulary.Vocabulary.flat` gives them.
        included: bool [tokens], the tokens to hold, or None for all. Where the same bytes stand twice among them,
            the lower id is kept.
        backwards: spell the tokens from their last byte to their first, to walk a text from an end leftwards.

    Attributes:
        nodes: nodes in use, the root included.
        tokens: one more than the largest id held, 0 for none.

    Raises:
        ValueError: a token held is empty, the tokens have more than 2^30 bytes, offsets do not ascend inside
            ``data``, or ``included`` has another length.
        OverflowError: there are 2^31 tokens, or the trie would have as many units.
        MemoryError: the 12 bytes a node cannot be had.
    """

    def __cinit__(self, const uint8_t[::1] data, const int64_t[::1] offsets, included=None, bint backwards=False):
        cdef Py_ssize_t tokens = offsets.shape[0] - 1
        cdef int32_t[::1] order, spare
        cdef uint8_t[::1] stack
        cdef Builder builder
        cdef Spelling spelling
        cdef TrieUnit* trimmed
        cdef const uint8_t[::1] chosen = None
        cdef int64_t slot, length, total = 0
        cdef int32_t held = 0, longest = 0, i

        if tokens < 0:
            raise ValueError("offsets must have one entry more than there are tokens")
        within(tokens, "tokens")
        if included is not None:
            if len(included) != tokens:
                raise ValueError(f"included has {len(included)} entries for {tokens} tokens")
            chosen = np.ascontiguousarray(included, np.bool_).view(np.uint8)
        # By hand: numpy's reductions and its indexing by arrays end the process where memory ends within them.
        order = np.empty(max(tokens, 1), np.int32)
        for i in range(<int32_t>tokens):
            if not 0 <= offsets[i] <= offsets[i + 1] <= data.shape[0]:
                raise ValueError("offsets must ascend inside data")
            if chosen is not None and not chosen[i]:
                continue
            length = offsets[i + 1] - offsets[i]
            if not length:
                raise ValueError("a token is empty")
            total += length
            if total > 1 << 30:
                raise ValueError("the tokens have more than 2^30 bytes")
            longest = max(longest, <int32_t>length)
            order[held] = i
            held += 1
        self.tokens = order[held - 1] + 1 if held else 0
        spare = np.empty(max(held, 1), np.int32)
        stack = np.empty((held + 1) * sizeof(Range), np.uint8)
        spelling.data = &data[0] if data.shape[0] else NULL
        spelling.offsets = &offsets[0]
        spelling.backwards = backwards
        builder.units = NULL
        builder.slots = builder.frontier = builder.first_free = 0
        with nogil:
            try:
                grow(&builder, 4 * MARGIN)
                for slot in range(ROOT_BASE + 256):
                    take(&builder, slot, NOBODY)
                builder.units[0].base = ROOT_BASE
                self.nodes = build(
                    &builder, &spelling, &order[0] if held else NULL, &spare[0], <Range*>&stack[0], held
                )
            finally:
                self.units = builder.units
        builder.slots = builder.frontier + MARGIN
        trimmed = <TrieUnit*>PyMem_RawRealloc(self.units, builder.slots * sizeof(TrieUnit))
        if trimmed != NULL:
            self.units = trimmed
        self.view.units = self.units
        self.view.slots = <int32_t>builder.slots
        self.view.max_length = longest

    def __dealloc__(self):
        PyMem_RawFree(self.units)

    @property
    def slots(self):
        """Units of 12 bytes that the trie occupies."""
        return self.view.slots

    @property
    def max_length(self):
        """Bytes of the longest token held; 0 for none."""
        return self.view.max_length

    def prefixes(self, const uint8_t[::1] text):
        """The tokens that ``text`` starts with, as (length in bytes, id), shortest first."""
        cdef int32_t node = 0, token
        cdef Py_ssize_t i
        found = []
        for i in range(text.shape[0]):
            node = step(&self.view, node, text[i])
            if node < 0:
                break
            token = token_at(&self.view, node)
            if token >= 0:
                found.append((i + 1, token))
        return found

    def find(self, const uint8_t[::1] token):
        """Id of ``token``, or -1 where the trie does not hold it."""
        cdef int32_t node = 0
        cdef Py_ssize_t i
        for i in range(token.shape[0]):
            node = step(&self.view, node, token[i])
            if node < 0:
                return -1
        return token_at(&self.view, node)
