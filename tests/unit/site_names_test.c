/* tests/unit/site_names_test.c - descriptions, surveys of tricky code, and
 * what share of real libraries takes a jump. */
#include "site/listing.h"
#include "site/space.h"

#include <check.h>
#include <string.h>
#include <unistd.h>

/* Four parts, with bars between them. */
static int describe(const char *text, struct description *out,
		    struct hark_err *err)
{
	static char parts[4][64];
	const char *part[4];

	for (unsigned i = 0; i < 4; i++) {
		size_t len = strcspn(text, ":");

		memcpy(parts[i], text, len);
		parts[i][len] = '\0';
		part[i] = parts[i];
		text += len + (text[len] == ':');
	}
	return description_of(part, 4711, out, err);
}

static void provider_is(const char *word, int provider)
{
	struct hark_err err;
	struct description d;

	ck_assert_int_eq(0, describe(word, &d, &err));
	ck_assert_int_eq(provider, d.provider);
	ck_assert_str_eq("libc", d.module);
	ck_assert_str_eq("free", d.function);
	ck_assert_str_eq("entry", d.name);
}

START_TEST(a_provider_is_a_word_and_the_process)
{
	provider_is("pid4711:libc:free:entry", PROVIDER_PID);
	provider_is("pid:libc:free:entry", PROVIDER_PID);
	provider_is("pid*:libc:free:entry", PROVIDER_PID);
	provider_is(":libc:free:entry", PROVIDER_PID);
	provider_is("plt4711:libc:free:entry", PROVIDER_PLT);
	provider_is("usdt4711:libc:free:entry", PROVIDER_USDT);
	provider_is("usdt*:libc:free:entry", PROVIDER_USDT);
}
END_TEST

static void is_refused(const char *text, const char *why)
{
	struct hark_err err;
	struct description d;

	ck_assert_int_eq(-1, describe(text, &d, &err));
	ck_assert_str_eq(why, err.text);
}

START_TEST(bad_providers_are_refused)
{
	is_refused("syscall:a:b:c",
		   "unknown provider 'syscall': there are pid$target, "
		   "plt$target and usdt$target");
	is_refused("pids:a:b:c",
		   "unknown provider 'pids': there are pid$target, "
		   "plt$target and usdt$target");
	is_refused("pid12x:a:b:c",
		   "unknown provider 'pid12x': there are pid$target, "
		   "plt$target and usdt$target");
	is_refused("pid4712:a:b:c",
		   "process 4712 is not the one that is probed: write $target "
		   "for its number");
}
END_TEST

/* A function of these bytes, at 0x1000. */
static struct survey *survey_code(const uint8_t *code, size_t len)
{
	struct hark_err err;
	struct survey *s;

	ck_assert_int_eq(0, survey_of_bytes(code, 0x1000, len, &s, &err));
	ck_assert_int_eq(0, survey_function(s, 0x1000, 0x1000 + len, &err));
	return s;
}

/* What an lea at 0x1000 names is at `at`, and is data to the end. */
static void is_data(const uint8_t *code, size_t len, uint64_t at)
{
	struct survey *s = survey_code(code, len);

	ck_assert(survey_at(s, 0x1007) & SURVEY_START);
	ck_assert(survey_at(s, at) & SURVEY_DATA);
	for (uint64_t a = at; a < 0x1000 + len; a++)
		ck_assert(!(survey_at(s, a) & SURVEY_START));
	ck_assert_str_eq("no instruction is known to start there",
			 form_refusal(s, at));
	survey_free(s);
}

