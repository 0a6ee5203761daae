/* cli/probes.c - tries, rather than guesses, what works here.
 *
 * Every probe runs as a trial (cli/trial.h): in a child, with a time limit that
 * also holds for children of its own. It changes no setting and writes no
 * file. */
#include "cli/probes.h"

#include "outside/run.h"

#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif
#ifndef HWCAP2_FSGSBASE
#define HWCAP2_FSGSBASE (1 << 1)
#endif

enum { NOFILE_WANTED = 256 };
#define RESERVATION (4ul << 30) /* what recording reserves for each thread */

/* -- Reading -- */

/* The beginning of a file as a string; false if it cannot be read. */
static bool read_text(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 0;

	if (fd < 0)
		return false;
	while (len + 1 < size && (n = read(fd, out + len, size - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	out[len] = '\0';
	return n >= 0;
}

/* A file that holds one number; `none` if it cannot be read. */
static long read_number(const char *path, long none)
{
	char text[32];

	if (!read_text(path, text, sizeof text))
		return none;
	return strtol(text, NULL, 10);
}

bool probe_field(const char *text, const char *name, char *out, size_t size)
{
	size_t len = strlen(name);

	for (const char *at = text; at != NULL; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, name, len) == 0 && at[len] == ':') {
			at += len + 1;
			at += strspn(at, " \t");
			len = strcspn(at, "\n");
			if (len >= size)
				return false;
			memcpy(out, at, len);
			out[len] = '\0';
			return true;
		}
	}
	return false;
}

/* A number in /proc/self/status; -1 if it is not there. */
static long status_number(const char *name)
{
	char text[8192], value[64];

	if (!read_text("/proc/self/status", text, sizeof text) ||
	    !probe_field(text, name, value, sizeof value))
		return -1;
	return strtol(value, NULL, 10);
}

/* -- Kernel and processor -- */

/* `5.10.0-8-amd64` is at least 5.9? */
static bool is_at_least(const char *release, unsigned long major,
			unsigned long minor)
{
	char *end;
	unsigned long first = strtoul(release, &end, 10);
	unsigned long second = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;

	return first > major || (first == major && second >= minor);
}

static void probe_kernel(struct finding *out)
{
	struct utsname u;

	if (uname(&u) < 0) {
		finding_set(out, FINDING_NO, "uname: %s", strerror(errno));
		return;
	}
	finding_set(out, FINDING_OK, "%s %.64s %.32s", u.sysname, u.release,
		    u.machine);
	if (strcmp(u.machine, "x86_64") != 0) {
		out->state = FINDING_NO;
		finding_advise(out, "hark works on x86_64 alone");
	} else if (!is_at_least(u.release, 5, 9)) {
		out->state = FINDING_NO;
		finding_advise(out, "Linux 5.9 or newer is needed");
	}
}

static void probe_fsgsbase(struct finding *out)
{
	if ((getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) != 0) {
		finding_set(out, FINDING_OK,
			    "programs may set %%gs themselves");
		return;
	}
	finding_set(out, FINDING_NO, "not usable");
	finding_advise(out,
		       "needs a processor of 2012 or later, Linux 5.9, and no "
		       "nofsgsbase on the kernel's command line");
}

static uint64_t xgetbv0(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (uint64_t)high << 32 | low;
}

static void probe_vectors(struct finding *out)
{
	unsigned a, b, c, d, b7 = 0, c7;
	bool avx2, avx512;
	uint64_t enabled;

	if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0) {
		finding_set(out, FINDING_NO, "no xsave");
		finding_advise(
		    out, "the kernel or the processor does not offer xsave");
		return;
	}
	enabled = xgetbv0();
	__get_cpuid_count(7, 0, &a, &b7, &c7, &d);
	avx2 = (enabled & 0x6) == 0x6 && (b7 & bit_AVX2) != 0;
	avx512 = (enabled & 0xe6) == 0xe6 && (b7 & bit_AVX512F) != 0;
	__get_cpuid_count(0xd, 0, &a, &b, &c, &d);
	finding_set(out, FINDING_OK, "%s%s%s; xsave area %u bytes, at most %u",
		    avx2 ? "avx2" : "", avx512 ? " avx512" : "",
		    avx2 || avx512 ? "" : "sse alone", b, c);
}

