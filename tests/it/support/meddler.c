/*
 * Stands between a program and the C library, and meddles with the calls that change the world: files, processes, the
 * network. Compiled by tests/it/support/meddler.rs and loaded with LD_PRELOAD into the binary as it is given away; the
 * program knows nothing of it, and what the program starts does not inherit it.
 *
 *   MEDDLE_TRACE=file       a line for each counted call: number, name, path
 *   MEDDLE_DIE=k            SIGKILL instead of the k-th counted call; a write is made by half first if MEDDLE_TORN is set
 *   MEDDLE_FAIL=ENOSPC,...  counted file calls below MEDDLE_UNDER fail while the file MEDDLE_WHILE exists
 *   MEDDLE_FROM=k           makes the file MEDDLE_WHILE before the k-th counted call
 *   MEDDLE_CLOCK=file       the wall clock is off by so many seconds as the file says, while it exists
 *
 * Reading, waiting and talking to pipes and terminals is not counted: a death before such a call leaves the same world
 * behind as a death before the next call that changes it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static pid_t owner;
static atomic_long calls;
static long die_at;
static long fail_from;
static int torn;
static int fail_with;
static int trace = -1;
static char under[PATH_MAX];
static char while_exists[PATH_MAX];
static char clock_file[PATH_MAX];

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void take(const char *name, char *into) {
    const char *value = getenv(name);
    if (value) snprintf(into, PATH_MAX, "%s", value);
    unsetenv(name);
}

static int number_of(const char *name) {
    if (!strcmp(name, "ENOSPC")) return ENOSPC;
    if (!strcmp(name, "EDQUOT")) return EDQUOT;
    if (!strcmp(name, "EROFS")) return EROFS;
    if (!strcmp(name, "EACCES")) return EACCES;
    if (!strcmp(name, "EIO")) return EIO;
    return 0;
}

__attribute__((constructor)) static void begin(void) {
    char text[PATH_MAX];
    owner = getpid();
    text[0] = 0, take("MEDDLE_TRACE", text);
    if (text[0]) {
        /* High, so that the program's own descriptors are numbered as without us. */
        int low = (int)syscall(SYS_openat, AT_FDCWD, text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        trace = fcntl(low, F_DUPFD_CLOEXEC, 900);
        syscall(SYS_close, low);
    }
    text[0] = 0, take("MEDDLE_DIE", text), die_at = atol(text);
    text[0] = 0, take("MEDDLE_TORN", text), torn = text[0] != 0;
    text[0] = 0, take("MEDDLE_FAIL", text), fail_with = number_of(text);
    text[0] = 0, take("MEDDLE_FROM", text), fail_from = atol(text);
    take("MEDDLE_UNDER", under);
    take("MEDDLE_WHILE", while_exists);
    take("MEDDLE_CLOCK", clock_file);
    unsetenv("LD_PRELOAD");
}

static const char *path_of(int fd, char *into) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, into, PATH_MAX - 1);
    into[length < 0 ? 0 : length] = 0;
    return into;
}

static int is_kind(int fd, mode_t kind) {
    struct stat found;
    return fstat(fd, &found) == 0 && (found.st_mode & S_IFMT) == kind;
}

/* Counts a call; does not come back if it is the one to die at. Returns whether the call is to be torn. */
static int counted(const char *name, const char *path, int can_tear) {
    if (getpid() != owner) return 0;
    long number = atomic_fetch_add(&calls, 1) + 1;
    int here = number == die_at;
    if (number == fail_from) syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, while_exists, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (trace >= 0 && (die_at == 0 || here)) {
        char line[PATH_MAX + 64];
        int length = snprintf(line, sizeof line, "%ld %s %s\n", number, name, path);
        syscall(SYS_write, trace, line, (size_t)length);
    }
    if (here && can_tear && torn) return 1;
    if (here) {
        syscall(SYS_kill, owner, SIGKILL);
        for (;;) pause();
    }
    return 0;
}

static void die(void) {
    syscall(SYS_kill, owner, SIGKILL);
    for (;;) pause();
}

/* Tells whether a call on this path has to fail, and sets errno. */
static int fails(const char *path) {
    struct stat found;
    if (!fail_with || getpid() != owner) return 0;
    if (strncmp(path, under, strlen(under)) != 0) return 0;
    if (syscall(SYS_newfstatat, AT_FDCWD, while_exists, &found, 0) != 0) return 0;
    errno = fail_with;
    return 1;
}

#define MAKES(flags) (((flags) & (O_CREAT | O_TRUNC)) != 0)
#define WRITES(flags) (((flags) & O_ACCMODE) != O_RDONLY)

#define OPENER(name)                                                          \
    int name(const char *path, int flags, ...) {                              \
        va_list rest;                                                         \
        va_start(rest, flags);                                                \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                         \
        if (MAKES(flags)) counted("open", path, 0);                           \
        if ((MAKES(flags) || WRITES(flags)) && fails(path)) return -1;        \
        return NEXT(name)(path, flags, mode);                                 \
    }
OPENER(open)
OPENER(open64)

