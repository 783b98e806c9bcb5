# Tasks of a few microseconds, published repeatedly by one thread and shared with helpers. The leading thread never
# waits for a helper that has not started a task; if all helpers are busy, it does everything.

from libc.stdint cimport int32_t

cdef extern from *:
    """
    #include <atomic>
    #include <condition_variable>
    #include <cstdint>
    #include <mutex>
    #include <thread>

    class Team {
        static const int PATIENCE = 4000;           // spins before a thread sleeps
        std::atomic<uint64_t> open{0};              // high half: number of the batch; low half: tasks not started
        std::atomic<int32_t> unfinished{0};
        std::atomic<int32_t> asleep{0};
        std::atomic<bool> over{false};
        std::mutex door;
        std::condition_variable call;

        static void breathe() {
    #if defined(__x86_64__)
            __builtin_ia32_pause();
    #endif
        }

        bool idle() const { return !(uint32_t)open.load() && !over.load(); }

        void wake() {
            if (asleep.load() > 0) {
                std::lock_guard<std::mutex> inside(door);
                call.notify_all();
            }
        }

    public:
        /* Publish tasks; all earlier ones must be finished. */
        void lay_out(int32_t tasks) {
            unfinished.store(tasks);
            open.store(((open.load() >> 32) + 1) << 32 | (uint32_t)tasks);
            wake();
        }

        /* Return a task, which the caller must run and then `finish`; -1 if none is left. */
        int32_t take() {
            uint64_t seen = open.load();
            while ((uint32_t)seen)
                if (open.compare_exchange_weak(seen, seen - 1)) return (int32_t)(uint32_t)seen - 1;
            return -1;
        }

        void finish() { unfinished.fetch_sub(1); }

        /* Wait until every task is finished; all of them must have been started. */
        void wait() {
            for (int looks = 0; unfinished.load(); looks++)
                if (looks < PATIENCE) breathe(); else std::this_thread::yield();
        }

        /* Wait until there is a task, which another thread may start first; return false if there will be no more. */
        bool stand_by() {
            for (int looks = 0; idle() && looks < PATIENCE; looks++) breathe();
            if (idle()) {
                std::unique_lock<std::mutex> inside(door);
                asleep.fetch_add(1);
                call.wait(inside, [this] { return !idle(); });
                asleep.fetch_sub(1);
            }
            return !over.load();
        }

        /* Allow tasks again, after all helpers have left. */
        void convene() { over.store(false); }

        /* End: there will be no more tasks. */
        void disband() {
            over.store(true);
            wake();
        }
    };
    """
    cppclass Team:
        void lay_out(int32_t tasks) noexcept nogil
        int32_t take() noexcept nogil
        void finish() noexcept nogil
        void wait() noexcept nogil
        bint stand_by() noexcept nogil
        void convene() noexcept nogil
        void disband() noexcept nogil
