/* image/reach.c - opening files as a process could that named them.
 *
 * The rights that count for files are the thread's own: setfsuid and setfsgid
 * exist for just this. glibc's setgroups would change all threads, so the
 * system call is made here. A change of fsuid from 0 takes the capabilities
 * away that overrule permissions; where the user stays the same they are taken
 * away as far as the process lacks them.
 *
 * The kernel makes a process that changes its fsuid one that cannot be dumped;
 * hark makes that good afterwards. */
#include "image/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { TEXT_MAX = 1 << 20, PROC_MAGIC = 0x9fa0 };
#define CAPS_OF_FILES \
	((uint64_t)1 << CAP_DAC_OVERRIDE | (uint64_t)1 << CAP_DAC_READ_SEARCH)

/* Whose rights. */
struct rights {
	uid_t uid;
	gid_t gid;
	uint64_t caps; /* of CAPS_OF_FILES */
	int n_groups;
	gid_t *groups; /* owned */
};

struct reach {
	int root; /* owned; -1: nothing is reached */
	struct stat root_is;
	ino_t mounts; /* the namespace of mounts; 0: not known */
	struct rights rights;
};

static enum hark_code code_of(int sys)
{
	switch (sys) {
	case ENOENT:
	case ENOTDIR:
		return HARK_ENOENT;
	case EACCES:
	case EPERM:
		return HARK_EDENIED;
	case ENOMEM:
		return HARK_ENOMEM;
	default:
		return HARK_EIO;
	}
}

/* -- Whose rights -- */

static char *read_text(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	char *text = fd < 0 ? NULL : malloc(TEXT_MAX);
	size_t len = 0;
	ssize_t n = 0;

	while (text != NULL && len < TEXT_MAX - 1 &&
	       (n = read(fd, text + len, TEXT_MAX - 1 - len)) > 0)
		len += (size_t)n;
	if (fd >= 0)
		close(fd);
	if (text != NULL)
		text[len] = '\0';
	return text;
}

/* What stands after "\nKEY:"; "" if there is no such line. */
static const char *line_of(const char *status, const char *key)
{
	char start[32];
	const char *at;

	snprintf(start, sizeof start, "\n%s:", key);
	at = strstr(status, start);
	return at != NULL ? at + strlen(start) : "";
}

/* Of the four ids of a line (real, effective, saved, of files): that of the
 * user who is behind it, who is not root if one of both is not. */
static bool read_id(const char *status, const char *key, unsigned *out)
{
	const char *at = line_of(status, key);
	unsigned long ids[4];

	for (unsigned i = 0; i < 4; i++) {
		char *end;

		ids[i] = strtoul(at, &end, 10);
		if (end == at)
			return false;
		at = end;
	}
	*out = (unsigned)(ids[0] != 0 ? ids[0] : ids[3]);
	return true;
}

static bool read_groups(const char *status, struct rights *out)
{
	const char *at = line_of(status, "Groups");
	int room = 1;

	for (const char *c = at; *c != '\0' && *c != '\n'; c++)
		room += *c == ' ';
	out->groups = calloc((size_t)room, sizeof *out->groups);
	if (out->groups == NULL)
		return false;
	while (out->n_groups < room) {
		char *end;
		unsigned long g;

		at += strspn(at, " \t");
		if (*at == '\n' || *at == '\0')
			break;
		g = strtoul(at, &end, 10);
		if (end == at)
			return false;
		out->groups[out->n_groups++] = (gid_t)g;
		at = end;
	}
	return true;
}

static bool read_rights(int dir, struct rights *out)
{
	char *status = read_text(dir, "status");
	unsigned uid = 0, gid = 0;
	bool done = status != NULL && read_id(status, "Uid", &uid) &&
		    read_id(status, "Gid", &gid) && read_groups(status, out);

	out->uid = uid;
	out->gid = gid;
	if (done && uid == 0)
		out->caps = strtoull(line_of(status, "CapEff"), NULL, 16) &
			    CAPS_OF_FILES;
	free(status);
	return done;
}

