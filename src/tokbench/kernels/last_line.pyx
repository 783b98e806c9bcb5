# cython: language_level=3
# distutils: language = c++
"""The last line of a process that cannot run Python any more.

Libraries in other languages do not raise where they run out of memory: Rust aborts, C++ terminates, others follow the
null pointer that they were given. The line is made ready beforehand and written by the handler, which calls nothing
that allocates. A crash where memory can still be had is another matter, and stays what it is: a signal.
"""

cdef extern from *:
    """
    #include <csignal>
    #include <cstdlib>
    #include <cstring>
    #include <exception>
    #include <new>
    #include <system_error>
    #include <pthread.h>
    #include <sys/mman.h>
    #include <sys/wait.h>
    #include <unistd.h>

    namespace {

    enum { LINE = 4096, PLACES = 8, PLACE = 4096, STACK = 1 << 16 };
    const int SIGNALS[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL};

    char sure[LINE], likely[LINE], places[PLACES][PLACE], stack[STACK];
    int status_of_end;
    pid_t owner;
    std::terminate_handler former;

    void tell(const char* line) {
        size_t left = std::strlen(line);
        while (left > 0) {
            ssize_t written = write(2, line, left);
            if (written <= 0) break;
            line += written;
            left -= (size_t)written;
        }
    }

    /* vfork and exec take no memory; a partial output may be a folder. */
    void remove_places() {
        for (int i = 0; i < PLACES; i++) {
            if (!places[i][0]) continue;
            pid_t child = vfork();
            if (child == 0) {
                execl("/bin/rm", "rm", "-rf", "--", places[i], (char*)0);
                _exit(127);
            }
            if (child > 0) waitpid(child, 0, 0);
        }
    }

    [[noreturn]] void end(const char* line) {
        remove_places();
        tell(line);
        _exit(status_of_end);
    }

    bool memory_is_short() {
        void* probe = mmap(0, (size_t)1 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (probe == MAP_FAILED) return true;
        munmap(probe, (size_t)1 << 30);
        return false;
    }

    /* Several threads may give up at a time: the first ends the process, the others wait for that. */
    void claim_end(int number) {
        static volatile int claimed = 0;
        static pthread_t first;
        if (__sync_bool_compare_and_swap(&claimed, 0, 1)) {
            first = pthread_self();
            return;
        }
        if (!pthread_equal(first, pthread_self()))
            for (;;) pause();
        std::signal(number, SIG_DFL);  /* The end itself failed. */
        raise(number);
    }

    void on_signal(int number) {
        if (getpid() == owner && (number == SIGABRT || memory_is_short())) {
            claim_end(number);
            end(likely);
        }
        std::signal(number, SIG_DFL);
        raise(number);
    }

    void on_terminate() {
        if (getpid() == owner && std::current_exception()) {
            try {
                throw;
            } catch (const std::bad_alloc&) {
                claim_end(SIGABRT);
                end(sure);
            } catch (const std::system_error& error) {  /* a thread that could not be started */
                if (error.code() == std::errc::resource_unavailable_try_again) {
                    claim_end(SIGABRT);
                    end(likely);
                }
            } catch (...) {
            }
        }
        if (former) former();
        std::abort();
    }

    void watch(int status) {
        status_of_end = status;
        if (owner == getpid()) return;
        owner = getpid();
        stack_t other;
        std::memset(&other, 0, sizeof other);
        other.ss_sp = stack;
        other.ss_size = STACK;
        sigaltstack(&other, 0);
        struct sigaction action;
        std::memset(&action, 0, sizeof action);
        action.sa_handler = on_signal;
        action.sa_flags = SA_ONSTACK | SA_NODEFER;
        for (int number : SIGNALS) sigaction(number, &action, 0);
        std::terminate_handler known = std::set_terminate(on_terminate);
        if (known != on_terminate) former = known;
    }

    void copy(char* to, const char* from, size_t size) {
        std::strncpy(to, from, size - 1);
        to[size - 1] = 0;
    }

    void prepare_lines(const char* of_memory, const char* of_crash) {
        copy(sure, of_memory, LINE);
        copy(likely, of_crash, LINE);
    }

    bool place_taken(const char* path) {
        if (std::strlen(path) >= PLACE) return false;
        for (int i = 0; i < PLACES; i++)
            if (!places[i][0]) {
                copy(places[i], path, PLACE);
                return true;
            }
        return false;
    }

    void place_freed(const char* path) {
        for (int i = 0; i < PLACES; i++)
            if (!std::strcmp(places[i], path)) {
                places[i][0] = 0;
                return;
            }
    }

    }
    """
    void watch_ "watch"(int status) noexcept nogil
    void prepare_lines(const char* of_memory, const char* of_crash) noexcept nogil
    bint place_taken(const char* path) noexcept nogil
    void place_freed(const char* path) noexcept nogil
    bint memory_is_short() noexcept nogil
    void tell(const char* line) noexcept nogil
    const char* sure


def watch(int status) -> None:
    """From now on, end this process with the line and ``status`` where a library gives up; its children not."""
    watch_(status)


def prepare(bytes of_memory, bytes of_crash) -> None:
    """Make the line ready: of a failed allocation, and of a crash that is most often one."""
    prepare_lines(of_memory, of_crash)


def tell_sure() -> None:
    """Write the line of a failed allocation to standard error."""
    tell(sure)


def is_short() -> bool:
    """Whether a large allocation would fail at this moment."""
    return memory_is_short()


def remove_at_end(bytes path) -> None:
    """Have a file or folder removed where a library gives up."""
    place_taken(path)


def keep(bytes path) -> None:
    """The opposite of :func:`remove_at_end`."""
    place_freed(path)
