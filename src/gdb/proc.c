/* gdb/proc.c - the files of /proc that a recording can tell.
 *
 * gdb reads them for `info proc`, and to know which memory belongs into a core
 * file. They say what is known of this moment, in the kernel's words. gdb
 * prints them as they are, so names are escaped here. */
#include "gdb/gdb_priv.h"

#include "base/fmt.h"

#include <stdlib.h>
#include <string.h>

enum {
	PAGE = 4096,
	STACK_PAGES = 2048, /* 8 MiB, as stacks mostly are limited to */
	GAP_PAGES = 32,	    /* that nobody touched, within a stack */
};

/* -- The stack: known by what was stored there -- */

static int is_page_known(struct gdb *g, uint64_t page)
{
	static uint8_t bytes[PAGE], known[PAGE];

	return g->api->f_read(g->t, page, PAGE, bytes, known, NULL) > 0;
}

/* Of the thread that moves: from its stack pointer upwards, in pages. */
static int find_stack(struct gdb *g, uint64_t *start, uint64_t *end)
{
	uint64_t page;
	unsigned gap = 0;

	if (gdb_registers(g, gdb_current(g)) < 0)
		return 0;
	page = g->registers.gpr[4] & ~(uint64_t)(PAGE - 1);
	*start = *end = page;
	if (gdb_mapping_at(g, page) != NULL)
		return 0;
	for (unsigned i = 0; i < STACK_PAGES && gap < GAP_PAGES;
	     i++, page += PAGE) {
		if (page < *start || gdb_mapping_at(g, page) != NULL)
			break;
		if (is_page_known(g, page)) {
			*end = page + PAGE;
			gap = 0;
		} else {
			gap++;
		}
	}
	return *end > *start;
}

/* -- maps and smaps -- */

static void put_range(struct doc *out, const struct hark_mapping *m,
		      bool is_full)
{
	doc_text(out, "%08llx-%08llx %c%c%cp %08llx 00:00 0 ",
		 (unsigned long long)m->start, (unsigned long long)m->end,
		 m->prot & 1 ? 'r' : '-', m->prot & 2 ? 'w' : '-',
		 m->prot & 4 ? 'x' : '-', (unsigned long long)m->offset);
	doc_text(out, "%26s", "");
	doc_plain(out, m->path);
	doc_text(out, "\n");
	if (!is_full)
		return;
	doc_text(out,
		 "Size: %llu kB\nRss: 4 kB\nShared_Clean: 0 kB\n"
		 "Private_Dirty: 4 kB\nReferenced: 4 kB\nAnonymous: 4 kB\n"
		 "VmFlags: %s%s%smr mw me ac \n",
		 (unsigned long long)(m->end - m->start) / 1024,
		 m->prot & 1 ? "rd " : "", m->prot & 2 ? "wr " : "",
		 m->prot & 4 ? "ex " : "");
}

static void put_maps(struct gdb *g, struct doc *out, bool is_full)
{
	struct hark_mapping stack = {
	    .prot = 3, .module = -1, .path = "[stack]"};
	int has_stack = find_stack(g, &stack.start, &stack.end);
	const struct hark_mapping *m;
	unsigned n;

	if (gdb_mappings(g, &m, &n) < 0)
		n = 0;
	for (unsigned i = 0; i < n; i++) {
		if (has_stack && m[i].start > stack.start) {
			put_range(out, &stack, is_full);
			has_stack = 0;
		}
		put_range(out, &m[i], is_full);
	}
	if (has_stack)
		put_range(out, &stack, is_full);
}

/* -- status, stat, cmdline -- */

enum { COMM_MAX = 15 }; /* bytes of a name, as the kernel has it */

static void put_name(struct gdb *g, struct doc *out)
{
	char name[COMM_MAX + 1];

	fmt_text(name, sizeof name, "%s",
		 gdb_thread_name(g, g->api->f_thread(g->t, 0)->number));
	doc_plain(out, name);
}

static unsigned parent_pid(struct gdb *g)
{
	for (unsigned i = 0; i < g->api->f_n_processes(g->recording); i++) {
		const struct hark_process *p =
		    g->api->f_process(g->recording, i);

		if (p->number == g->process->parent)
			return p->pid;
	}
	return 0;
}

static void put_status(struct gdb *g, struct doc *out)
{
	unsigned pid = g->process->pid;

	doc_text(out, "Name:\t");
	put_name(g, out);
	doc_text(out,
		 "\nState:\tt (tracing stop)\nTgid:\t%u\nPid:\t%u\n"
		 "PPid:\t%u\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n"
		 "Threads:\t%u\n",
		 pid, pid, parent_pid(g), g->api->f_n_threads(g->t));
}

static void put_stat(struct gdb *g, struct doc *out)
{
	unsigned pid = g->process->pid;

	doc_text(out, "%u (", pid);
	put_name(g, out);
	doc_text(out, ") t %u %u %u 0 -1 0 0 0 0 0 0 0 0 0 20 0 %u 0 0\n",
		 parent_pid(g), pid, pid, g->api->f_n_threads(g->t));
}

static void put_comm(struct gdb *g, struct doc *out)
{
	put_name(g, out);
	doc_text(out, "\n");
}

static void put_command(struct gdb *g, struct doc *out)
{
	doc_plain(out, g->process->command);
	doc_add(out, "", 1);
}

/* -- By name -- */

/* Behind /proc/PID/ or /proc/PID/task/TID/ of this process, or NULL. */
static const char *behind_process(struct gdb *g, const char *path)
{
	char *end;

	if (strncmp(path, "/proc/", 6) != 0)
		return NULL;
	path += 6;
	if (strncmp(path, "self/", 5) == 0)
		path += 4;
	else if (strtoul(path, &end, 10) == g->process->pid)
		path = end;
	if (*path++ != '/')
		return NULL;
	if (strncmp(path, "task/", 5) != 0)
		return path;
	strtoul(path + 5, &end, 10);
	return *end == '/' ? end + 1 : NULL;
}

int gdb_proc_file(struct gdb *g, const char *path, struct doc *out)
{
	const char *name = behind_process(g, path);

	if (name == NULL)
		return -1;
	if (strcmp(name, "maps") == 0)
		put_maps(g, out, false);
	else if (strcmp(name, "smaps") == 0)
		put_maps(g, out, true);
	else if (strcmp(name, "status") == 0)
		put_status(g, out);
	else if (strcmp(name, "stat") == 0)
		put_stat(g, out);
	else if (strcmp(name, "comm") == 0)
		put_comm(g, out);
	else if (strcmp(name, "auxv") == 0)
		gdb_auxv(g, out);
	else if (strcmp(name, "cmdline") == 0)
		put_command(g, out);
	else
		return -1;
	return 0;
}