/* -- Tracing -- */

/* Which rule of door and kernel stands behind a refused ptrace? */
static void advise_ptrace(struct finding *out)
{
	long tracer = status_number("TracerPid");
	long scope = read_number("/proc/sys/kernel/yama/ptrace_scope", 0);

	if (tracer > 0)
		finding_advise(out,
			       "hark itself is traced by process %ld: run it "
			       "outside of that",
			       tracer);
	else if (scope >= 3)
		finding_advise(
		    out, "kernel.yama.ptrace_scope=3 forbids it until the "
			 "next boot");
	else if (scope == 2)
		finding_advise(out,
			       "kernel.yama.ptrace_scope=2 asks for "
			       "CAP_SYS_PTRACE: run as root, or set it to 1");
	else if (status_number("Seccomp") > 0)
		finding_advise(out,
			       "a filter forbids it; in a container allow it "
			       "(--cap-add SYS_PTRACE, or a newer profile)");
	else
		finding_advise(out,
			       "the kernel refuses ptrace to this process");
}

/* A child that does nothing until it is killed, or -1. */
static pid_t start_idle(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	trial_die_with(parent);
	for (;;)
		pause();
}

static void end_idle(pid_t pid)
{
	int saved = errno;

	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		continue;
	errno = saved;
}

/* Seize, stop, detach: what the door does. Names what failed, or NULL. */
static const char *trace_once(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
		return "PTRACE_SEIZE";
	if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0)
		return "PTRACE_INTERRUPT";
	if (waitpid(pid, &status, __WALL) != pid)
		return "waiting for its stop";
	if (!WIFSTOPPED(status) || status >> 16 != PTRACE_EVENT_STOP) {
		errno = ECHILD;
		return "stopping it";
	}
	if (ptrace(PTRACE_DETACH, pid, NULL, NULL) < 0)
		return "PTRACE_DETACH";
	return NULL;
}

static void probe_ptrace(struct finding *out)
{
	pid_t pid = start_idle();
	const char *failed;

	if (pid < 0) {
		finding_set(out, FINDING_NO, "fork: %s", strerror(errno));
		finding_advise(out, "too many processes? see ulimit -u");
		return;
	}
	failed = trace_once(pid);
	if (failed == NULL) {
		finding_set(out, FINDING_OK,
			    "a child could be seized, stopped and "
			    "let go");
	} else {
		finding_set(out, FINDING_NO, "%s: %s", failed, strerror(errno));
		advise_ptrace(out);
	}
	end_idle(pid);
}

static void probe_yama(struct finding *out)
{
	long scope = read_number("/proc/sys/kernel/yama/ptrace_scope", -1);

	switch (scope) {
	case -1:
		finding_set(out, FINDING_OK, "no such rule here");
		break;
	case 0:
		finding_set(out, FINDING_OK, "0: every process of yours");
		break;
	case 1:
		finding_set(out, FINDING_LIMITED,
			    "1: only what hark itself started");
		finding_advise(out,
			       "-p needs root, or kernel.yama.ptrace_scope=0");
		break;
	case 2:
		finding_set(out, FINDING_LIMITED,
			    "2: only with CAP_SYS_PTRACE");
		finding_advise(out, "run as root, or set "
				    "kernel.yama.ptrace_scope=1");
		break;
	default:
		finding_set(out, FINDING_NO, "%ld: nobody, until the next boot",
			    scope);
		finding_advise(out, "boot with kernel.yama.ptrace_scope=1");
	}
}

