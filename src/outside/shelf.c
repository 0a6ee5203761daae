/* outside/shelf.c - the directory where recordings are kept. */
#include "outside/shelf.h"

#include "base/fmt.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".hark"
#define LATEST "latest"
enum { TRIES = 1000, NAME_LEN = 64 };

/* -- Where -- */

static int put_path(char out[SHELF_PATH_MAX], struct hark_err *err,
		    const char *a, const char *b)
{
	if (fmt_text(out, SHELF_PATH_MAX, "%s%s%s", a, b == NULL ? "" : "/",
		     b == NULL ? "" : b) < SHELF_PATH_MAX)
		return 0;
	return err_set(err, HARK_EINPUT, 0, "%s: the path is too long", a);
}

int shelf_dir(char out[SHELF_PATH_MAX], struct hark_err *err)
{
	const char *own = getenv("HARK_DIR");
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");

	if (own != NULL && own[0] != '\0')
		return put_path(out, err, own, NULL);
	if (data != NULL && data[0] == '/')
		return put_path(out, err, data, "hark");
	if (home != NULL && home[0] == '/')
		return put_path(out, err, home, ".local/share/hark");
	return err_set(err, HARK_EINPUT, 0,
		       "no directory for recordings: HOME is not set (use -o, "
		       "or HARK_DIR)");
}

/* It and those above it, as far as they are missing. */
static int make_dirs(char path[SHELF_PATH_MAX], struct hark_err *err)
{
	for (char *at = strchr(path + 1, '/'); at != NULL;
	     at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return 0;
	return err_set(err, HARK_EIO, errno, "%s: %s", path, strerror(errno));
}

/* -- Names -- */

/* The last part of a program's name, as far as it is fit for a file's. */
static void name_of(const char *prog, char out[NAME_LEN])
{
	const char *slash = strrchr(prog, '/');
	size_t n = 0;

	if (slash != NULL && slash[1] != '\0')
		prog = slash + 1;
	for (; *prog != '\0' && n + 1 < NAME_LEN; prog++) {
		unsigned char c = (unsigned char)*prog;
		int fit = isalnum(c) || strchr("_+-", c) != NULL ||
			  (c == '.' && n > 0);

		out[n++] = (char)(fit ? c : '_');
	}
	if (n == 0)
		out[n++] = '_';
	out[n] = '\0';
}

/* The number in PROG-N.hark; 0: it is no such name. */
static unsigned long number_in(const char *file, const char *prog)
{
	size_t len = strlen(prog);
	unsigned long n;
	char *end;

	if (strncmp(file, prog, len) != 0 || file[len] != '-' ||
	    !isdigit((unsigned char)file[len + 1]))
		return 0;
	n = strtoul(file + len + 1, &end, 10);
	return strcmp(end, SUFFIX) == 0 ? n : 0;
}

static unsigned long last_number(const char *dir, const char *prog)
{
	unsigned long last = 0;
	struct dirent *e;
	DIR *d = opendir(dir);

	if (d == NULL)
		return 0;
	while ((e = readdir(d)) != NULL) {
		unsigned long n = number_in(e->d_name, prog);

		last = n > last ? n : last;
	}
	closedir(d);
	return last;
}

/* -- The latest -- */

/* One moment it leads to the old one, the next to the new one. */
static void set_latest(const char *dir, const char *name)
{
	char link[SHELF_PATH_MAX], fresh[SHELF_PATH_MAX];

	if (fmt_text(link, sizeof link, "%s/%s", dir, LATEST) >= sizeof link ||
	    fmt_text(fresh, sizeof fresh, "%s/.latest-%d", dir,
		     (int)getpid()) >= sizeof fresh)
		return;
	unlink(fresh);
	if (symlink(name, fresh) == 0 && rename(fresh, link) < 0)
		unlink(fresh);
}

/* The name that it leads to: one of the shelf itself, or none. */
static int get_latest(const char *dir, char *out, size_t size)
{
	char link[SHELF_PATH_MAX];
	ssize_t n;

	if (fmt_text(link, sizeof link, "%s/%s", dir, LATEST) >= sizeof link)
		return -1;
	n = readlink(link, out, size - 1);
	if (n <= 0 || n >= (ssize_t)size - 1)
		return -1;
	out[n] = '\0';
	return strchr(out, '/') == NULL ? 0 : -1;
}

/* -- Making and finding -- */

int shelf_create(const char *prog, struct file_writer **out,
		 char path[SHELF_PATH_MAX], struct hark_err *err)
{
	char dir[SHELF_PATH_MAX], name[NAME_LEN], file[NAME_LEN + 32];
	unsigned long n;

	if (shelf_dir(dir, err) < 0 || make_dirs(dir, err) < 0)
		return -1;
	name_of(prog, name);
	n = last_number(dir, name);
	for (int i = 0; i < TRIES; i++) {
		fmt_text(file, sizeof file, "%s-%lu%s", name, ++n, SUFFIX);
		if (put_path(path, err, dir, file) < 0)
			return -1;
		if (file_create(path, 0, out, err) == 0) {
			set_latest(dir, file);
			return 0;
		}
		if (err->sys != EEXIST)
			break;
	}
	return -1;
}

static int find_latest(char out[SHELF_PATH_MAX], struct hark_err *err)
{
	char dir[SHELF_PATH_MAX], name[SHELF_PATH_MAX];

	if (shelf_dir(dir, err) < 0)
		return -1;
	if (get_latest(dir, name, sizeof name) < 0)
		return err_set(err, HARK_ENOENT, ENOENT,
			       "which file? There is no recording in %s yet",
			       dir);
	return put_path(out, err, dir, name);
}

int shelf_find(const char *name, char out[SHELF_PATH_MAX], struct hark_err *err)
{
	char dir[SHELF_PATH_MAX], there[SHELF_PATH_MAX];

	if (name == NULL)
		return find_latest(out, err);
	if (fmt_text(out, SHELF_PATH_MAX, "%s", name) >= SHELF_PATH_MAX)
		return err_set(err, HARK_EINPUT, 0, "the path is too long");
	if (strchr(name, '/') != NULL || strcmp(name, "-") == 0 ||
	    access(name, F_OK) == 0 || shelf_dir(dir, NULL) < 0)
		return 0;
	if (strcmp(name, LATEST) == 0)
		return find_latest(out, err);
	if (put_path(there, NULL, dir, name) == 0 && access(there, F_OK) == 0)
		memcpy(out, there, sizeof there);
	return 0;
}

/* -- Listing -- */

static int is_recording(const char *name)
{
	size_t len = strlen(name), tail = strlen(SUFFIX);

	return name[0] != '.' && len > tail &&
	       strcmp(name + len - tail, SUFFIX) == 0;
}

struct entry {
	char *name; /* owned */
	struct timespec time;
};

static int by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->time.tv_sec != y->time.tv_sec)
		return x->time.tv_sec < y->time.tv_sec ? -1 : 1;
	if (x->time.tv_nsec != y->time.tv_nsec)
		return x->time.tv_nsec < y->time.tv_nsec ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int add_entry(struct entry **list, int n, DIR *d, const char *name)
{
	struct entry *more;
	struct stat st;

	if (fstatat(dirfd(d), name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode))
		return n;
	more = realloc(*list, ((size_t)n + 1) * sizeof *more);
	if (more == NULL)
		return -1;
	*list = more;
	more[n] = (struct entry){strdup(name), st.st_mtim};
	return more[n].name == NULL ? -1 : n + 1;
}

