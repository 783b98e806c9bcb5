# Queue of the merging trainers: a 4-ary heap in a caller-owned vector, the first entry on top. The type of the entries
# defines their order by ``precedes``. ``stand`` may record the position of an entry.

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

    struct Untold {};       // for entries whose positions are not recorded

    static inline void stand(Untold &, const Key &, size_t) {}

    /* Insert an entry above or below a hole. */
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

    /* Remove an entry; its own recorded position is not updated. */
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
