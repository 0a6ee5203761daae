/* tests/unit/probe_library_test.c - a whole library probed at once.
 *
 * Every entry and every return of libsqlite3 gets its patch, in this process,
 * and then it works: its answers must be right, the functions that this test
 * calls must be counted exactly, and as many functions must have been left as
 * were entered. */
#include "native/trampoline.h"
#include "site/listing.h"

#include <check.h>
#include <dlfcn.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096, ENTRY = 1, RETURN = 2, CALLS = 5 };

static struct listing *list;
enum { PATCHES = 16384 };

/* Neither from malloc, which might put them where patches will lead, nor
 * static: the leak checker reads all that is, after each test of any suite. */
static struct trampoline *built; /* one a patch */
static const struct patch *patches[PATCHES];
static uint64_t code_at[PATCHES], cookies[PATCHES][TRAMPOLINE_INSNS];
static unsigned taken[PATCHES]; /* bit k: only if instruction k jumps */
static size_t n_patches;
static uint64_t bias;
static volatile uint64_t entered, left, execs, traps;
static uint64_t exec_at;

static void handler(struct probe_frame *f, uint64_t cookie)
{
	entered += cookie & ENTRY;
	left += cookie >> 1 & 1;
	execs += f->pc == exec_at;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	uint64_t pc = (uint64_t)u->uc_mcontext.gregs[REG_RIP];

	(void)info;
	pc -= bias + (sig == SIGTRAP);
	traps++;
	for (size_t i = 0; i < n_patches; i++)
		for (unsigned k = 0; k < patches[i]->n; k++)
			if (patches[i]->at + patches[i]->off[k] == pc) {
				pc = code_at[i] + built[i].resume[k];
				u->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
				return;
			}
	signal(sig, SIG_DFL);
}

static void map_at(uint64_t lo, uint64_t len)
{
	for (uint64_t p = lo & -(uint64_t)PAGE; p < lo + len; p += PAGE)
		(void)mmap((void *)(uintptr_t)p, PAGE,
			   PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			   -1, 0);
}

static void build(size_t i)
{
	const struct patch *p = patches[i];
	uint64_t at = p->code, len = FORM_TRAMPOLINE;
	uint8_t *to = (uint8_t *)(uintptr_t)at;
	struct x86_buf out;
	struct trampoline_want w = {
	    .bytes = (const uint8_t *)(uintptr_t)(p->at + bias),
	    .at = p->at + bias,
	    .window = p->window,
	    .n = p->n,
	    .off = p->off,
	    .probed = p->probed,
	    .handler = (uint64_t)(uintptr_t)handler};

	ck_assert_uint_ne(0, at);
	len *= (uint64_t)__builtin_popcount(p->probed);
	for (unsigned k = 0; k < p->n; k++)
		w.flags[k] = TRAMPOLINE_STATUS;
	memcpy(w.cookie, cookies[i], sizeof w.cookie);
	w.taken = taken[i];
	map_at(at, len);
	out = (struct x86_buf){to, to, to + len, at, 0};
	ck_assert_int_eq(X86_MOVE_OK, trampoline_build(&w, &out, &built[i]));
	code_at[i] = at;
	if (p->entry == 0 || p->entry == p->code)
		return;
	map_at(p->entry, FORM_SLOT);
	to = (uint8_t *)(uintptr_t)p->entry;
	out = (struct x86_buf){to, to, to + FORM_SLOT, p->entry, 0};
	emit_jmp_far(&out, at);
	ck_assert_int_eq(0, out.bad);
}

static int by_pointer(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t) * (const struct patch *const *)a;
	uintptr_t y = (uintptr_t) * (const struct patch *const *)b;

	return (x > y) - (x < y);
}