static void probe_seccomp(struct finding *out)
{
	long mode = status_number("Seccomp");
	long filters = status_number("Seccomp_filters");

	if (mode < 0) {
		finding_set(out, FINDING_LIMITED, "unknown");
		finding_advise(out, "/proc/self/status does not tell");
	} else if (mode == 0) {
		finding_set(out, FINDING_OK, "no filter");
	} else {
		finding_set(out, FINDING_LIMITED, "%ld filter%s in force",
			    filters > 0 ? filters : 1, filters > 1 ? "s" : "");
		finding_advise(out,
			       "everything started from here inherits it; what "
			       "it denies shows in the other lines");
	}
}

bool probe_hidepid(const char *mounts, char *out, size_t size)
{
	bool seen = false;

	for (const char *at = mounts; at != NULL; at = strchr(at, '\n')) {
		char dir[64], type[32], options[512];
		const char *hide;

		at += *at == '\n';
		if (sscanf(at, "%*s %63s %31s %511s", dir, type, options) !=
			3 ||
		    strcmp(dir, "/proc") != 0 || strcmp(type, "proc") != 0)
			continue;
		seen = true;
		hide = strstr(options, "hidepid=");
		hide = hide != NULL ? hide + strlen("hidepid=") : "";
		snprintf(out, size, "%.*s", (int)strcspn(hide, ","), hide);
	}
	return seen;
}

static void probe_proc(struct finding *out)
{
	char mounts[32768], hide[16];

	if (!read_text("/proc/self/mounts", mounts, sizeof mounts)) {
		finding_set(out, FINDING_NO, "not mounted");
		finding_advise(out, "mount -t proc proc /proc");
	} else if (!probe_hidepid(mounts, hide, sizeof hide) ||
		   hide[0] == '\0' || strcmp(hide, "0") == 0 ||
		   strcmp(hide, "off") == 0) {
		finding_set(out, FINDING_OK, "mounted");
	} else {
		finding_set(out, FINDING_LIMITED, "mounted with hidepid=%s",
			    hide);
		finding_advise(out, "-p reaches your own processes alone");
	}
}

/* -- Memory -- */

/* A page of code in a sealed file that nobody can write to any more, mapped
 * executable: how the image comes into a program. Names what failed. */
