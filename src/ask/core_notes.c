/* ask/core_notes.c - threads, signals and files, as a core file has them.
 *
 * In the kernel's order: the thread that is looked at comes first, and with
 * it what is of the whole process. Debuggers take the first one for the one
 * that died. */
#include "ask/core_priv.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/user.h>

enum { NOTE_FILE = 0x46494c45, NOTE_SIGINFO = 0x53494749 };
enum { NOTE_HARK = 1 };
enum { FX_LEN = 512, XCR0_AT = 464, XSTATE_BV_AT = 512, XSAVE_MIN = 576 };
enum { AVX_END = 832, AVX512_END = 2688, FILES_MAX = 65536 };
enum { AUXV_MAX = 64, WORDS_MAX = 1 << 20 };

/* -- Making notes -- */

static void put(struct core_notes *n, const void *bytes, size_t len)
{
	if (n->failed)
		return;
	if (n->len + len > n->room) {
		size_t room = n->room * 2 + len + 4096;
		uint8_t *more = realloc(n->at, room);

		if (more == NULL) {
			n->failed = true;
			return;
		}
		n->at = more;
		n->room = room;
	}
	if (bytes != NULL)
		memcpy(n->at + n->len, bytes, len);
	else
		memset(n->at + n->len, 0, len);
	n->len += len;
}

static void note(struct core_notes *n, const char *name, uint32_t type,
		 const void *bytes, size_t len)
{
	Elf64_Nhdr h = {.n_namesz = (Elf64_Word)strlen(name) + 1,
			.n_descsz = (Elf64_Word)len,
			.n_type = type};

	put(n, &h, sizeof h);
	put(n, name, h.n_namesz);
	put(n, NULL, -h.n_namesz % 4);
	put(n, bytes, len);
	put(n, NULL, -(Elf64_Word)len % 4);
}

/* -- A thread -- */

static void set_registers(const struct hark_registers *r,
			  struct user_regs_struct *out)
{
	*out = (struct user_regs_struct){.rax = r->gpr[0],
					 .rcx = r->gpr[1],
					 .rdx = r->gpr[2],
					 .rbx = r->gpr[3],
					 .rsp = r->gpr[4],
					 .rbp = r->gpr[5],
					 .rsi = r->gpr[6],
					 .rdi = r->gpr[7],
					 .r8 = r->gpr[8],
					 .r9 = r->gpr[9],
					 .r10 = r->gpr[10],
					 .r11 = r->gpr[11],
					 .r12 = r->gpr[12],
					 .r13 = r->gpr[13],
					 .r14 = r->gpr[14],
					 .r15 = r->gpr[15],
					 .rip = r->rip,
					 .eflags = r->rflags,
					 .orig_rax = UINT64_MAX,
					 .cs = 0x33,
					 .ss = 0x2b,
					 .fs_base = r->fs_base,
					 .gs_base = r->gs_base};
}

/* Components that are in their initial state are not in the area. */
static void set_initial(struct hark_registers *r)
{
	uint16_t fcw = 0x37f;
	uint32_t mxcsr = 0x1f80;

	if ((r->xstate_bv & 1) == 0) {
		memset(r->xsave, 0, 24);
		memcpy(r->xsave, &fcw, sizeof fcw);
		memset(r->xsave + 32, 0, 128);
	}
	if ((r->xstate_bv & 2) == 0) {
		memset(r->xsave + 160, 0, 256);
		if ((r->xstate_bv & 4) == 0)
			memcpy(r->xsave + 24, &mxcsr, sizeof mxcsr);
	}
}

/* Debuggers take the places of AVX-512's parts for granted: those that Intel's
 * processors have, behind a gap. AMD's have them without it. Of what is
 * behind, or elsewhere, nothing is told. */