START_TEST(data_in_the_text_is_no_code)
{
	/* lea rax, [rip+4]; mov eax, [rax]; jmp *rdx; what looks like code */
	static const uint8_t read[] = {0x48, 0x8d, 0x05, 0x04, 0,
				       0,    0,	   0x8b, 0x00, 0xff,
				       0xe2, 0xc3, 0xc3, 0xc3};
	/* lea rax, [rip+5]; add rax, rdx; jmp *rax: a sum is no label */
	static const uint8_t sum[] = {0x48, 0x8d, 0x05, 0x05, 0,
				      0,    0,	  0x48, 0x01, 0xd0,
				      0xff, 0xe0, 0xc3, 0xc3, 0xc3};
	/* lea rax, [rip+5]; mov [rsp], rax; ret: who knows */
	static const uint8_t kept[] = {0x48, 0x8d, 0x05, 0x05, 0,
				       0,    0,	   0x48, 0x89, 0x04,
				       0x24, 0xc3, 0xc3, 0xc3, 0xc3};
	/* lea rax, [rip+2]; jmp *rax; and no instruction */
	static const uint8_t wrong[] = {0x48, 0x8d, 0x05, 0x02, 0,    0,   0,
					0xff, 0xe0, 0x90, 0x06, 0xc3, 0xc3};
	/* lea rax, [rip+2]; jmp *rax; and half of one */
	static const uint8_t half[] = {0x48, 0x8d, 0x05, 0x02, 0,    0,	  0,
				       0xff, 0xe0, 0x90, 0xb8, 0xc3, 0xc3};

	is_data(read, sizeof read, 0x100b);
	is_data(sum, sizeof sum, 0x100c);
	is_data(kept, sizeof kept, 0x100c);
	is_data(wrong, sizeof wrong, 0x1009);
	is_data(half, sizeof half, 0x1009);
}
END_TEST

START_TEST(what_is_jumped_to_through_a_register_is_code)
{
	/* lea rax, [rip+5]; nop; jmp *rax; ud2; 0x100c: nop; ret */
	static const uint8_t code[] = {0x48, 0x8d, 0x05, 0x05, 0,
				       0,    0,	   0x90, 0xff, 0xe0,
				       0x0f, 0x0b, 0x90, 0xc3};
	struct survey *s = survey_code(code, sizeof code);

	ck_assert_int_eq(SURVEY_START | SURVEY_TARGET | SURVEY_INSIDE,
			 survey_at(s, 0x100c));
	ck_assert_int_eq(SURVEY_START | SURVEY_INSIDE, survey_at(s, 0x100d));
	ck_assert_ptr_null(form_refusal(s, 0x100c));
	survey_free(s);
}
END_TEST

START_TEST(into_an_instruction_no_lea_leads)
{
	/* lea rax, [rip-6]; jmp *rax: to the 05 of the lea itself */
	static const uint8_t code[] = {0x48, 0x8d, 0x05, 0xfa, 0xff,
				       0xff, 0xff, 0xff, 0xe0};
	struct survey *s = survey_code(code, sizeof code);

	ck_assert(!(survey_at(s, 0x1001) & SURVEY_START));
	ck_assert(survey_at(s, 0x1001) & SURVEY_DATA);
	survey_free(s);
}
END_TEST

START_TEST(an_instruction_whose_address_is_known_is_a_target)
{
	/* lea rax, [rip+1]; nop; nop; ret */
	static const uint8_t code[] = {0x48, 0x8d, 0x05, 0x01, 0,
				       0,    0,	   0x90, 0x90, 0xc3};
	struct survey *s = survey_code(code, sizeof code);

	ck_assert(survey_at(s, 0x1008) & SURVEY_START);
	ck_assert(survey_at(s, 0x1008) & SURVEY_TARGET);
	ck_assert(!(survey_at(s, 0x1007) & SURVEY_TARGET));
	survey_free(s);
}
END_TEST

START_TEST(what_is_behind_a_prefix_is_part_of_it)
{
	/* je +1; lock inc dword [rdi]; ret: the jump leads behind the lock */
	static const uint8_t code[] = {0x74, 0x01, 0xf0, 0xff, 0x07, 0xc3};
	struct survey *s = survey_code(code, sizeof code);

	ck_assert(survey_at(s, 0x1002) & SURVEY_START);
	ck_assert(survey_at(s, 0x1003) & SURVEY_START);
	ck_assert_ptr_null(form_refusal(s, 0x1002));
	ck_assert_str_eq("it is a part of another instruction",
			 form_refusal(s, 0x1003));
	survey_free(s);
}
END_TEST

