from libc.stdint cimport int32_t, int64_t, uint8_t

from tokbench.kernels.trie cimport Trie, TrieView, step


cdef enum:
    LONG = 256      # token length in bytes above which suffix links are faster than walking the trie from every place


cdef class SuffixLinks:
    cdef Trie trie
    cdef int32_t[::1] order
    cdef int32_t[::1] suffix
    cdef int32_t[::1] last
    cdef int32_t[::1] depth


cdef inline int32_t follow(const TrieView* trie, const int32_t* suffix, int32_t node, uint8_t byte) noexcept nogil:
    """Return the node of the longest string in the trie that ends with ``byte``, after that of ``node``; 0 for none."""
    cdef int32_t child = step(trie, node, byte)
    while child < 0 and node:
        node = suffix[node]
        child = step(trie, node, byte)
    return child if child >= 0 else 0


cdef SuffixLinks forward_links(Trie suffixes)
