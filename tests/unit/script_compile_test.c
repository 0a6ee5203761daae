/* tests/unit/script_compile_test.c - what is wrong with a script, and where.
 *
 * One test for each tag of probe/tags.def; the last one holds the list
 * against that file. */
#include "outside/faults.h"
#include "script/script.h"
#include "script/verify.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct verify_room room;

static struct script *compile(const char *text)
{
	static const char *const args[] = {"7", "name", "7x"};
	struct script_settings settings = {
	    .target = "42", .args = args, .n_args = 3};
	struct hark_err err;
	struct script *s = script_compile(text, strlen(text), &settings, &err);

	ck_assert_ptr_nonnull(s);
	return s;
}

/* The first mistake, as it is shown; "" if there is none. */
static const char *first(const char *text)
{
	static char said[600];
	struct script *s = compile(text);
	const struct script_mistake *m;
	size_t n;

	said[0] = '\0';
	m = script_mistakes(s, &n);
	if (n > 0) {
		script_say(s, &m[0], said, sizeof said);
		ck_assert_ptr_null(script_program(s));
	}
	script_free(s);
	return said;
}

static void is_wrong(const char *text, const char *at, const char *tag)
{
	char want[64];
	const char *said = first(text);

	snprintf(want, sizeof want, "-n:%s: [%s] ", at, tag);
	if (strncmp(said, want, strlen(want)) != 0)
		ck_abort_msg("%s: %s, not %s", text, said, want);
}

static void is_right(const char *text)
{
	const char *said = first(text), *why;
	struct script *s;

	if (said[0] != '\0')
		ck_abort_msg("%s: %s", text, said);
	s = compile(text);
	why = verify_program(script_program(s), script_program(s)->size, &room);
	if (why != NULL)
		ck_abort_msg("%s: %s", text, why);
	script_free(s);
}

/* clang-format off */
#define CASES(C) \
	C(SYNTAX, "BEGIN { trace(1; }", "1:16") \
	C(CHARACTER, "BEGIN { \x01; }", "1:9") \
	C(NUMBER, "BEGIN { x = 0x1ffffffffffffffff; }", "1:13") \
	C(STRING, "BEGIN { x = \"a\n; }", "1:13") \
	C(COMMENT, "BEGIN { /* }", "1:9") \
	C(PRAGMA, "#pragma weak\nBEGIN {}", "1:1") \
	C(MACRO, "BEGIN { x = $9; }", "1:13") \
	C(PROBE, "a:b:c:d:e { }", "1:1") \
	C(PERIOD, "tick-7parsecs { }", "1:1") \
	C(EMPTY, "/* nothing */", "1:14") \
	C(LOOP, "BEGIN { while (1) { x = 1; } }", "1:9") \
	C(UNSUPPORTED, "BEGIN { chill(1); }", "1:9") \
	C(IDENT_UNDEF, "BEGIN { x = nothing; }", "1:13") \
	C(FUNC_UNDEF, "BEGIN { x = nothing(1); }", "1:13") \
	C(FUNC_ARGS, "BEGIN { x = strlen(); }", "1:13") \
	C(ARG_TYPE, "BEGIN { x = strlen(7); }", "1:20") \
	C(OP_TYPE, "BEGIN { x = \"a\" + 1; }", "1:17") \
	C(OP_LVALUE, "BEGIN { 7 = 8; }", "1:11") \
	C(READ_ONLY, "BEGIN { arg0 = 8; }", "1:14") \
	C(VAR_TYPE, "BEGIN { x = 1; x = \"a\"; }", "1:18") \
	C(VAR_KEYS, "BEGIN { a[1] = 1; a[1, 2] = 3; }", "1:20") \
	C(DECL_DUP, "int x;\nint x;\nBEGIN {}", "2:5") \
	C(TYPE_UNKNOWN, "BEGIN { x = (struct foo *)arg0; }", "1:14") \
	C(MEMBER, "BEGIN { x = arg0->next; }", "1:17") \
	C(DEREF, "BEGIN { x = *arg0; }", "1:13") \
	C(DIV_ZERO, "BEGIN { x = arg0 / 0; }", "1:18") \
	C(PREDICATE, "BEGIN /execname/ { }", "1:8") \
	C(EFFECT, "BEGIN { arg0 + 1; }", "1:14") \
	C(ACTION_VALUE, "BEGIN { x = trace(1); }", "1:13") \
	C(AGG_FUNC, "BEGIN { @ = 7; }", "1:11") \
	C(AGG_REDEF, "BEGIN { @ = count(); @ = sum(1); }", "1:24") \
	C(AGG_KEYS, "BEGIN { @[1] = count(); @[1, 2] = count(); }", "1:25") \
	C(AGG_USE, "BEGIN { @ = count(); x = @; }", "1:26") \
	C(AGG_ARGS, "BEGIN { @ = lquantize(arg0, 9, 1, 1); }", "1:13") \
	C(PRINTF_FORMAT, "BEGIN { printf(\"%q\", 1); }", "1:9") \
	C(PRINTF_ARGS, "BEGIN { printf(\"%d\"); }", "1:9") \
	C(PRINTF_TYPE, "BEGIN { printf(\"%d\", \"a\"); }", "1:22") \
	C(CONST_ARG, "BEGIN { tracemem(arg0, arg1); }", "1:24") \
	C(SPECULATE, "BEGIN { trace(1); speculate(1); }", "1:19") \
	C(COMMIT, "BEGIN { trace(1); commit(1); }", "1:19") \
	C(SPEC_AGG, "BEGIN { speculate(1); @ = count(); }", "1:25") \
	C(DESTRUCTIVE, "BEGIN { stop(); }", "1:9") \
	C(REGISTERS, "BEGIN { x = 1+(1+(1+(1+(1+(1+(1+(1+(1+(1+(1+(1+(1+" \
	  "(1+(1+(1+(1+1)))))))))))))))); }", "1:62") \
	C(TOO_LARGE, "BEGIN { tracemem(1,4000); tracemem(1,4000);" \
	  "tracemem(1,4000); tracemem(1,4000); tracemem(1,4000);" \
	  "tracemem(1,4000); tracemem(1,4000); tracemem(1,4000);" \
	  "tracemem(1,4000); tracemem(1,4000); tracemem(1,4000);" \
	  "tracemem(1,4000); tracemem(1,4000); tracemem(1,4000);" \
	  "tracemem(1,4000); tracemem(1,4000); tracemem(1,4000); }", "1:1")

