# Tasks of a few microseconds that one thread lays out, again and again, and that others lend a hand with. Nobody waits
# for a thread that has not taken a task: where the others are busy elsewhere, the one does all by itself.

from libc.stdint cimport int32_t

cdef extern from *:
    """
    #include <atomic>
    #include <condition_variable>
    #include <cstdint>
    #include <mutex>
    #include <thread>

    class Team {
        static const int PATIENCE = 4000;           // looks before a thread lies down
        std::atomic<uint64_t> open{0};              // number of the layout; tasks in it that nobody has taken
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
        /* Lay out tasks; those before must be finished. */
        void lay_out(int32_t tasks) {
            unfinished.store(tasks);
            open.store(((open.load() >> 32) + 1) << 32 | (uint32_t)tasks);
            wake();
        }

        /* A task that is the caller's to do and then to ``finish``; -1 where none is left. */
        int32_t take() {
            uint64_t seen = open.load();
            while ((uint32_t)seen)
                if (open.compare_exchange_weak(seen, seen - 1)) return (int32_t)(uint32_t)seen - 1;
            return -1;
        }

        void finish() { unfinished.fetch_sub(1); }

        /* Until every task is finished; all of them must have been taken. */
        void wait() {
            for (int looks = 0; unfinished.load(); looks++)
                if (looks < PATIENCE) breathe(); else std::this_thread::yield();
        }

        /* Until there is a task, which somebody else may take first; false where no more will come. */
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

        /* Tasks will come again, after all who stood by have left. */
        void convene() { over.store(false); }

        /* No more tasks will come. */
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