#define OPENER_AT(name)                                                       \
    int name(int folder, const char *path, int flags, ...) {                  \
        va_list rest;                                                         \
        va_start(rest, flags);                                                \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                         \
        if (MAKES(flags)) counted("open", path, 0);                           \
        if ((MAKES(flags) || WRITES(flags)) && fails(path)) return -1;        \
        return NEXT(name)(folder, path, flags, mode);                         \
    }
OPENER_AT(openat)
OPENER_AT(openat64)

/* What a write goes to decides whether it counts. */
#define WRITER(result, name, declared, given, half)                           \
    result name declared {                                                    \
        if (is_kind(fd, S_IFREG)) {                                           \
            char path[PATH_MAX];                                              \
            path_of(fd, path);                                                \
            if (counted("write", path, 1)) {                                  \
                half;                                                         \
                die();                                                        \
            }                                                                 \
            if (fails(path)) return -1;                                       \
        } else if (is_kind(fd, S_IFSOCK)) {                                   \
            counted("send", "", 0);                                           \
        }                                                                     \
        return NEXT(name) given;                                              \
    }
WRITER(ssize_t, write, (int fd, const void *bytes, size_t count), (fd, bytes, count),
       syscall(SYS_write, fd, bytes, count / 2))
WRITER(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count),
       syscall(SYS_write, fd, parts[0].iov_base, parts[0].iov_len / 2))
WRITER(ssize_t, pwrite, (int fd, const void *bytes, size_t count, off_t at), (fd, bytes, count, at),
       syscall(SYS_pwrite64, fd, bytes, count / 2, at))
WRITER(ssize_t, pwrite64, (int fd, const void *bytes, size_t count, off64_t at), (fd, bytes, count, at),
       syscall(SYS_pwrite64, fd, bytes, count / 2, at))

#define ON_FILE(name, declared, given)                                        \
    int name declared {                                                       \
        char path[PATH_MAX];                                                  \
        path_of(fd, path);                                                    \
        counted(#name, path, 0);                                              \
        if (fails(path)) return -1;                                           \
        return NEXT(name) given;                                              \
    }
ON_FILE(fsync, (int fd), (fd))
ON_FILE(fdatasync, (int fd), (fd))
ON_FILE(ftruncate, (int fd, off_t length), (fd, length))
ON_FILE(ftruncate64, (int fd, off64_t length), (fd, length))
ON_FILE(flock, (int fd, int how), (fd, how))

#define ON_PATH(name, declared, given)                                        \
    int name declared {                                                       \
        counted(#name, path, 0);                                              \
        if (fails(path)) return -1;                                           \
        return NEXT(name) given;                                              \
    }
ON_PATH(rename, (const char *path, const char *to), (path, to))
ON_PATH(renameat, (int from, const char *path, int into, const char *to), (from, path, into, to))
ON_PATH(renameat2, (int from, const char *path, int into, const char *to, unsigned how), (from, path, into, to, how))
ON_PATH(link, (const char *path, const char *to), (path, to))
ON_PATH(linkat, (int from, const char *path, int into, const char *to, int how), (from, path, into, to, how))
ON_PATH(symlink, (const char *to, const char *path), (to, path))
ON_PATH(unlink, (const char *path), (path))
ON_PATH(unlinkat, (int folder, const char *path, int how), (folder, path, how))
ON_PATH(rmdir, (const char *path), (path))
ON_PATH(mkdir, (const char *path, mode_t mode), (path, mode))
ON_PATH(mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode))
ON_PATH(chmod, (const char *path, mode_t mode), (path, mode))

int connect(int fd, const struct sockaddr *to, socklen_t length) {
    counted("connect", "", 0);
    return NEXT(connect)(fd, to, length);
}

ssize_t send(int fd, const void *bytes, size_t count, int how) {
    counted("send", "", 0);
    return NEXT(send)(fd, bytes, count, how);
}

ssize_t sendto(int fd, const void *bytes, size_t count, int how, const struct sockaddr *to, socklen_t length) {
    counted("send", "", 0);
    return NEXT(sendto)(fd, bytes, count, how, to, length);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int how) {
    counted("send", "", 0);
    return NEXT(sendmsg)(fd, message, how);
}

pid_t fork(void) {
    counted("fork", "", 0);
    return NEXT(fork)();
}

int posix_spawn(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]) {
    counted("spawn", path, 0);
    return NEXT(posix_spawn)(child, path, actions, attributes, arguments, environment);
}

int posix_spawnp(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]) {
    counted("spawn", path, 0);
    return NEXT(posix_spawnp)(child, path, actions, attributes, arguments, environment);
}

int clock_gettime(clockid_t which, struct timespec *now) {
    int done = (int)syscall(SYS_clock_gettime, which, now);
    if (done != 0 || which != CLOCK_REALTIME || !clock_file[0]) return done;
    int file = (int)syscall(SYS_openat, AT_FDCWD, clock_file, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return done;
    char text[32] = {0};
    long length = syscall(SYS_read, file, text, sizeof text - 1);
    syscall(SYS_close, file);
    if (length > 0) now->tv_sec += atol(text);
    return done;
}