/* When the process began: the 22nd word, where the second may have blanks and
 * parentheses in it. 0: not known. */
static uint64_t read_began(int dir)
{
	char *stat = read_text(dir, "stat");
	const char *at = stat != NULL ? strrchr(stat, ')') : NULL;
	uint64_t began = 0;

	for (int word = 2; at != NULL && word < 22; word++)
		at = strchr(at + 1, ' ');
	if (at != NULL)
		began = strtoull(at, NULL, 10);
	free(stat);
	return began;
}

/* -- A reach -- */

struct reach *reach_nothing(void)
{
	struct reach *r = calloc(1, sizeof *r);

	if (r != NULL)
		r->root = -1;
	return r;
}

void reach_free(struct reach *r)
{
	if (r == NULL)
		return;
	if (r->root >= 0)
		close(r->root);
	free(r->rights.groups);
	free(r);
}

int reach_new(int pid, struct reach **out, uint64_t *began,
	      struct hark_err *err)
{
	struct reach *r = reach_nothing();
	struct stat st = {0};
	uint64_t since;
	char path[32];
	int dir;

	if (r == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "no memory");
	snprintf(path, sizeof path, "/proc/%d", pid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	r->root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fstatat(dir, "ns/mnt", &st, 0) == 0)
		r->mounts = st.st_ino;
	since = read_began(dir);
	if (r->root < 0 || since == 0 || fstat(r->root, &r->root_is) < 0 ||
	    !read_rights(dir, &r->rights)) {
		reach_free(r);
		if (dir >= 0)
			close(dir);
		return err_set(err, HARK_EGONE, 0,
			       "process %d: what files it can open cannot be "
			       "found out",
			       pid);
	}
	close(dir);
	*out = r;
	*began = since;
	return 0;
}

static bool has_same_rights(const struct rights *a, const struct rights *b)
{
	return a->uid == b->uid && a->gid == b->gid && a->caps == b->caps &&
	       a->n_groups == b->n_groups &&
	       (a->n_groups == 0 ||
		memcmp(a->groups, b->groups,
		       (size_t)a->n_groups * sizeof *a->groups) == 0);
}

static bool has_same_root(const struct reach *a, const struct reach *b)
{
	return a->root_is.st_dev == b->root_is.st_dev &&
	       a->root_is.st_ino == b->root_is.st_ino && a->mounts == b->mounts;
}

bool reach_is_same(const struct reach *a, const struct reach *b)
{
	if (a->root < 0 || b->root < 0)
		return a->root < 0 && b->root < 0;
	return has_same_root(a, b) && has_same_rights(&a->rights, &b->rights);
}

/* -- Taking on rights -- */

static int get_caps(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};

	return (int)syscall(SYS_capget, &h, data);
}

static int set_caps(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};

	return (int)syscall(SYS_capset, &h, data);
}

/* What the thread had before. */
struct before {
	struct rights rights;
	struct __user_cap_data_struct caps[2];
	int dumpable;
	bool has_changed;
};

static int look_before(struct before *b)
{
	struct rights *r = &b->rights;

	*b = (struct before){.dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)};
	r->uid = (uid_t)setfsuid((uid_t)-1);
	r->gid = (gid_t)setfsgid((gid_t)-1);
	r->n_groups = getgroups(0, NULL);
	if (r->n_groups < 0 || get_caps(b->caps) < 0)
		return -1;
	r->caps = b->caps[0].effective & CAPS_OF_FILES;
	r->groups = calloc((size_t)r->n_groups + 1, sizeof *r->groups);
	return r->groups == NULL ||
		       getgroups(r->n_groups, r->groups) != r->n_groups
		   ? -1
		   : 0;
}