/* A table that is followed by something like it. */
static size_t read_table(void *ctx, uint64_t addr, void *out, size_t len)
{
	static const int32_t entries[] = {-0xff1, -0xff0};

	(void)ctx;
	if (addr < 0x2000 || addr + len > 0x2000 + sizeof entries)
		return 0;
	memcpy(out, (const char *)entries + (addr - 0x2000), len);
	return len;
}

START_TEST(beyond_a_jump_table_nothing_is_believed)
{
	/* lea rax, [rip+0xff9] (0x2000); add rax, rdx; jmp *rax; nop x 3;
	 * mov eax, 0x01020304; ret: entries lead to it, and to its middle */
	static const uint8_t code[] = {
	    0x48, 0x8d, 0x05, 0xf9, 0x0f, 0, 0, 0x48, 0x01, 0xd0, 0xff,
	    0xe0, 0x90, 0x90, 0x90, 0xb8, 4, 3, 2,    1,    0xc3};
	struct hark_err err;
	struct survey *s;

	ck_assert_int_eq(0,
			 survey_of_bytes(code, 0x1000, sizeof code, &s, &err));
	s->read = read_table;
	ck_assert_int_eq(
	    0, survey_function(s, 0x1000, 0x1000 + sizeof code, &err));
	ck_assert(survey_at(s, 0x100f) & SURVEY_START);
	ck_assert(survey_at(s, 0x100f) & SURVEY_TARGET);
	ck_assert(survey_at(s, 0x1010) & SURVEY_TARGET);
	ck_assert(!(survey_at(s, 0x1010) & SURVEY_START));
	survey_free(s);
}
END_TEST

static const struct site *expected;
static unsigned met;

static int meet(void *ctx, const struct site *s)
{
	(void)ctx;
	ck_assert_uint_eq(expected[met].addr, s->addr);
	ck_assert_int_eq(expected[met].kind, s->kind);
	met++;
	return 0;
}

START_TEST(returns_and_jumps_away_are_ends)
{
	/* endbr64; je other; jmp *rax; add rax, rdx; jmp *rax; ret
	 * other: ret */
	static const uint8_t code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x74,
				       0x08, 0xff, 0xe0, 0x48, 0x01,
				       0xd0, 0xff, 0xe0, 0xc3, 0xc3};
	static const struct site want[] = {
	    {0x1004, SITE_TAKEN}, {0x1006, SITE_JUMP}, {0x100d, SITE_RETURN}};
	struct hark_err err;
	struct survey *s;
	struct body b;

	ck_assert_int_eq(0,
			 survey_of_bytes(code, 0x1000, sizeof code, &s, &err));
	ck_assert_int_eq(0, survey_function(s, 0x100e, 0x100f, &err));
	ck_assert_int_eq(0, survey_function(s, 0x1000, 0x100e, &err));
	b = (struct body){.survey = s, .start = 0x1000, .end = 0x100e};
	ck_assert_uint_eq(0x1004, body_entry(&b));
	expected = want;
	met = 0;
	ck_assert_int_eq(0, body_ends(&b, meet, NULL));
	ck_assert_uint_eq(3, met);
	survey_free(s);
}
END_TEST

START_TEST(gaps_keep_a_distance_from_what_grows)
{
	static const char maps[] =
	    "555555554000-555555556000 r-xp 00000000 08:01 1 /bin/a\n"
	    "555555700000-555555800000 rw-p 00000000 00:00 0 [heap]\n"
	    "7ffff7dd0000-7ffff7df0000 r-xp 00000000 08:01 2 /lib/b\n";
	struct room_want w = {.next = 0x555555556000, .len = 16};
	struct hark_err err;
	struct room *r;
	uint64_t at = 0;

	ck_assert_int_eq(0, room_new(&r, &err));
	ck_assert_int_eq(0,
			 space_of_maps(maps, &(struct space_own){0}, r, &err));
	ck_assert(room_take(r, &w, &at, &err));
	ck_assert(at < 0x555555554000 - (1 << 23) ||
		  at >= 0x555555800000 + (1 << 26));
	/* One byte fixed: -0x34 << 24. */
	w.kind[3] = ROOM_FIXED;
	w.value[3] = 0xcc;
	ck_assert(room_take(r, &w, &at, &err));
	ck_assert_uint_eq(0xcc, (at - w.next) >> 24 & 0xff);
	room_free(r);
}
END_TEST