static const char *map_sealed(int fd, size_t size)
{
	const char *failed = NULL;
	void *page;

	if (ftruncate(fd, (off_t)size) < 0)
		return "ftruncate";
	if (fcntl(fd, F_ADD_SEALS,
		  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return "sealing";
	page = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return "mapping it executable";
	if (mprotect(page, size, PROT_READ | PROT_WRITE) == 0) {
		failed = "keeping it from being written";
		errno = ENOTSUP;
	}
	munmap(page, size);
	return failed;
}

static void probe_memfd(struct finding *out)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("hark-doctor", flags | MFD_EXEC);
	const char *failed;

	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
		fd = memfd_create("hark-doctor", flags);
	failed = fd < 0 ? "memfd_create" : map_sealed(fd, 4096);
	if (failed == NULL) {
		finding_set(out, FINDING_OK, "sealed, and mapped executable");
	} else {
		finding_set(out, FINDING_NO, "%s: %s", failed, strerror(errno));
		finding_advise(out,
			       "a security module, a filter or vm.memfd_noexec "
			       "forbids executable memory files");
	}
	if (fd >= 0)
		close(fd);
}

static void probe_memfd_noexec(struct finding *out)
{
	long mode = read_number("/proc/sys/vm/memfd_noexec", -1);

	if (mode <= 0) {
		finding_set(out, FINDING_OK,
			    mode < 0 ? "no such rule here" : "0");
	} else if (mode == 1) {
		finding_set(out, FINDING_OK,
			    "1: executable if asked for, as hark does");
	} else {
		finding_set(out, FINDING_NO, "%ld: never executable", mode);
		finding_advise(out, "set vm.memfd_noexec to 1 or 0");
	}
}

static void probe_overcommit(struct finding *out)
{
	long mode = read_number("/proc/sys/vm/overcommit_memory", -1);
	void *room = mmap(NULL, RESERVATION, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (room == MAP_FAILED) {
		finding_set(out, FINDING_LIMITED,
			    "4 GiB cannot be reserved: %s", strerror(errno));
		finding_advise(
		    out, "recording needs that for each thread; see ulimit "
			 "-v and vm.overcommit_memory");
		return;
	}
	munmap(room, RESERVATION);
	finding_set(out, mode == 2 ? FINDING_LIMITED : FINDING_OK,
		    "4 GiB can be reserved; vm.overcommit_memory=%ld", mode);
	if (mode == 2)
		finding_advise(out,
			       "strict accounting: many threads may run out of "
			       "memory early");
}

static void put_limit(rlim_t limit, char *out, size_t size)
{
	if (limit == RLIM_INFINITY)
		snprintf(out, size, "unlimited");
	else
		snprintf(out, size, "%llu", (unsigned long long)limit);
}

static void probe_address_space(struct finding *out)
{
	struct rlimit l;
	char soft[32];

	if (getrlimit(RLIMIT_AS, &l) < 0) {
		finding_set(out, FINDING_LIMITED, "unknown: %s",
			    strerror(errno));
		return;
	}
	put_limit(l.rlim_cur, soft, sizeof soft);
	finding_set(out,
		    l.rlim_cur == RLIM_INFINITY ? FINDING_OK : FINDING_LIMITED,
		    "%s%s", soft, l.rlim_cur == RLIM_INFINITY ? "" : " bytes");
	if (l.rlim_cur != RLIM_INFINITY)
		finding_advise(out,
			       "ulimit -v unlimited, or what hark reserves may "
			       "not fit");
}

static void probe_open_files(struct finding *out)
{
	struct rlimit l;
	char soft[32], hard[32];

	if (getrlimit(RLIMIT_NOFILE, &l) < 0) {
		finding_set(out, FINDING_LIMITED, "unknown: %s",
			    strerror(errno));
		return;
	}
	put_limit(l.rlim_cur, soft, sizeof soft);
	put_limit(l.rlim_max, hard, sizeof hard);
	finding_set(out,
		    l.rlim_cur < NOFILE_WANTED ? FINDING_LIMITED : FINDING_OK,
		    "%s, at most %s", soft, hard);
	if (l.rlim_cur < NOFILE_WANTED)
		finding_advise(out, "ulimit -n %d or more", NOFILE_WANTED);
}

/* -- Other calls of the kernel's -- */

static void probe_pidfd_getfd(struct finding *out)
{
	pid_t pid = start_idle();
	int pidfd = -1, fd = -1;

	if (pid >= 0)
		pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd >= 0)
		fd = (int)syscall(SYS_pidfd_getfd, pidfd, STDIN_FILENO, 0);
	if (fd >= 0) {
		finding_set(out, FINDING_OK,
			    "a child's descriptor could be taken");
	} else {
		finding_set(out, FINDING_NO, "%s: %s",
			    pid < 0	? "fork"
			    : pidfd < 0 ? "pidfd_open"
					: "pidfd_getfd",
			    strerror(errno));
		finding_advise(
		    out, "needs Linux 5.6, and a filter that lets it pass");
	}
	if (fd >= 0)
		close(fd);
	if (pidfd >= 0)
		close(pidfd);
	if (pid >= 0)
		end_idle(pid);
}

static void probe_membarrier(struct finding *out)
{
	long can = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	if (can < 0) {
		finding_set(out, FINDING_LIMITED, "%s", strerror(errno));
	} else if ((can & MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) == 0) {
		finding_set(out, FINDING_LIMITED, "without SYNC_CORE");
	} else {
		finding_set(out, FINDING_OK, "with SYNC_CORE");
		return;
	}
	finding_advise(
	    out, "code that changes while other threads run it costs more "
		 "to follow");
}

/* A program through the virtual processor: `hark version`. */
static int run_translated_once(int *status, struct hark_err *err)
{
	static char self[] = "/proc/self/exe", version[] = "version";
	char *argv[] = {self, version, NULL};
	const struct timespec nap = {.tv_nsec = 500000};
	sigset_t mask;
	struct launch launch = {.argv = argv, .mask = &mask};
	struct run_plan plan = {.launch = &launch};
	struct run *r;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	if (run_start(&plan, &r, err) < 0)
		return -1;
	while (run_step(r) != RUN_DONE)
		nanosleep(&nap, NULL);
	*status = run_exit_status(r);
	run_close(r, NULL);
	return 0;
}

static void probe_engine(struct finding *out)
{
	int null = open("/dev/null", O_RDWR), status = -1;
	struct hark_err err = {0};

	if (null >= 0)
		dup2(null, STDOUT_FILENO);
	if (run_translated_once(&status, &err) < 0) {
		finding_set(out, FINDING_NO, "cannot run here");
		finding_advise(out, "%.150s", err.text);
	} else if (status != 0) {
		finding_set(out, FINDING_NO,
			    "a program ended with wait status 0x%x", status);
		finding_advise(out, "please report it");
	} else {
		finding_set(out, FINDING_OK, "a program ran translated");
	}
}

static void probe_perf(struct finding *out)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof attr,
	    .config = PERF_COUNT_SW_TASK_CLOCK,
	    .disabled = 1,
	    .exclude_kernel = 1,
	    .exclude_hv = 1,
	};
	long level = read_number("/proc/sys/kernel/perf_event_paranoid", -99);
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1,
			      PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0) {
		finding_set(out, FINDING_OK,
			    "software clock opens; "
			    "perf_event_paranoid=%ld",
			    level);
		close(fd);
		return;
	}
	finding_set(out, FINDING_LIMITED, "%s; perf_event_paranoid=%ld",
		    strerror(errno), level);
	if (level > 2)
		finding_advise(out,
			       "kernel.perf_event_paranoid=2 lets you measure "
			       "your own programs");
	else
		finding_advise(out,
			       "a filter or the kernel's build forbids it; "
			       "profiles will use timers");
}