static int set_groups(const struct rights *r)
{
	return (int)syscall(SYS_setgroups, (size_t)r->n_groups, r->groups);
}

/* As far as hark may. The same user is the same principal, also if hark cannot
 * give up a group that the process does not have. */
static bool take_on(const struct rights *r, struct before *b)
{
	struct __user_cap_data_struct caps[2];
	bool may_change;

	if (look_before(b) < 0)
		return false;
	if (has_same_rights(r, &b->rights))
		return true;
	memcpy(caps, b->caps, sizeof caps);
	caps[0].effective &= ~(uint32_t)(CAPS_OF_FILES & ~r->caps);
	b->has_changed = true;
	may_change = set_groups(r) == 0;
	setfsgid(r->gid);
	may_change = setfsgid((gid_t)-1) == (int)r->gid && may_change;
	setfsuid(r->uid);
	if (setfsuid((uid_t)-1) != (int)r->uid || set_caps(caps) < 0)
		return false;
	return b->rights.uid != 0 ? r->uid == b->rights.uid : may_change;
}

/* A change that cannot be undone must not be lived with. */
static void give_back(struct before *b)
{
	if (b->has_changed) {
		setfsuid(b->rights.uid);
		if (set_caps(b->caps) < 0 ||
		    setfsuid((uid_t)-1) != (int)b->rights.uid)
			abort();
		setfsgid(b->rights.gid);
		if (set_groups(&b->rights) < 0 && b->rights.uid == 0)
			abort();
		if (b->dumpable == 1)
			prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	}
	free(b->rights.groups);
}

/* -- Opening -- */

static bool is_own_root(const struct reach *r)
{
	struct stat root, mounts;

	return stat("/", &root) == 0 &&
	       stat("/proc/self/ns/mnt", &mounts) == 0 &&
	       root.st_dev == r->root_is.st_dev &&
	       root.st_ino == r->root_is.st_ino && r->mounts == mounts.st_ino;
}

/* R1. Old kernels do not have the call, and some sandboxes forbid it. */
static int find_below(const struct reach *r, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve =
				   RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	long fd = syscall(SYS_openat2, r->root, path, &how, sizeof how);

	if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
		return (int)fd;
	if (is_own_root(r) && path[0] == '/')
		return open(path, O_PATH | O_CLOEXEC);
	errno = EACCES; /* R3 */
	return -1;
}

/* R2: a descriptor that only names the file becomes one that reads it. */
static int open_found(int found)
{
	struct statfs fs;
	struct stat st;
	char name[32];
	int fd = -1, why;

	if (fstat(found, &st) < 0 || !S_ISREG(st.st_mode) ||
	    fstatfs(found, &fs) < 0 || fs.f_type == PROC_MAGIC) {
		errno = EINVAL;
	} else {
		snprintf(name, sizeof name, "/proc/self/fd/%d", found);
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	why = errno;
	close(found);
	errno = why;
	return fd;
}

static int open_with(const struct reach *r, const char *path)
{
	int found =
	    r == NULL ? open(path, O_PATH | O_CLOEXEC) : find_below(r, path);

	return found < 0 ? -1 : open_found(found);
}

int reach_open_unlinked(const char *path)
{
	int found = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return found < 0 ? -1 : open_found(found);
}

int reach_open(const struct reach *r, const char *path, struct hark_err *err)
{
	struct before before;
	int fd = -1, why = EACCES;

	if (r == NULL) {
		fd = open_with(NULL, path);
		why = errno;
	} else if (r->root >= 0) {
		if (take_on(&r->rights, &before)) {
			fd = open_with(r, path);
			why = errno;
		}
		give_back(&before);
	}
	if (fd < 0 && why == EINVAL)
		return err_set(err, HARK_EINPUT, 0, "%s: not a regular file",
			       path);
	if (fd < 0)
		return err_set(err, code_of(why), why, "%s: %s", path,
			       strerror(why));
	return fd;
}