static uint32_t to_usual_places(struct hark_registers *r)
{
	enum { K = 832, ZMM_HIGH = 896, ZMM_16 = 1408, AMD_END = 2432 };
	enum { K_TO = 1088, ZMM_HIGH_TO = 1152, ZMM_16_TO = 1664 };
	uint32_t len = r->xsave_len;

	if (len >= AVX512_END)
		return AVX512_END;
	if (len < AMD_END)
		return len >= AVX_END ? AVX_END : XSAVE_MIN;
	memmove(r->xsave + ZMM_16_TO, r->xsave + ZMM_16, 1024);
	memmove(r->xsave + ZMM_HIGH_TO, r->xsave + ZMM_HIGH, 512);
	memmove(r->xsave + K_TO, r->xsave + K, 64);
	memset(r->xsave + K, 0, K_TO - K);
	return AVX512_END;
}

static void note_xstate(struct core_notes *n, struct hark_registers *r)
{
	uint64_t xcr0 = 3, bv;
	uint32_t len;

	set_initial(r);
	note(n, "CORE", NT_FPREGSET, r->xsave, FX_LEN);
	if (r->xsave_len < XSAVE_MIN)
		return;
	len = to_usual_places(r);
	xcr0 |= len >= AVX_END ? 4 : 0;
	xcr0 |= len >= AVX512_END ? 0xe0 : 0;
	bv = r->xstate_bv & xcr0;
	memcpy(r->xsave + XCR0_AT, &xcr0, sizeof xcr0);
	memset(r->xsave + XSTATE_BV_AT, 0, XSAVE_MIN - XSTATE_BV_AT);
	memcpy(r->xsave + XSTATE_BV_AT, &bv, sizeof bv);
	note(n, "LINUX", NT_X86_XSTATE, r->xsave, len);
}

struct maker {
	struct ask_pair *p;
	const struct core_memory *memory;
	struct core_notes *n;
	const struct hark_process *process; /* or NULL */
	struct hark_registers *regs;	    /* owned, by the caller */
	struct hark_err *err;
};

static uint32_t pid_of(const struct maker *m)
{
	return m->process != NULL ? m->process->pid : 0;
}

static int note_status(struct maker *m, const struct hark_thread *t, int signo)
{
	struct elf_prstatus s = {.pr_pid = (int)t->tid,
				 .pr_pgrp = (int)pid_of(m),
				 .pr_sid = (int)pid_of(m),
				 .pr_cursig = (short)signo,
				 .pr_fpvalid = 1};
	struct user_regs_struct regs;
	struct hark_error e = {0};

	if (hark_registers(m->p->timeline, t->number, m->regs, &e) < 0)
		return ask_error(&e, m->err);
	s.pr_info.si_signo = signo;
	set_registers(m->regs, &regs);
	_Static_assert(sizeof regs == sizeof s.pr_reg, "the kernel's");
	memcpy(&s.pr_reg, &regs, sizeof regs);
	note(m->n, "CORE", NT_PRSTATUS, &s, sizeof s);
	return 0;
}

/* -- The process -- */

static void note_process(struct maker *m)
{
	struct elf_prpsinfo i = {.pr_sname = 'R',
				 .pr_pid = (int)pid_of(m),
				 .pr_pgrp = (int)pid_of(m),
				 .pr_sid = (int)pid_of(m)};
	const char *path = m->process != NULL ? m->process->program : "";
	const char *slash = strrchr(path, '/');

	snprintf(i.pr_fname, sizeof i.pr_fname, "%s",
		 slash != NULL ? slash + 1 : path);
	snprintf(i.pr_psargs, sizeof i.pr_psargs, "%s",
		 m->process != NULL ? m->process->command : "");
	note(m->n, "CORE", NT_PRPSINFO, &i, sizeof i);
}