static void map_built(void)
{
	built = mmap((void *)0x200000000000, PATCHES * sizeof *built,
		     PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	ck_assert_ptr_ne(MAP_FAILED, built);
}

static void collect(void)
{
	size_t n = listing_count(list), kept = 0;
	struct probe p;

	ck_assert_uint_le(n, PATCHES);
	map_built();
	for (size_t i = 0; i < n; i++) {
		listing_get(list, i, &p);
		ck_assert_ptr_nonnull(p.patch);
		patches[n_patches++] = p.patch;
	}
	qsort(patches, n_patches, sizeof *patches, by_pointer);
	for (size_t i = 0; i < n_patches; i++)
		if (i == 0 || patches[i] != patches[i - 1])
			patches[kept++] = patches[i];
	n_patches = kept;
	for (size_t i = 0; i < n; i++) {
		const struct patch **at;

		listing_get(list, i, &p);
		at = bsearch(&p.patch, patches, n_patches, sizeof *patches,
			     by_pointer);
		cookies[at - patches][p.insn] |=
		    p.kind == SITE_ENTRY ? ENTRY : RETURN;
		if (p.kind == SITE_TAKEN)
			taken[at - patches] |= 1u << p.insn;
	}
}

static void put_bytes(int on)
{
	for (size_t i = 0; i < n_patches; i++) {
		const struct patch *p = patches[i];

		memcpy((void *)(uintptr_t)(p->at + bias),
		       on ? p->bytes : p->old, p->len);
		if (p->hop != 0)
			memcpy((void *)(uintptr_t)(p->hop + bias),
			       on ? p->hop_bytes : p->hop_old, FORM_LEN);
	}
}

static void make_writable(const struct module *m)
{
	for (size_t i = 0; i < m->n_ranges; i++)
		ck_assert_int_eq(0,
				 mprotect((void *)(uintptr_t)m->ranges[i].start,
					  m->ranges[i].end - m->ranges[i].start,
					  PROT_READ | PROT_WRITE | PROT_EXEC));
}

/* -- The library at work -- */

static int (*do_open)(const char *, void **);
static int (*do_exec)(void *, const char *,
		      int (*)(void *, int, char **, char **), void *, char **);
static int (*do_close)(void *);

static int take(void *ctx, int n, char **values, char **names)
{
	char *out = ctx;

	(void)names;
	if (n == 1 && values[0] != NULL && strlen(out) < 200)
		strcat(strcat(out, values[0]), ";");
	return 0;
}

static void work(char *out)
{
	static const char *const statements[CALLS] = {
	    "create table t(a integer primary key, b text)",
	    "with recursive n(i) as (select 1 union all select i + 1 from n "
	    "where i < 300) insert into t select i, hex(i * i) from n",
	    "create index x on t(b)",
	    "select count(*) from t where b like '3%' order by b",
	    "select sum(length(b)) || group_concat(distinct substr(b, 1, 1)) "
	    "from t where a % 7 = 3"};
	void *db;

	out[0] = '\0';
	ck_assert_int_eq(0, do_open(":memory:", &db));
	for (unsigned i = 0; i < CALLS; i++)
		ck_assert_int_eq(0,
				 do_exec(db, statements[i], take, out, NULL));
	ck_assert_int_eq(0, do_close(db));
}

static void load(void)
{
	void *lib = dlopen("libsqlite3.so.0", RTLD_NOW);

	ck_assert_ptr_nonnull(lib);
	*(void **)&do_open = dlsym(lib, "sqlite3_open");
	*(void **)&do_exec = dlsym(lib, "sqlite3_exec");
	*(void **)&do_close = dlsym(lib, "sqlite3_close");
	exec_at = (uint64_t)(uintptr_t)do_exec;
}

START_TEST(every_entry_and_return_of_a_library_at_once)
{
	struct sigaction a = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	char home[256], probed[256];
	struct hark_err err = {0};
	struct description d = {
	    .module = "libsqlite3", .function = "", .name = ""};
	struct modules *m;
	struct image *im;
	struct probe p;

	/* Memory of our own must not come to lie where patches will lead. */
	(void)mallopt(M_MMAP_MAX, 0);
	load();
	work(home);
	ck_assert_int_eq(0, image_new(&im, &err));
	ck_assert_int_eq(0, modules_of_pid(im, getpid(), &m, &err));
	ck_assert_int_eq(0, listing_new(m, getpid(), &list, &err));

	ck_assert_msg(listing_add(list, &d, NULL, NULL, &err) == 0, "%s",
		      err.text);
	ck_assert_msg(listing_make(list, &err) == 0, "%s", err.text);
	listing_get(list, 0, &p);
	bias = p.module->bias;
	collect();
	for (size_t i = 0; i < n_patches; i++)
		build(i);
	sigaction(SIGTRAP, &a, NULL);
	sigaction(SIGILL, &a, NULL);
	make_writable(p.module);
	put_bytes(1);
	work(probed);
	put_bytes(0);
	ck_assert_str_eq(home, probed);
	ck_assert_uint_ge(execs, CALLS);
	ck_assert_uint_gt(entered, 10000);
	ck_assert_uint_eq(entered, left);
	ck_assert_uint_lt(traps, (entered + left) / 20);
	work(probed);
	ck_assert_str_eq(home, probed);
	listing_free(list);
	modules_free(m);
	image_free(im);
}
END_TEST

Suite *probe_library_suite(void)
{
	Suite *s = suite_create("probe_library");
	TCase *t = tcase_create("library");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, every_entry_and_return_of_a_library_at_once);
	suite_add_tcase(s, t);
	return s;
}
