# Memory for ids that grows, and becomes a NumPy array without a copy where the array is large.

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from cython.view cimport array as carray
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from tokbench.kernels.huge cimport want_huge_pages

import numpy as np


cdef enum:
    SMALL = 1 << 14             # results of up to this many ids are copied, and their memory is used again


cdef struct Ids:
    int32_t* ids
    int64_t written
    int64_t room


cdef inline int make_room(Ids* ids, int64_t more, int64_t scratch) except -1 nogil:
    """Reserve room for ``more`` ids, and for some more as scratch space."""
    cdef int64_t room = ids.written + more + scratch
    cdef void* memory
    if room > ids.room:
        room += room // 4
        memory = PyMem_RawRealloc(ids.ids, room * sizeof(int32_t))
        if memory == NULL:
            raise MemoryError(f"no memory for ids: they take {room * sizeof(int32_t)} bytes")
        ids.ids = <int32_t*>memory
        ids.room = room
        want_huge_pages(memory, room * sizeof(int32_t))
    return 0


cdef inline void give_back(void* memory) noexcept:
    PyMem_RawFree(memory)


cdef inline array_of(Ids* ids):
    """Return the ids as int32 [tokens]. A large array owns their memory; a small one is a copy."""
    cdef carray owner
    cdef void* trimmed
    cdef Py_buffer target
    if ids.written <= SMALL:
        array = np.empty(ids.written, np.int32)
        PyObject_GetBuffer(array, &target, PyBUF_SIMPLE | PyBUF_WRITABLE)
        memcpy(target.buf, ids.ids, ids.written * sizeof(int32_t))
        PyBuffer_Release(&target)
        return array
    owner = carray((ids.written,), sizeof(int32_t), "i", allocate_buffer=False)
    trimmed = PyMem_RawRealloc(ids.ids, ids.written * sizeof(int32_t))
    owner.data = <char*>(trimmed if trimmed != NULL else ids.ids)
    owner.callback_free_data = give_back
    ids.ids = NULL
    ids.room = 0
    return np.asarray(owner)