/* -- Around hark -- */

static const char *container_name(void)
{
	char text[4096];

	if (access("/.dockerenv", F_OK) == 0)
		return "docker";
	if (access("/run/.containerenv", F_OK) == 0)
		return "podman";
	if (getenv("container") != NULL)
		return "one that sets $container";
	if (access("/run/systemd/container", F_OK) == 0)
		return "one that systemd sees";
	if (!read_text("/proc/1/cgroup", text, sizeof text))
		return NULL;
	if (strstr(text, "kubepods") != NULL)
		return "kubernetes";
	if (strstr(text, "docker") != NULL)
		return "docker";
	return strstr(text, "/lxc") != NULL ? "lxc" : NULL;
}

/* Is user 0 here somebody else outside, or are there users we cannot be? */
static bool in_user_namespace(void)
{
	char map[256], *at = map;
	unsigned long inside, outside, n;

	if (!read_text("/proc/self/uid_map", map, sizeof map))
		return false;
	inside = strtoul(at, &at, 10);
	outside = strtoul(at, &at, 10);
	n = strtoul(at, &at, 10);
	return inside != outside || n < UINT32_MAX;
}

static void probe_container(struct finding *out)
{
	const char *name = container_name();
	unsigned a, b, c, d;
	bool is_virtual = __get_cpuid(1, &a, &b, &c, &d) && (c >> 31) != 0;

	finding_set(out, FINDING_OK, "%s%s%s%s",
		    name != NULL ? "container: " : "no container seen",
		    name != NULL ? name : "",
		    in_user_namespace() ? ", user namespace" : "",
		    is_virtual ? ", virtual machine" : "");
}

