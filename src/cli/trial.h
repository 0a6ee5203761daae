/* cli/trial.h - tries something in a child, so that nothing can go wrong.
 *
 * Whatever a filter, a security module or a broken program does to the child is
 * a finding, not a failure; it takes as long as it may and not longer, and
 * nothing is left behind. */
#ifndef CLI_TRIAL_H
#define CLI_TRIAL_H

#include <sys/types.h>

enum finding_state { FINDING_OK, FINDING_LIMITED, FINDING_NO };

struct finding {
	enum finding_state state;
	char value[160];  /* what was found */
	char advice[160]; /* what to do; empty if all is well */
};

typedef void trial_fn(struct finding *out);

/* Never fails: what went wrong is the finding. */
void trial_run(trial_fn *attempt, int limit_ms, struct finding *out);

/* For a child that an attempt makes: the kernel is to kill it when its parent,
 * the trial, ends; it ends at once if that has happened already. */
void trial_die_with(pid_t parent);

void finding_set(struct finding *out, enum finding_state state,
		 const char *format, ...) __attribute__((format(printf, 3, 4)));
void finding_advise(struct finding *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "ok", "limited", "no" */
const char *finding_state_name(enum finding_state state);

#endif
