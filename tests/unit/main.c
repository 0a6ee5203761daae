/* tests/unit/main.c - runs every suite; speaks TAP for tools/check-all.
 *
 *   unit [SUITE]    one suite by its name, or all */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#define SUITE(name) Suite *name##_suite(void);
#include "unit_suites.h"
#undef SUITE

#define SUITE(name) {#name, name##_suite},
static const struct {
	const char *name;
	Suite *(*make)(void);
} suites[] = {
#include "unit_suites.h"
};
#undef SUITE

/* A test that hangs is ended; one that is slow on a busy machine is not. */
static void be_patient(void)
{
	setenv("CK_DEFAULT_TIMEOUT", "20", 0);
	setenv("CK_TIMEOUT_MULTIPLIER", "6", 0);
}

int main(int argc, char **argv)
{
	SRunner *runner;
	int failed;

	be_patient();
	runner = srunner_create(NULL);
	for (size_t i = 0; i < sizeof suites / sizeof suites[0]; i++)
		if (argc < 2 || strcmp(argv[1], suites[i].name) == 0)
			srunner_add_suite(runner, suites[i].make());
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