/* The names alone, in the memory of the entries. */
static char **names_of(struct entry *list, int n)
{
	char **names = (char **)list;

	if (n > 0)
		qsort(list, (size_t)n, sizeof *list, by_time);
	for (int i = 0; i < n; i++)
		names[i] = list[i].name; /* never ahead of what is read */
	return names;
}

int shelf_list(char ***out, struct hark_err *err)
{
	char dir[SHELF_PATH_MAX];
	struct entry *list = NULL;
	struct dirent *e;
	int n = 0, had = 0;
	DIR *d;

	if (shelf_dir(dir, err) < 0)
		return -1;
	d = opendir(dir);
	if (d == NULL && errno != ENOENT)
		return err_set(err, HARK_EIO, errno, "%s: %s", dir,
			       strerror(errno));
	while (d != NULL && n >= 0 && (e = readdir(d)) != NULL)
		if (is_recording(e->d_name)) {
			had = n;
			n = add_entry(&list, n, d, e->d_name);
		}
	if (d != NULL)
		closedir(d);
	*out = names_of(list, n < 0 ? had : n);
	if (n >= 0)
		return n;
	shelf_list_free(*out, had);
	*out = NULL;
	return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
}

void shelf_list_free(char **names, int n)
{
	for (int i = 0; names != NULL && i < n; i++)
		free(names[i]);
	free(names);
}

void shelf_forget(const char *path)
{
	char dir[SHELF_PATH_MAX], latest[SHELF_PATH_MAX], link[SHELF_PATH_MAX];
	const char *slash = strrchr(path, '/');
	char **names = NULL;
	int n;

	if (shelf_dir(dir, NULL) < 0 ||
	    get_latest(dir, latest, sizeof latest) < 0 ||
	    strcmp(latest, slash == NULL ? path : slash + 1) != 0 ||
	    put_path(link, NULL, dir, LATEST) < 0 || access(link, F_OK) == 0)
		return;
	n = shelf_list(&names, NULL);
	if (n > 0 && names != NULL)
		set_latest(dir, names[n - 1]);
	else
		unlink(link);
	if (n >= 0)
		shelf_list_free(names, n);
}