#define C(tag, text, at) \
	START_TEST(tag_##tag) \
	{ \
		is_wrong(text, at, #tag); \
	} \
	END_TEST
CASES(C)
#undef C
/* clang-format on */

START_TEST(every_tag_has_a_test)
{
	static const bool has[SCRIPT_TAG_MAX] = {
#define C(tag, text, at) [SCRIPT_##tag] = true,
	    CASES(C)
#undef C
	};

	for (unsigned i = 0; i < SCRIPT_TAG_MAX; i++)
		if (!has[i])
			ck_abort_msg("%s", script_tag_name(i));
}
END_TEST

START_TEST(the_one_liners_are_right)
{
	is_right("pid$target:libc:malloc:entry { @ = quantize(arg0); }");
	is_right("pid$target:a.out:parse*:entry { @[probefunc] = count(); }");
	is_right("pid$target::fsync:entry { self->t = timestamp; } "
		 "pid$target::fsync:return /self->t/ { @[\"ns\"] = "
		 "quantize(timestamp - self->t); self->t = 0; }");
	is_right("pid$target:libc:open*:return /(int)arg1 < 0/ "
		 "{ printf(\"%s errno %d\\n\", self->p, errno); } "
		 "pid$target:libc:open*:entry { self->p = copyinstr(arg0); }");
	is_right("pid$target:libc:free:entry { @[ustack(8)] = count(); } "
		 "END { trunc(@, 10); }");
	is_right("pid$target:a.out::entry, pid$target:a.out::return "
		 "/self->in/ {} pid$target:a.out:handle:entry "
		 "{ self->in = 1; } pid$target:a.out:handle:return "
		 "{ self->in = 0; }");
	is_right("pid$target:a.out:hot:1f { @[uregs[R_RAX]] = "
		 "lquantize(uregs[R_RCX], 0, 100, 10); }");
	is_right("pid$target::pthread_mutex_lock:entry { self->t = timestamp; "
		 "self->m = arg0; } pid$target::pthread_mutex_lock:return "
		 "/self->t/ { @[self->m, ustack(4)] = sum(timestamp - "
		 "self->t); self->t = 0; }");
	is_right("pid$target::req_begin:entry { self->s = speculation(); "
		 "speculate(self->s); trace(arg0); } "
		 "pid$target::req_end:return /arg1 != 0/ { commit(self->s); } "
		 "pid$target::req_end:return /arg1 == 0/ "
		 "{ discard(self->s); }");
	is_right("usdt$target:postgresql::query-start "
		 "{ printf(\"%Y %s\\n\", walltimestamp, copyinstr(arg0)); }");
	is_right("pid$target:a.out::entry { trace(timestamp); }");
	is_right("pid$target:libc:mem*:entry");
}
END_TEST

START_TEST(a_division_does_not_end_a_predicate)
{
	is_right("BEGIN /arg0 / 2 > 1 / { trace(4 / 2) }");
	is_right("BEGIN /arg0/");
}
END_TEST

START_TEST(several_mistakes_are_told_in_their_order)
{
	struct script *s = compile("BEGIN { x = a; }\nEND { trace(; }\n"
				   "ERROR { y = b; if (c) { z = 1; } }\n");
	const struct script_mistake *m;
	size_t n;

	m = script_mistakes(s, &n);
	ck_assert_uint_eq(n, 4);
	ck_assert_uint_eq(m[0].line, 1);
	ck_assert_int_eq(m[1].tag, SCRIPT_SYNTAX);
	ck_assert_uint_eq(m[2].line, 3);
	ck_assert_uint_eq(m[3].column, 20);
	script_free(s);
}
END_TEST

START_TEST(probes_are_described_from_the_right)
{
	struct script *s = compile("malloc:entry, tick-10ms, profile-97hz, "
				   "pid$target:libc.so.6::$2 { }");
	const struct probe_program *p = script_program(s);
	const struct probe_description *d;
	const char *t;

	ck_assert_ptr_nonnull(p);
	d = probe_descriptions(p);
	t = probe_texts(p);
	ck_assert_uint_eq(probe_clauses(p)[0].n_descriptions, 4);
	ck_assert_str_eq(t + d[0].provider, "");
	ck_assert_str_eq(t + d[0].function, "malloc");
	ck_assert_str_eq(t + d[0].name, "entry");
	ck_assert_uint_eq(d[1].when, PROBE_AT_TICK);
	ck_assert_uint_eq(d[1].period_ns, 10000000);
	ck_assert_uint_eq(d[2].when, PROBE_AT_PROFILE);
	ck_assert_uint_eq(d[2].period_ns, 1000000000 / 97);
	ck_assert_str_eq(t + d[3].provider, "pid42");
	ck_assert_str_eq(t + d[3].module, "libc.so.6");
	ck_assert_str_eq(t + d[3].function, "");
	ck_assert_str_eq(t + d[3].name, "name");
	script_free(s);
}
END_TEST

START_TEST(rates_have_limits)
{
	is_wrong("tick-0 { }", "1:1", "PERIOD");
	is_wrong("tick-1000000000d { }", "1:1", "PERIOD");
	is_wrong("profile-0 { }", "1:1", "PERIOD");
	is_wrong("profile-x { }", "1:1", "PERIOD");
	is_wrong("profile-49us { }", "1:1", "PERIOD");
	is_wrong("BEGIN {} profile-20001 { }", "1:10", "PERIOD");
	is_right("tick-1ns, tick-100000d, profile-50us, profile-20000 { }");
	is_right("profile:::profile-1d, profile-97 { @[ustack()] = count(); }");
}
END_TEST

START_TEST(options_stand_in_the_script)
{
	struct script *s = compile("#!/usr/bin/hark probe -s\n"
				   "#pragma D option quiet\n"
				   "#pragma D option bufsize=4m\n"
				   "BEGIN { exit(0) }");
	const struct script_option *o;
	size_t n;

	o = script_options(s, &n);
	ck_assert_ptr_nonnull(script_program(s));
	ck_assert_uint_eq(n, 2);
	ck_assert_str_eq(o[0].name, "quiet");
	ck_assert_ptr_null(o[0].value);
	ck_assert_str_eq(o[1].name, "bufsize");
	ck_assert_str_eq(o[1].value, "4m");
	script_free(s);
}
END_TEST

START_TEST(hot_clauses_are_marked)
{
	static const struct {
		const char *text;
		unsigned hot, source, number;
	} cases[] = {
	    {"a { @ = count(); }", PROBE_HOT_COUNT, PROBE_FROM_NOTHING, 0},
	    {"a { @[tid] = count(); }", PROBE_HOT_COUNT_KEYED,
	     PROBE_FROM_BUILTIN, PROBE_BUILTIN_TID},
	    {"a { @[arg3] = count(); }", PROBE_HOT_COUNT_KEYED, PROBE_FROM_ARG,
	     3},
	    {"a { @ = quantize(arg1); }", PROBE_HOT_QUANTIZE, PROBE_FROM_ARG,
	     1},
	    {"a /arg0/ { @ = count(); }", PROBE_NOT_HOT, 0, 0},
	    {"a { @[tid, pid] = count(); }", PROBE_NOT_HOT, 0, 0},
	    {"a { @ = quantize(arg1 + 1); }", PROBE_NOT_HOT, 0, 0},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct script *s = compile(cases[i].text);
		const struct probe_clause *c = probe_clauses(script_program(s));

		ck_assert_uint_eq(c->hot, cases[i].hot);
		ck_assert_uint_eq(c->hot_source, cases[i].source);
		ck_assert_uint_eq(c->hot_number, cases[i].number);
		script_free(s);
	}
}
END_TEST

/* Short chains, each in the last link of the one before. */
START_TEST(high_trees_are_refused)
{
	static char text[40000];
	size_t n = (size_t)snprintf(text, sizeof text, "BEGIN { x = ");

	for (unsigned i = 0; i < 80; i++) {
		memset(text + n, '(', 1);
		n++;
	}
	for (unsigned i = 0; i < 80; i++)
		for (unsigned k = 0; k < 90; k++)
			n += (size_t)snprintf(text + n, sizeof text - n, "%s",
					      k == 0 ? i == 0 ? "1" : ")"
						     : "+1");
	snprintf(text + n, sizeof text - n, "); }");
	ck_assert_ptr_nonnull(strstr(first(text), "less deep"));
}
END_TEST

START_TEST(deep_nesting_ends)
{
	static char text[20000];
	size_t n = 0;

	n = (size_t)snprintf(text, sizeof text, "BEGIN { x = ");
	memset(text + n, '(', 9000);
	ck_assert_ptr_nonnull(strstr(first(text), "[SYNTAX]"));
	memset(text + n, '-', 9000);
	ck_assert_ptr_nonnull(strstr(first(text), "[SYNTAX]"));
	n = (size_t)snprintf(text, sizeof text, "BEGIN { ");
	while (n < 9000)
		n += (size_t)snprintf(text + n, sizeof text - n, "if (1) ");
	ck_assert_ptr_nonnull(strstr(first(text), "[SYNTAX]"));
}
END_TEST

/* A script without memory is no script; and nothing else happens. */
START_TEST(a_step_declares_a_number)
{
	is_right(
	    "BEGIN { x++; --self->y; a[1, \"k\"]++; trace(x + a[2, \"\"]); "
	    "} END /self->y/ { x += 2; }");
	is_wrong("BEGIN { arg0++; }", "1:13", "READ_ONLY");
	is_wrong("BEGIN { x = \"t\"; x++; }", "1:19", "OP_TYPE");
}
END_TEST

START_TEST(every_allocation_may_fail)
{
	static const char *const texts[] = {
	    "#pragma D option quiet\nint x; self string y[int];\n"
	    "BEGIN /x/ { self->y[1] = strjoin(\"a\" \"b\", execname); "
	    "@a[x, ustack()] = quantize(arg0); if (x) { printf(\"%d %s\", "
	    "0x123456789abc, self->y[2]); } } END { printa(@a); }",
	    "BEGIN { x = y; @[1] = 2; trace(; }",
	};

	for (unsigned i = 0; i < 2; i++) {
		struct script_settings settings = {0};
		struct hark_err err = {0};
		struct script *s = NULL;
		long k = 1;

		for (; s == NULL; k++) {
			faults_set(k);
			s = script_compile(texts[i], strlen(texts[i]),
					   &settings, &err);
			faults_set(0);
			if (s == NULL)
				ck_assert_int_eq(err.code, HARK_ENOMEM);
			ck_assert_int_lt(k, 10000);
		}
		ck_assert_int_gt(k, 4);
		script_free(s);
	}
}
END_TEST

Suite *script_compile_suite(void)
{
	Suite *s = suite_create("probe_script");
	TCase *t = tcase_create("script");

#define C(tag, text, at) tcase_add_test(t, tag_##tag);
	CASES(C)
#undef C
	tcase_add_test(t, every_tag_has_a_test);
	tcase_add_test(t, a_step_declares_a_number);
	tcase_add_test(t, the_one_liners_are_right);
	tcase_add_test(t, a_division_does_not_end_a_predicate);
	tcase_add_test(t, several_mistakes_are_told_in_their_order);
	tcase_add_test(t, probes_are_described_from_the_right);
	tcase_add_test(t, rates_have_limits);
	tcase_add_test(t, options_stand_in_the_script);
	tcase_add_test(t, hot_clauses_are_marked);
	tcase_add_test(t, high_trees_are_refused);
	tcase_add_test(t, deep_nesting_ends);
	tcase_add_test(t, every_allocation_may_fail);
	suite_add_tcase(s, t);
	return s;
}
