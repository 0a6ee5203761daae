/* tests/unit/main.c - runs every suite; speaks TAP for tools/check-all.
 *
 *   unit [SUITE]    one suite by its name, or all
 *
 * Every test is forked by check from a process that knows its own suite only:
 * the leak checker looks through all that was inherited, for each of them. With
 * all suites in one process that took three times as long as the tests. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SUITE(name) Suite *name##_suite(void);
#include "unit_suites.h"
#undef SUITE

#define SUITE(name) {#name, name##_suite},
static const struct suite {
	const char *name;
	Suite *(*make)(void);
} suites[] = {
#include "unit_suites.h"
};
#undef SUITE

enum { N_SUITES = sizeof suites / sizeof suites[0] };

/* A test that hangs is ended; one that is slow on a busy machine is not. */
static void be_patient(void)
{
	setenv("CK_DEFAULT_TIMEOUT", "20", 0);
	setenv("CK_TIMEOUT_MULTIPLIER", "6", 0);
}

static int run(const struct suite *s)
{
	SRunner *runner = srunner_create(s->make());
	int failed;

	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}

/* Its lines, with numbers that go on from suite to suite. */
static unsigned retell(FILE *from, unsigned n)
{
	char line[4096];
	unsigned number;
	int at;

	while (fgets(line, sizeof line, from) != NULL)
		if (sscanf(line, "ok %u%n", &number, &at) == 1)
			printf("ok %u%s", ++n, line + at);
		else if (sscanf(line, "not ok %u%n", &number, &at) == 1)
			printf("not ok %u%s", ++n, line + at);
		else if (strncmp(line, "1..", 3) != 0)
			fputs(line, stdout);
	return n;
}

/* In a process of its own; how many tests there are now. */
static unsigned run_apart(const struct suite *s, unsigned n, int *failed)
{
	int ends[2], status;
	pid_t pid;
	FILE *from;

	fflush(stdout);
	if (pipe(ends) < 0 || (pid = fork()) < 0)
		exit(125);
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		exit(run(s));
	}
	close(ends[1]);
	from = fdopen(ends[0], "r");
	n = retell(from, n);
	fclose(from);
	waitpid(pid, &status, 0);
	*failed |= status != 0;
	if (status != 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 1))
		printf("not ok %u - %s: ended with status %#x\n", ++n, s->name,
		       (unsigned)status);
	return n;
}

int main(int argc, char **argv)
{
	int failed = 0;
	unsigned n = 0;

	be_patient();
	for (unsigned i = 0; i < N_SUITES; i++)
		if (argc > 1 && strcmp(argv[1], suites[i].name) == 0)
			return run(&suites[i]);
	for (unsigned i = 0; argc < 2 && i < N_SUITES; i++)
		n = run_apart(&suites[i], n, &failed);
	if (n > 0)
		printf("1..%u\n", n);
	return argc > 1 ? 2 : failed;
}