/* Branches whose addresses have the lowest 24 bits in common are one branch
 * for some processors: code that is jumped to from 16 MiB away, or a multiple
 * of it, must not look like what surrounds the jump. */
static bool looks_alike(uint64_t a, uint64_t b)
{
	uint64_t apart = (a - b) & 0xffffff;

	return apart < 4096 || apart > (1 << 24) - 4096;
}

START_TEST(code_does_not_look_like_what_jumps_to_it)
{
	/* The instruction behind starts at the jump's byte 1, 2, 3 or 4. */
	for (unsigned traps = 1; traps < 16; traps++) {
		struct room_want w = {.next = 0x555555555475, .len = 768};
		struct hark_err err;
		struct room *r;
		uint64_t at = 0;

		for (unsigned k = 0; k < 4; k++)
			w.kind[k] = traps >> k & 1 ? ROOM_TRAP : ROOM_ANY;
		ck_assert_int_eq(0, room_new(&r, &err));
		ck_assert_int_eq(
		    0, room_add(r, 0x555000000000, 0x555555000000, &err));
		ck_assert_int_eq(
		    0, room_add(r, 0x555557000000, 0x555600000000, &err));
		for (unsigned n = 0; n < 20; n++) {
			ck_assert(room_take(r, &w, &at, &err));
			ck_assert_msg(!looks_alike(at, w.next), "traps %x: %lx",
				      traps, (unsigned long)(at - w.next));
		}
		room_free(r);
	}
}
END_TEST

/* -- Real libraries -- */

static double share_of(struct modules *m, const char *what)
{
	size_t jumps = 0, all;
	struct hark_err err = {0};
	struct description d;
	struct listing *l;
	struct probe p;

	ck_assert_int_eq(0, describe(what, &d, &err));
	ck_assert_int_eq(0, listing_new(m, getpid(), &l, &err));
	ck_assert_msg(listing_add(l, &d, NULL, NULL, &err) == 0, "%s",
		      err.text);
	ck_assert_msg(listing_make(l, &err) == 0, "%s", err.text);
	all = listing_count(l);
	for (size_t i = 0; i < all; i++) {
		listing_get(l, i, &p);
		jumps += p.patch != NULL && p.patch->form != FORM_T;
	}
	listing_free(l);
	return (double)jumps / (double)all;
}

START_TEST(nearly_all_of_a_library_takes_a_jump)
{
	struct hark_err err = {0};
	struct image *im;
	struct modules *m;

	ck_assert_int_eq(0, image_new(&im, &err));
	ck_assert_int_eq(0, modules_of_pid(im, getpid(), &m, &err));
	ck_assert_double_ge(share_of(m, ":libc:*:entry"), 0.97);
	ck_assert_double_ge(share_of(m, ":libc:*:return"), 0.97);
	modules_free(m);
	image_free(im);
}
END_TEST

Suite *site_names_suite(void)
{
	Suite *s = suite_create("site_names");
	TCase *t = tcase_create("names");

	tcase_add_test(t, a_provider_is_a_word_and_the_process);
	tcase_add_test(t, bad_providers_are_refused);
	tcase_add_test(t, data_in_the_text_is_no_code);
	tcase_add_test(t, what_is_jumped_to_through_a_register_is_code);
	tcase_add_test(t, into_an_instruction_no_lea_leads);
	tcase_add_test(t, an_instruction_whose_address_is_known_is_a_target);
	tcase_add_test(t, what_is_behind_a_prefix_is_part_of_it);
	tcase_add_test(t, beyond_a_jump_table_nothing_is_believed);
	tcase_add_test(t, returns_and_jumps_away_are_ends);
	tcase_add_test(t, gaps_keep_a_distance_from_what_grows);
	tcase_add_test(t, code_does_not_look_like_what_jumps_to_it);
	tcase_add_test(t, nearly_all_of_a_library_takes_a_jump);
	suite_add_tcase(s, t);
	return s;
}