bool probe_gdb_version(const char *text, char *out, size_t size)
{
	size_t line = strcspn(text, "\n"), begin = line;

	if (strncmp(text, "GNU gdb", 7) != 0)
		return false;
	while (begin > 0 && text[begin - 1] != ' ')
		begin--;
	if (begin == 0 || begin == line || line - begin >= size)
		return false;
	memcpy(out, text + begin, line - begin);
	out[line - begin] = '\0';
	return true;
}

/* The child's end of the pipe becomes gdb's output. */
static void exec_gdb(pid_t parent, int out)
{
	static char name[] = "gdb", nx[] = "-nx", version[] = "--version";
	char *argv[] = {name, nx, version, NULL};
	int null = open("/dev/null", O_RDWR);

	trial_die_with(parent);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDERR_FILENO);
	}
	dup2(out, STDOUT_FILENO);
	execvp(argv[0], argv);
	_exit(127);
}

/* What `gdb --version` says; false if there is no gdb. */
static bool ask_gdb(char *out, size_t size)
{
	size_t len = 0;
	ssize_t n;
	int ends[2], status;
	pid_t parent = getpid(), pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	pid = fork();
	if (pid == 0)
		exec_gdb(parent, ends[1]);
	close(ends[1]);
	while (pid > 0 && len + 1 < size &&
	       (n = read(ends[0], out + len, size - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	close(ends[0]); /* should it say more: it gets SIGPIPE */
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	return !WIFEXITED(status) || WEXITSTATUS(status) != 127;
}

static void probe_gdb(struct finding *out)
{
	char text[4096], version[64];

	if (!ask_gdb(text, sizeof text)) {
		finding_set(out, FINDING_LIMITED, "not found");
		finding_advise(out, "install gdb to walk through recordings");
	} else if (!probe_gdb_version(text, version, sizeof version)) {
		finding_set(out, FINDING_LIMITED,
			    "the gdb in $PATH says no version");
		finding_advise(out, "is it the GNU debugger?");
	} else {
		finding_set(out, FINDING_OK, "%s", version);
	}
}

static void probe_debuginfod(struct finding *out)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (urls != NULL && urls[0] != '\0')
		finding_set(out, FINDING_OK, "asks %.120s", urls);
	else
		finding_set(out, FINDING_OK,
			    "not set: debug files of this machine "
			    "alone");
}

/* -- All of them -- */

const struct probe probes[] = {
    {"kernel", "kernel", true, probe_kernel},
    {"fsgsbase", "fsgsbase", true, probe_fsgsbase},
    {"vectors", "vector units", true, probe_vectors},
    {"ptrace", "ptrace", true, probe_ptrace},
    {"ptrace_scope", "ptrace scope", false, probe_yama},
    {"seccomp", "seccomp", false, probe_seccomp},
    {"proc", "/proc", true, probe_proc},
    {"memfd", "memory files", true, probe_memfd},
    {"memfd_noexec", "memfd_noexec", false, probe_memfd_noexec},
    {"pidfd_getfd", "pidfd_getfd", true, probe_pidfd_getfd},
    {"engine", "engine", false, probe_engine},
    {"membarrier", "membarrier", false, probe_membarrier},
    {"reservation", "reservations", false, probe_overcommit},
    {"address_space", "address space", false, probe_address_space},
    {"open_files", "open files", false, probe_open_files},
    {"perf", "perf events", false, probe_perf},
    {"container", "surroundings", false, probe_container},
    {"gdb", "gdb", false, probe_gdb},
    {"debuginfod", "debuginfod", false, probe_debuginfod},
    {NULL, NULL, false, NULL},
};

_Static_assert(sizeof probes / sizeof probes[0] <= PROBE_MAX, "raise it");
