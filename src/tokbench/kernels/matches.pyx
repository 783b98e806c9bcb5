# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Occurrences of tokens at every place of a text, including overlapping ones.

Reference: ``matches`` in :mod:`tokbench.reference.segmentation`.

The trie of the tokens is walked from every place of a text. With long tokens, for example in a run of one letter, this
is quadratic in the length of the run. Suffix links (Aho and Corasick 1975, CACM 18:333-340) need one step per byte.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np

from tokbench.kernels.trie cimport Trie, TrieView, step, token_at


cdef class SuffixLinks:
    """Suffix links of a trie: from the node of a string to that of its longest proper suffix in the trie.

    Fields for other kernels. All arrays except ``order`` have an entry for each slot of the trie; 0 is the root:
        trie: Trie.
        order: Nodes, each after those of its suffixes.
        suffix: Node of the longest proper suffix.
        last: Node of the longest suffix that is a token, including the string itself; 0 for none.
        depth: Length of the string in bytes.
    """

    def __cinit__(self, Trie trie not None):
        cdef const TrieView* view = &trie.view
        cdef int32_t[::1] order = np.zeros(trie.nodes, np.int32)
        cdef int32_t[::1] suffix = np.zeros(view.slots, np.int32)
        cdef int32_t[::1] last = np.zeros(view.slots, np.int32)
        cdef int32_t[::1] depth = np.zeros(view.slots, np.int32)
        cdef int32_t[::1] first = np.zeros(view.slots, np.int32)        # a child of each node
        cdef int32_t[::1] sibling = np.zeros(view.slots, np.int32)      # another child of the same parent
        cdef int32_t node, child, parent
        cdef int64_t done = 0, found = 1
        with nogil:
            for child in range(1, view.slots):
                parent = view.units[child].check
                if parent >= 0:
                    sibling[child] = first[parent]
                    first[parent] = child
            while done < found:
                node = order[done]
                done += 1
                child = first[node]
                while child:
                    depth[child] = depth[node] + 1
                    if node:
                        suffix[child] = follow(view, &suffix[0], suffix[node], <uint8_t>(child - view.units[node].base))
                    last[child] = child if token_at(view, child) >= 0 else last[suffix[child]]
                    order[found] = child
                    found += 1
                    child = sibling[child]
        self.trie = trie
        self.order = order
        self.suffix = suffix
        self.last = last
        self.depth = depth


cdef SuffixLinks forward_links(Trie suffixes):
    """Return the links of the same tokens spelt forwards, which find the tokens that end at a place; None if none is
    long.

    Args:
        suffixes: Trie of the reversed tokens.
    """
    cdef const TrieView* view = &suffixes.view
    if view.max_length <= LONG:
        return None
    cdef int32_t[::1] slots = np.zeros(suffixes.tokens, np.int32)       # of the last node of each token
    cdef int64_t[::1] offsets = np.zeros(suffixes.tokens + 1, np.int64)
    cdef int32_t slot, token
    cdef int64_t place
    for slot in range(1, view.slots):
        token = token_at(view, slot)
        if view.units[slot].check >= 0 and token >= 0:
            slots[token] = slot
    for token in range(suffixes.tokens):
        slot = slots[token]
        offsets[token + 1] = offsets[token]
        while slot:
            offsets[token + 1] += 1
            slot = view.units[slot].check
    cdef uint8_t[::1] data = np.zeros(max(offsets[suffixes.tokens], 1), np.uint8)
    for token in range(suffixes.tokens):
        slot = slots[token]
        place = offsets[token]
        while slot:
            data[place] = <uint8_t>(slot - view.units[view.units[slot].check].base)
            place += 1
            slot = view.units[slot].check
    return SuffixLinks(Trie(data, offsets, np.asarray(slots) > 0))


def count_matches(
    Trie trie not None,
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    const int64_t[::1] counts,
    int64_t first,
    int64_t last,
    int64_t tokens,
) -> NDArray[np.int64]:
    """Count the occurrences of each token in pre-tokens, at any place, weighted by the pre-tokens' counts.

    Args:
        trie: Trie of the tokens.
        data: uint8 [bytes], concatenated pre-tokens.
        offsets: int64 [n + 1], start of each pre-token.
        counts: int64 [n], count of each pre-token.
        first, last: Range of pre-tokens, ``first <= i < last``.
        tokens: Largest id in the trie + 1.

    Returns:
        int64 [tokens].

    Raises:
        ValueError: the range is invalid, or the trie contains an id of ``tokens`` or more.
    """
    if not 0 <= first <= last <= counts.shape[0] < offsets.shape[0] or trie.tokens > tokens:
        raise ValueError(f"no pre-tokens {first}:{last} among {counts.shape[0]}, or not only ids below {tokens}")
    totals = np.zeros(tokens, np.int64)
    cdef int64_t[::1] total = totals
    cdef const TrieView* view = &trie.view
    cdef int64_t item, start, place
    cdef int32_t node
    if view.max_length > LONG:
        _count_by_links(trie, data, offsets, counts, first, last, total)
        return totals
    with nogil:
        for item in range(first, last):
            for start in range(offsets[item], offsets[item + 1]):
                node = 0
                for place in range(start, offsets[item + 1]):
                    node = step(view, node, data[place])
                    if node < 0:
                        break
                    if token_at(view, node) >= 0:
                        total[token_at(view, node)] += counts[item]
    return totals


cdef int _count_by_links(
    Trie trie,
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    const int64_t[::1] counts,
    int64_t first,
    int64_t last,
    int64_t[::1] total,
) except -1:
    """Add the occurrences of each token to ``total``. Every occurrence of a string is also one of each suffix."""
    cdef SuffixLinks links = SuffixLinks(trie)
    cdef const TrieView* view = &trie.view
    cdef const int32_t* suffix = &links.suffix[0]
    cdef int64_t[::1] times = np.zeros(view.slots, np.int64)
    cdef int64_t item, place, i
    cdef int32_t node
    with nogil:
        for item in range(first, last):
            node = 0
            for place in range(offsets[item], offsets[item + 1]):
                node = follow(view, suffix, node, data[place])
                times[node] += counts[item]
        for i in range(links.order.shape[0] - 1, 0, -1):
            node = links.order[i]
            times[suffix[node]] += times[node]
            if token_at(view, node) >= 0:
                total[token_at(view, node)] += times[node]
    return 0
