/* record/sandbox.c: what a process in it can still do to others. */
#include "record/sandbox.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *record_sandbox_suite(void);

static pid_t tester;

/* How a child ends that does this in the sandbox. */
static int end_of(void (*act)(void))
{
	pid_t pid;
	int status = 0;

	tester = getpid();
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		sandbox_enter(SANDBOX_GIGABYTES);
		act();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static void signal_another(void)
{
	syscall(SYS_tgkill, tester, tester, 0);
}

/* Only the low half of the number counts for the kernel. */
static void signal_another_with_high_bits(void)
{
	syscall(SYS_tgkill, 1ul << 32 | (unsigned long)tester, tester, 0);
}

static void kill_all(void)
{
	syscall(SYS_kill, -1, 0);
}

static void make_a_process(void)
{
	syscall(SYS_fork);
}

static void open_a_file(void)
{
	_exit(syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY) < 0 &&
		      errno == EACCES
		  ? 17
		  : 0);
}

static void open_the_old_way(void)
{
	syscall(SYS_open, "/dev/null", O_RDONLY);
}

static void make_a_socket(void)
{
	syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
}

/* 17: neither is to be had. */
static void write_code(void)
{
	const int both = PROT_READ | PROT_WRITE | PROT_EXEC;
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || mprotect(at, 4096, both) == 0 ||
	    errno != EACCES || mprotect(at, 4096, PROT_READ | PROT_EXEC) < 0)
		_exit(1);
	at = mmap(NULL, 4096, both, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	_exit(at == MAP_FAILED && errno == EACCES ? 17 : 2);
}

static void execute(void)
{
	syscall(SYS_execve, "/bin/true", NULL, NULL);
}

static void (*const forbidden[])(void) = {
    signal_another,   signal_another_with_high_bits,
    kill_all,	      make_a_process,
    open_the_old_way, make_a_socket,
    execute,
};

START_TEST(what_reaches_others_ends_the_process)
{
	int status = end_of(forbidden[_i]);

	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGSYS);
}
END_TEST

START_TEST(nothing_is_opened)
{
	int status = end_of(open_a_file);

	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 17);
}
END_TEST

START_TEST(no_memory_is_both_written_and_executed)
{
	int status = end_of(write_code);

	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 17);
}
END_TEST

/* A file of memory that it was given to read. */
static int memory;

static void write_much(void)
{
	signal(SIGXFSZ, SIG_IGN);
	_exit(write(memory, "much", 4) < 0 && errno == EFBIG ? 17 : 0);
}

START_TEST(nothing_is_written_to_files)
{
	int status;

	memory = memfd_create("test", MFD_CLOEXEC);
	ck_assert_int_ge(memory, 0);
	status = end_of(write_much);
	close(memory);
	ck_assert(WIFEXITED(status));
#ifndef __SANITIZE_ADDRESS__ /* it writes what it finds */
	ck_assert_int_eq(WEXITSTATUS(status), 17);
#endif
}
END_TEST

START_TEST(a_process_may_still_abort)
{
	int status = end_of(abort);

	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGABRT);
}
END_TEST

Suite *record_sandbox_suite(void)
{
	Suite *suite = suite_create("record_sandbox");
	TCase *tc = tcase_create("record_sandbox");

	tcase_add_loop_test(tc, what_reaches_others_ends_the_process, 0,
			    sizeof forbidden / sizeof forbidden[0]);
	tcase_add_test(tc, nothing_is_opened);
	tcase_add_test(tc, no_memory_is_both_written_and_executed);
	tcase_add_test(tc, nothing_is_written_to_files);
	tcase_add_test(tc, a_process_may_still_abort);
	suite_add_tcase(suite, tc);
	return suite;
}
