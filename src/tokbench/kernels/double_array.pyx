# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Construction of a trie's double array: tokens are radix-sorted, and each node is made when its range is processed.

The largest nodes are made sequentially. The subtrees below them are built in separate arrays by several threads, and
then moved together in order. So the array does not depend on the number of threads.

Reference: ``prefixes`` in :mod:`tokbench.reference.segmentation`.
"""

from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from tokbench.kernels.limits cimport within

import numpy as np


cdef enum:
    HOLES_TRIED = 32        # free slots tried for a family of children before the end of the array is used
    SMALL = 24              # ranges up to this many tokens are sorted by insertion
    LEAST = 1024            # minimum number of tokens of a separate subtree
    SUBTREES = 64           # a separate subtree has at most this fraction of the tokens
    MARGIN = 256            # slots after the last used one, so that base + byte stays in the array
    ROOT_BASE = 1           # slots 1 to 256 are reserved for the root's children; the base of a leaf is 0
    NOBODY = -1             # check of a reserved slot without a child


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
    int64_t frontier        # one after the last used slot
    int64_t first_free      # free slots form a list in ascending order: base = previous, check = ~next
    bint whole              # slot 0 is the root of the trie, whose children have reserved slots


cdef struct Subtree:
    # Subtrees of pending[first:last]. Their roots are the first slots, and their nodes start at slot ``kept``.
    Builder builder
    int64_t first
    int64_t last
    int64_t kept
    int64_t nodes
    int64_t place           # position of slot ``kept`` in the final array


cdef inline uint8_t byte_at(const Spelling* spelling, int32_t token, int32_t depth) noexcept nogil:
    """Return the byte that leads from depth ``depth`` to the next on the path to ``token``."""
    if spelling.backwards:
        return spelling.data[spelling.offsets[token + 1] - 1 - depth]
    return spelling.data[spelling.offsets[token] + depth]


cdef int grow(Builder* builder, int64_t slots) except -1 nogil:
    """Resize to ``slots`` slots; new slots are appended to the free list."""
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
    """Assign a free slot to a child of ``parent``."""
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
    """Find a base at which all ``children`` of ``parent`` have free slots, and assign them."""
    cdef int64_t slot, base
    cdef int32_t tried, child
    if parent == 0 and builder.whole:
        for child in range(count):
            builder.units[ROOT_BASE + children[child]].check = 0
        return ROOT_BASE
    if builder.frontier + 2 * MARGIN + 2 > builder.slots:
        grow(builder, builder.slots + builder.slots // 2 + 4 * MARGIN)
    slot = builder.first_free       # above 256, so that base is at least 1
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
    """Sort a range of tokens, all longer than ``depth``, by their byte at ``depth``; stable."""
    cdef int32_t count[257]
    cdef int32_t low = tokens.low, high = tokens.high, depth = tokens.depth, i, j, token
    cdef uint8_t byte, before = 0
    cdef bint ordered = True
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
        byte = byte_at(spelling, order[i], depth)
        count[byte + 1] += 1
        ordered = ordered and byte >= before
        before = byte
    if ordered:
        return
    for i in range(256):
        count[i + 1] += count[i]
    for i in range(low, high):
        byte = byte_at(spelling, order[i], depth)
        spare[low + count[byte]] = order[i]
        count[byte] += 1
    for i in range(low, high):
        order[i] = spare[i]


cdef int start(Builder* builder, int64_t kept, bint whole) except -1 nogil:
    """Create the first slots of a builder, ``kept`` of which are reserved."""
    cdef int64_t slot
    builder.whole = whole
    grow(builder, kept + 4 * MARGIN)
    for slot in range(kept):
        take(builder, slot, NOBODY)
    return 0


cdef int64_t build(
    Builder* builder, const Spelling* spelling, int32_t* order, int32_t* spare, Range* stack, int64_t top,
    int32_t most, Range* pending, int64_t* left,
) except -1 nogil:
    """Radix-sort the tokens of the ranges on the stack, and create each node when its range is processed.

    Ranges of at most ``most`` tokens are stored before ``pending`` instead, and their number in ``left``.

    Returns:
        The number of nodes created.
    """
    cdef Range here, below
    cdef uint8_t children[256]
    cdef int32_t edges[257]
    cdef uint8_t byte
    cdef int32_t i, kept, token, count
    cdef int64_t base, nodes = 0
    while top:
        top -= 1
        here = stack[top]
        if here.high - here.low <= most:
            left[0] += 1
            pending[-left[0]] = here
            continue
        kept = here.low         # tokens that end here move to the start of the range
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


cdef class Subtrees:
    """Subtrees that are built separately. Call with the index of each, first to build it, then to move it."""

    cdef Spelling spelling
    cdef int32_t[::1] order
    cdef int32_t[::1] spare
    cdef Range* stack           # the part of a subtree is at the position of its tokens in the order
    cdef const Range* pending
    cdef Subtree* subtrees
    cdef int64_t number
    cdef TrieUnit* units        # units of the final array; NULL while subtrees are built
    cdef list memory            # owner of the arrays

    def __call__(self, int64_t number):
        cdef Subtree* subtree = &self.subtrees[number]
        with nogil:
            if self.units == NULL:
                self.grow(subtree)
            else:
                self.move(subtree)

    cdef int grow(self, Subtree* subtree) except -1 nogil:
        cdef int64_t i, roots = subtree.last - subtree.first
        cdef Range* stack
        subtree.kept = roots + MARGIN
        start(&subtree.builder, subtree.kept, False)
        for i in range(roots):
            stack = self.stack + self.pending[subtree.first + i].low
            stack[0] = self.pending[subtree.first + i]
            stack[0].node = <int32_t>i
            subtree.nodes += build(
                &subtree.builder, &self.spelling, &self.order[0], &self.spare[0], stack, 1, 0, NULL, NULL
            )
        return 0

    cdef void move(self, Subtree* subtree) noexcept nogil:
        cdef int64_t i, roots = subtree.last - subtree.first
        cdef int32_t shift = <int32_t>(subtree.place - subtree.kept)
        cdef TrieUnit unit
        for i in range(roots):
            unit = subtree.builder.units[i]
            if unit.base:
                self.units[self.pending[subtree.first + i].node].base = unit.base + shift
            self.units[self.pending[subtree.first + i].node].token = unit.token
        for i in range(subtree.kept, subtree.builder.frontier):
            unit = subtree.builder.units[i]
            if unit.check >= 0:
                unit.check = self.pending[subtree.first + unit.check].node if unit.check < roots else unit.check + shift
                if unit.base:
                    unit.base += shift
            self.units[subtree.place + i - subtree.kept] = unit
        PyMem_RawFree(subtree.builder.units)
        subtree.builder.units = NULL

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.number):
            PyMem_RawFree(self.subtrees[i].builder.units)


cdef int go_through(Subtrees subtrees, share) except -1:
    """Call ``subtrees`` with every index."""
    cdef int64_t number
    if share is not None:
        share(subtrees, range(subtrees.number))
        return 0
    for number in range(subtrees.number):
        subtrees(number)
    return 0


cdef int grow_whole(
    DoubleArray* array, const uint8_t* data, const int64_t* offsets, bint backwards, int32_t[::1] order, int32_t held,
    share,
) except -1:
    """Build the double array of some tokens.

    Args:
        array: Empty; its units, slots and nodes are set. The caller frees the units, also after an error.
        data, offsets: Concatenated tokens, and the start of each.
        backwards: Whether tokens are read from their last byte to their first.
        order: int32 [held or more], ids of the tokens, ascending; reordered.
        held: Number of tokens.
        share: Function that runs some work on each item of a list in parallel; None to run sequentially.
    """
    cdef uint8_t[::1] stack = np.empty((held + 1) * sizeof(Range), np.uint8), pending, subtrees
    cdef Subtrees apart = Subtrees()
    cdef Builder builder
    cdef Range* ranges = <Range*>&stack[0]
    cdef TrieUnit* trimmed
    cdef int64_t length, left = 0, i, size, most = max(held // SUBTREES, LEAST)
    apart.order = order
    apart.spare = np.empty(max(held, 1), np.int32)
    apart.memory = [stack]
    apart.stack = ranges
    apart.spelling.data, apart.spelling.offsets, apart.spelling.backwards = data, offsets, backwards
    ranges[0].node = ranges[0].low = ranges[0].depth = 0
    ranges[0].high = held
    builder.units = NULL
    builder.slots = builder.frontier = builder.first_free = 0
    with nogil:
        try:
            start(&builder, ROOT_BASE + 256, True)
            builder.units[0].base = ROOT_BASE
            # Active and pending ranges are disjoint, so there are never more of them than tokens.
            array.nodes = 1 + build(
                &builder, &apart.spelling, &apart.order[0], &apart.spare[0], ranges, held > 0,
                <int32_t>most if held > most else 0, ranges + held + 1, &left,
            )
        finally:
            array.units = builder.units
    pending = np.empty(max(left, 1) * sizeof(Range), np.uint8)
    subtrees = np.zeros(max(left, 1) * sizeof(Subtree), np.uint8)
    apart.memory += [pending, subtrees]
    for i in range(left):
        (<Range*>&pending[0])[i] = ranges[held - i]
    apart.pending = <const Range*>&pending[0]
    apart.subtrees = <Subtree*>&subtrees[0]
    size = most
    for i in range(left):
        length = apart.pending[i].high - apart.pending[i].low
        if size + length > most:
            apart.subtrees[apart.number].first = i
            apart.number += 1
            size = 0
        apart.subtrees[apart.number - 1].last = i + 1
        size += length
    array.slots = builder.frontier
    if apart.number:
        go_through(apart, share)
        for i in range(apart.number):
            apart.subtrees[i].place = array.slots
            array.slots += apart.subtrees[i].builder.frontier - apart.subtrees[i].kept
            array.nodes += apart.subtrees[i].nodes
    array.slots += MARGIN
    within(array.slots, "units of a trie")
    trimmed = <TrieUnit*>PyMem_RawRealloc(array.units, array.slots * sizeof(TrieUnit))
    if trimmed != NULL:
        array.units = trimmed
    elif apart.number:
        raise MemoryError(f"no memory for a trie: it takes {array.slots * sizeof(TrieUnit)} bytes")
    if apart.number:
        for i in range(array.slots - MARGIN, array.slots):
            array.units[i].base, array.units[i].check, array.units[i].token = 0, NOBODY, -1
        apart.units = array.units
        go_through(apart, share)
    return 0
