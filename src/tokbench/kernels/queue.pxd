# The queue of merging trainers: a heap of four branches in a vector of the caller's, the foremost entry first. What an
# entry is says which of two is the foremost, by ``precedes``, and may be told where it stands, by ``stand``.

from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.vector cimport vector


cdef extern from *:
    """
    #include <algorithm>
    #include <cstdint>
    #include <vector>

    struct Key {
        int64_t count;
        uint64_t order;     // ranks of the left and of the right symbol
        int32_t pair;
    };

    static inline bool precedes(const Key &a, const Key &b) {
        return a.count == b.count ? a.order < b.order : a.count > b.count;
    }

    struct Untold {};       // what knows of no places

    static inline void stand(Untold &, const Key &, size_t) {}

    /* Put an entry where it belongs above or below a hole. */
    template <class Entry, class Places>
    static inline void settle(std::vector<Entry> &heap, size_t hole, const Entry entry, Places &places) {
        for (size_t above; hole > 0 && precedes(entry, heap[above = (hole - 1) / 4]); hole = above) {
            heap[hole] = heap[above];
            stand(places, heap[hole], hole);
        }
        for (size_t first, best; (best = first = 4 * hole + 1) < heap.size(); hole = best) {
            const size_t end = std::min(first + 4, heap.size());
            for (size_t child = first + 1; child < end; child++)
                if (precedes(heap[child], heap[best])) best = child;
            if (!precedes(heap[best], entry)) break;
            heap[hole] = heap[best];
            stand(places, heap[hole], hole);
        }
        heap[hole] = entry;
        stand(places, entry, hole);
    }

    template <class Entry, class Places>
    static inline void push(std::vector<Entry> &heap, const Entry entry, Places &places) {
        heap.push_back(entry);
        settle(heap, heap.size() - 1, entry, places);
    }

    /* Take an entry out, which is told nothing. */
    template <class Entry, class Places>
    static inline void take_out(std::vector<Entry> &heap, size_t at, Places &places) {
        const Entry last = heap.back();
        heap.pop_back();
        if (at < heap.size()) settle(heap, at, last, places);
    }
    """
    struct Key:
        int64_t count
        uint64_t order
        int32_t pair

    cppclass Untold:
        pass

    void settle[Entry, Places](vector[Entry] &heap, size_t hole, const Entry &entry, Places &places) noexcept nogil
    void push[Entry, Places](vector[Entry] &heap, const Entry &entry, Places &places) except + nogil
    void take_out[Entry, Places](vector[Entry] &heap, size_t at, Places &places) noexcept nogil
