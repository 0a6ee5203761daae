/* cli/ask_answers.h - the answers of hark ask, as text or JSON. */
#ifndef CLI_ASK_ANSWERS_H
#define CLI_ASK_ANSWERS_H

#include "ask/eval.h"
#include "cli/moment.h"

/* What the question is about. */
struct ask {
	const struct cli_args *args;
	struct moment *m;
	struct space *space;
	struct unwind *u;
	struct eval eval;
	struct hark_position at;
	struct hark_position from, to;
	uint64_t limit; /* of a list; 0: none */
	bool json;
};

/* Each returns 1: it is answered; 0: the answer is "there is none"; -1. */
int answer_value(struct ask *a, const char *what, struct hark_err *err);
int answer_last_write(struct ask *a, const char *what, struct hark_err *err);
int answer_accesses(struct ask *a, const char *what, unsigned on,
		    struct hark_err *err);
int answer_calls(struct ask *a, const char *function, struct hark_err *err);
int answer_registers(struct ask *a, struct hark_err *err);
int answer_stack(struct ask *a, struct hark_err *err);
int answer_races(struct ask *a, struct hark_err *err);
/* The value, which at the moment was this, and all others that it may have
 * been: 0. */
int answer_possible(struct ask *a, const char *what, const struct value *v,
		    const char *as_it_was, struct hark_err *err);

/* Into an object of JSON: a moment; where code is (address, function, file,
 * line). */
struct json;
void answer_put_position(struct json *j, const char *key,
			 const struct hark_position *at);
void answer_put_code(struct json *j, struct ask *a, uint64_t pc);

#endif
