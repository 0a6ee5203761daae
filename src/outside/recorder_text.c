/* outside/recorder_text.c - the words of a recording: what, where, how. */
#include "outside/recorder_priv.h"

#include "outside/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS_MAX = 1 << 20 }; /* of one command line; the rest is left out */

void recorder_put_text(struct recorder *r, enum wire_chunk_type type,
		       uint32_t process, uint32_t thread, struct file_text *t)
{
	struct press_job *j = t->failed ? NULL : press_job(r->press);

	if (j == NULL || press_job_append(j, t->at, t->len) < 0) {
		press_job_free(r->press, j);
		r->lost++;
	} else {
		j->type = type;
		j->process = process;
		j->thread = thread;
		press_add(r->press, j);
	}
	file_text_free(t);
}

void recorder_put_note(struct recorder *r, uint32_t process, uint32_t thread,
		       const char *text)
{
	struct file_text t = {0};

	file_text_add(&t, "note", text);
	recorder_put_text(r, WIRE_CHUNK_NOTE, process, thread, &t);
}

/* By this thread: there may be no other yet. */
int recorder_put_meta(const struct recorder_plan *plan, struct hark_err *err)
{
	struct file_text t = {0};
	struct utsname u;
	int rc;

	file_text_add(&t, "kind", "recording");
	file_text_add(&t, "hark", HARK_VERSION);
	file_text_number(&t, "record", WIRE_RECORD_VERSION);
	file_text_number(&t, "time", time(NULL));
	if (uname(&u) == 0) {
		file_text_add(&t, "machine", u.machine);
		file_text_add(&t, "kernel", u.release);
	}
	file_text_add(&t, "endian", "little");
	file_text_number(&t, "page_size", sysconf(_SC_PAGESIZE));
	file_text_number(&t, "keep", (int64_t)plan->keep);
	recorder_add_cpu(&t);
	for (char *const *a = plan->argv; *a != NULL; a++)
		if (t.len < WORDS_MAX)
			file_text_add(&t, "arg", *a);
	rc = t.failed ? err_set(err, HARK_ENOMEM, ENOMEM, "out of memory")
		      : file_put(plan->file, WIRE_CHUNK_META, 0, 0, t.at, t.len,
				 err);
	file_text_free(&t);
	return rc;
}

void recorder_put_end(struct recorder *r)
{
	struct file_text t = {0};

	if (r->status >= 0 && WIFEXITED(r->status))
		file_text_number(&t, "exit", WEXITSTATUS(r->status));
	if (r->status >= 0 && WIFSIGNALED(r->status))
		file_text_number(&t, "signal", WTERMSIG(r->status));
	file_text_number(&t, "processes", r->processes);
	file_text_number(&t, "threads", r->threads);
	file_text_number(&t, "lost", (int64_t)r->lost);
	recorder_put_text(r, WIRE_CHUNK_END, 0, 0, &t);
}

/* -- Programs -- */

static void add_words(int fd, struct file_text *out)
{
	char *bytes = malloc(WORDS_MAX + 1);
	size_t len = 0;
	ssize_t n = 1;

	while (bytes != NULL && n > 0 && len < WORDS_MAX) {
		n = read(fd, bytes + len, WORDS_MAX - len);
		len += n > 0 ? (size_t)n : 0;
	}
	for (size_t at = 0; bytes != NULL && at < len;
	     at += strlen(bytes + at) + 1) {
		bytes[len] = '\0';
		file_text_add(out, "arg", bytes + at);
	}
	free(bytes);
}

void recorder_read_program(pid_t pid, struct file_text *out)
{
	char path[64], exe[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	n = readlink(path, exe, sizeof exe - 1);
	if (n > 0) {
		exe[n] = '\0';
		file_text_add(out, "exe", exe);
	}
	fd = proc_open(pid, 0, "comm", O_RDONLY);
	if (fd >= 0) {
		n = read(fd, exe, sizeof exe - 1);
		if (n > 1) {
			exe[n - 1] = '\0'; /* a newline */
			file_text_add(out, "comm", exe);
		}
		close(fd);
	}
	fd = proc_open(pid, 0, "cmdline", O_RDONLY);
	if (fd >= 0) {
		add_words(fd, out);
		close(fd);
	}
}
