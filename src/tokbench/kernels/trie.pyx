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
    LEAST = 1024            # tokens for which it is worth while to grow a subtree apart
    SUBTREES = 64           # subtrees that are grown apart hold at most this share of the tokens
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
    bint whole              # slot 0 is the trie's root, whose children have their slots kept


cdef struct Subtree:
    # The subtrees of pending[first:last]: their roots are slots 0 on, and nodes are from slot ``kept`` on.
    Builder builder
    int64_t first
    int64_t last
    int64_t kept
    int64_t nodes
    int64_t place           # where the slot ``kept`` goes in the whole


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
    if parent == 0 and builder.whole:
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
    """Make a builder's first slots, ``kept`` of which no child is given."""
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
    """Radix-sort the tokens of the ranges on the stack, making each node as its range comes up.

    Ranges of at most ``most`` tokens are put before ``pending`` instead, their number to ``left``.

    Returns:
        The number of nodes made.
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


cdef class Subtrees:
    """Subtrees that are grown apart; to be called with the number of each, first to grow it, then to move it."""

    cdef Spelling spelling
    cdef int32_t[::1] order
    cdef int32_t[::1] spare
    cdef Range* stack           # a subtree's own is where its tokens are in the order
    cdef const Range* pending
    cdef Subtree* subtrees
    cdef int64_t number
    cdef TrieUnit* units        # of the whole, where the subtrees go; NULL while they grow
    cdef list memory            # where all that lies

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
    """Call subtrees with the number of each."""
    cdef int64_t number
    if share is not None:
        share(subtrees, range(subtrees.number))
        return 0
    for number in range(subtrees.number):
        subtrees(number)
    return 0


cdef class Trie:
    """An immutable trie of tokens.

    Args:
        data: uint8 [bytes], the tokens laid end to end.
        offsets: int64 [tokens + 1], where each starts; as :meth:`tokbench.vocabulary.Vocabulary.flat` gives them.
        included: bool [tokens], the tokens to hold, or None for all. Where the same bytes stand twice among them,
            the lower id is kept.
        backwards: spell the tokens from their last byte to their first, to walk a text from an end leftwards.
        share: called with some work and items, does the work on each item, with as many threads as it has; None for
            one after the other. The trie is the same.

    Attributes:
        nodes: nodes in use, the root included.
        tokens: one more than the largest id held, 0 for none.

    Raises:
        ValueError: a token held is empty, the tokens have more than 2^30 bytes, offsets do not ascend inside
            ``data``, or ``included`` has another length.
        OverflowError: there are 2^31 tokens, or the trie would have as many units.
        MemoryError: the 12 bytes a node cannot be had.
    """

    def __cinit__(
        self, const uint8_t[::1] data, const int64_t[::1] offsets, included=None, bint backwards=False, share=None
    ):
        cdef Py_ssize_t tokens = offsets.shape[0] - 1
        cdef int32_t[::1] order
        cdef uint8_t[::1] stack, pending, subtrees
        cdef Subtrees apart
        cdef Builder builder
        cdef Range* ranges
        cdef TrieUnit* trimmed
        cdef const uint8_t[::1] chosen = None
        cdef int64_t length, total = 0, left = 0, i, size, most
        cdef int32_t held = 0, longest = 0, token

        if tokens < 0:
            raise ValueError("offsets must have one entry more than there are tokens")
        within(tokens, "tokens")
        if included is not None:
            if len(included) != tokens:
                raise ValueError(f"included has {len(included)} entries for {tokens} tokens")
            chosen = np.ascontiguousarray(included, np.bool_).view(np.uint8)
        # By hand: numpy's reductions and its indexing by arrays end the process where memory ends within them.
        order = np.empty(max(tokens, 1), np.int32)
        for token in range(<int32_t>tokens):
            if not 0 <= offsets[token] <= offsets[token + 1] <= data.shape[0]:
                raise ValueError("offsets must ascend inside data")
            if chosen is not None and not chosen[token]:
                continue
            length = offsets[token + 1] - offsets[token]
            if not length:
                raise ValueError("a token is empty")
            total += length
            if total > 1 << 30:
                raise ValueError("the tokens have more than 2^30 bytes")
            longest = max(longest, <int32_t>length)
            order[held] = token
            held += 1
        self.tokens = order[held - 1] + 1 if held else 0
        apart = Subtrees()
        apart.order = order
        apart.spare = np.empty(max(held, 1), np.int32)
        stack = np.empty((held + 1) * sizeof(Range), np.uint8)
        apart.memory = [stack]
        apart.stack = ranges = <Range*>&stack[0]
        apart.spelling.data = &data[0] if data.shape[0] else NULL
        apart.spelling.offsets = &offsets[0]
        apart.spelling.backwards = backwards
        most = max(held // SUBTREES, LEAST)
        ranges[0].node = ranges[0].low = ranges[0].depth = 0
        ranges[0].high = held
        builder.units = NULL
        builder.slots = builder.frontier = builder.first_free = 0
        with nogil:
            try:
                start(&builder, ROOT_BASE + 256, True)
                builder.units[0].base = ROOT_BASE
                # What is under way and what is left for later are ranges apart, and never more than tokens.
                self.nodes = 1 + build(
                    &builder, &apart.spelling, &apart.order[0], &apart.spare[0], ranges, held > 0,
                    <int32_t>most if held > most else 0, ranges + held + 1, &left,
                )
            finally:
                self.units = builder.units
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
        builder.slots = builder.frontier
        if apart.number:
            go_through(apart, share)
            for i in range(apart.number):
                apart.subtrees[i].place = builder.slots
                builder.slots += apart.subtrees[i].builder.frontier - apart.subtrees[i].kept
                self.nodes += apart.subtrees[i].nodes
        builder.slots += MARGIN
        within(builder.slots, "units of a trie")
        trimmed = <TrieUnit*>PyMem_RawRealloc(self.units, builder.slots * sizeof(TrieUnit))
        if trimmed != NULL:
            self.units = trimmed
        elif apart.number:
            raise MemoryError(f"no memory for a trie: it takes {builder.slots * sizeof(TrieUnit)} bytes")
        if apart.number:
            for i in range(builder.slots - MARGIN, builder.slots):
                self.units[i].base, self.units[i].check, self.units[i].token = 0, NOBODY, -1
            apart.units = self.units
            go_through(apart, share)
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