static void note_files(struct maker *m, const struct hark_mapping *maps,
		       unsigned n)
{
	struct core_notes list = {0};
	uint64_t word[3] = {0, CORE_PAGE, 0};
	uint64_t files = 0;

	put(&list, word, 16);
	for (unsigned i = 0; i < n && files < FILES_MAX; i++) {
		if (maps[i].path[0] != '/')
			continue;
		word[0] = maps[i].start;
		word[1] = maps[i].end;
		word[2] = maps[i].offset / CORE_PAGE;
		put(&list, word, sizeof word);
		files++;
	}
	if (!list.failed)
		memcpy(list.at, &files, sizeof files);
	for (unsigned i = 0; i < n && files > 0; i++) {
		if (maps[i].path[0] != '/')
			continue;
		put(&list, maps[i].path, strlen(maps[i].path) + 1);
		files--;
	}
	if (list.failed)
		m->n->failed = true;
	else
		note(m->n, "CORE", NOTE_FILE, list.at, list.len);
	free(list.at);
}

/* -- The auxiliary vector -- */

static bool read_word(struct maker *m, uint64_t addr, uint64_t *out)
{
	uint8_t known[8] = {0};

	return hark_read(m->p->timeline, addr, 8, (uint8_t *)out, known,
			 NULL) == 8;
}

/* It stands above the environment on the stack that the process was given,
 * and whoever started the program has read it. */
static unsigned read_auxv(struct maker *m, uint64_t rsp, Elf64_auxv_t *out)
{
	uint64_t word, at = rsp + 8;
	bool has_entry = false;

	if (!read_word(m, rsp, &word) || word > WORDS_MAX)
		return 0;
	at += 8 * (word + 1);
	for (unsigned i = 0;; i++, at += 8) {
		if (i == WORDS_MAX || !read_word(m, at, &word))
			return 0;
		if (word == 0)
			break;
	}
	for (unsigned n = 0; n < AUXV_MAX; n++) {
		if (!read_word(m, at + 8 + (uint64_t)16 * n, &out[n].a_type) ||
		    !read_word(m, at + 16 + (uint64_t)16 * n,
			       &out[n].a_un.a_val))
			return 0;
		has_entry = has_entry || out[n].a_type == AT_ENTRY;
		if (out[n].a_type == AT_NULL)
			return has_entry ? n + 1 : 0;
	}
	return 0;
}

static const struct hark_mapping *first_of(const struct hark_mapping *maps,
					   unsigned n, const char *path)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(maps[i].path, path) == 0 && maps[i].offset == 0)
			return &maps[i];
	return NULL;
}

static unsigned add(Elf64_auxv_t *out, unsigned n, uint64_t type, uint64_t v)
{
	out[n].a_type = type;
	out[n].a_un.a_val = v;
	return n + 1;
}

/* What debuggers need of it, from the program's own header in memory. */
static unsigned make_auxv(struct maker *m, const struct hark_mapping *maps,
			  unsigned n_maps, Elf64_auxv_t *out)
{
	const struct hark_mapping *map =
	    m->process != NULL ? first_of(maps, n_maps, m->process->program)
			       : NULL;
	uint8_t known[sizeof(Elf64_Ehdr)] = {0};
	uint64_t bias;
	Elf64_Ehdr h;
	unsigned n = 0;

	if (map == NULL || hark_read(m->p->timeline, map->start, sizeof h,
				     (uint8_t *)&h, known, NULL) != sizeof h)
		return 0;
	bias = h.e_type == ET_DYN ? map->start : 0;
	n = add(out, n, AT_PHDR, map->start + h.e_phoff);
	n = add(out, n, AT_PHENT, h.e_phentsize);
	n = add(out, n, AT_PHNUM, h.e_phnum);
	n = add(out, n, AT_PAGESZ, CORE_PAGE);
	n = add(out, n, AT_ENTRY, h.e_entry + bias);
	map = first_of(maps, n_maps, "[vdso]");
	if (map != NULL)
		n = add(out, n, AT_SYSINFO_EHDR, map->start);
	return add(out, n, AT_NULL, 0);
}

/* The stack pointer that the process began with; 0: not known. */
static uint64_t first_rsp(struct maker *m)
{
	struct hark_timeline *t = m->p->timeline;
	struct hark_position here = hark_where(t);
	uint64_t rsp = 0;

	if (hark_seek_start(t, NULL) == 0 &&
	    hark_registers(t, hark_selected(t), m->regs, NULL) == 0)
		rsp = m->regs->gpr[4];
	if (hark_seek(t, &here, NULL) < 0)
		return 0;
	return rsp;
}

