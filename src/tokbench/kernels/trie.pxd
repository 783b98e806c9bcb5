from libc.stdint cimport int32_t, uint8_t

from tokbench.kernels.double_array cimport TrieUnit


cdef struct TrieView:
    const TrieUnit* units
    int32_t slots           # length of ``units``
    int32_t max_length      # length of the longest token in bytes


cdef inline int32_t step(const TrieView* trie, int32_t node, uint8_t byte) noexcept nogil:
    """Return the child of ``node`` for ``byte``; -1 if there is none. The root is 0; nodes are below ``trie.slots``."""
    cdef int32_t child = trie.units[node].base + byte
    return child if trie.units[child].check == node else -1


cdef inline int32_t token_at(const TrieView* trie, int32_t node) noexcept nogil:
    """Return the id of the token spelt from the root to ``node``; -1 if there is none."""
    return trie.units[node].token


cdef class Trie:
    cdef TrieView view
    cdef TrieUnit* units
    cdef readonly Py_ssize_t nodes
    cdef readonly int32_t tokens