static void note_auxv(struct maker *m, uint64_t rsp,
		      const struct hark_mapping *maps, unsigned n_maps)
{
	Elf64_auxv_t auxv[AUXV_MAX + 8];
	unsigned n = rsp != 0 ? read_auxv(m, rsp, auxv) : 0;

	if (n == 0)
		n = make_auxv(m, maps, n_maps, auxv);
	if (n > 0)
		note(m->n, "CORE", NT_AUXV, auxv, n * sizeof auxv[0]);
}

static void note_own(struct maker *m)
{
	struct hark_position at = hark_where(m->p->timeline);
	char position[64], text[512];

	hark_position_text(&at, position, sizeof position);
	snprintf(text, sizeof text,
		 "made by hark at %s; memory: %llu bytes are known, %llu in "
		 "the same pages are not, and zero here",
		 position, (unsigned long long)m->memory->known,
		 (unsigned long long)m->memory->unknown);
	note(m->n, "hark", NOTE_HARK, text, strlen(text) + 1);
}

/* -- All -- */

static int first_thread(struct maker *m, const struct hark_thread *t,
			uint64_t rsp)
{
	struct hark_mapping *maps = NULL;
	uint8_t siginfo[128];
	unsigned n = 0;
	int signo = 0;
	bool has =
	    hark_signal(m->p->timeline, t->number, &signo, siginfo, NULL) == 1;

	if (core_mappings(m->p, &maps, &n, m->err) < 0)
		return -1;
	if (note_status(m, t, has ? signo : 0) < 0) {
		free(maps);
		return -1;
	}
	note_process(m);
	if (has)
		note(m->n, "CORE", NOTE_SIGINFO, siginfo, sizeof siginfo);
	note_auxv(m, rsp, maps, n);
	note_files(m, maps, n);
	free(maps);
	note_xstate(m->n, m->regs);
	return 0;
}

static int all_threads(struct maker *m, unsigned *threads)
{
	struct hark_timeline *t = m->p->timeline;
	uint32_t first = hark_selected(t);
	uint64_t rsp = first_rsp(m);

	*threads = 0;
	for (unsigned i = 0; i < hark_n_threads(t); i++)
		if (hark_thread(t, i)->number == first) {
			if (first_thread(m, hark_thread(t, i), rsp) < 0)
				return -1;
			++*threads;
		}
	for (unsigned i = 0; i < hark_n_threads(t); i++) {
		const struct hark_thread *other = hark_thread(t, i);

		if (other->number == first ||
		    !core_has_thread(m->p, other, m->regs))
			continue;
		if (note_status(m, other, 0) < 0)
			return -1;
		note_xstate(m->n, m->regs);
		++*threads;
	}
	note_own(m);
	return 0;
}

static const struct hark_process *process_of(struct ask_pair *p)
{
	uint32_t number = hark_where(p->timeline).process;

	for (unsigned i = 0; i < hark_n_processes(p->recording); i++) {
		const struct hark_process *q = hark_process(p->recording, i);

		if (q->number == number)
			return q;
	}
	return NULL;
}

int core_make_notes(struct ask_pair *p, const struct core_memory *memory,
		    struct core_notes *out, unsigned *threads,
		    struct hark_err *err)
{
	struct core_notes n = {0};
	struct maker m = {.p = p,
			  .memory = memory,
			  .n = &n,
			  .process = process_of(p),
			  .regs = calloc(1, sizeof *m.regs),
			  .err = err};
	int rc;

	if (m.regs == NULL)
		return err_set(err, HARK_ENOMEM, 0, "no memory");
	rc = all_threads(&m, threads);
	free(m.regs);
	if (rc == 0 && n.failed)
		rc = err_set(err, HARK_ENOMEM, 0, "no memory for notes");
	if (rc < 0) {
		free(n.at);
		return -1;
	}
	*out = n;
	return 0;
}
