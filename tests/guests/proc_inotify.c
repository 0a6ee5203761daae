/* tests/guests/proc_inotify.c - inotify tells of files made, written, moved and
 * removed, in order, with cookies that match. */
#include "guest.h"
#include <fcntl.h>
#include <sys/inotify.h>

int main(void)
{
	char dir[] = "/tmp/guest.XXXXXX", a[64], b[64],
	     buf[4096] __attribute__((aligned(8))), trail[256] = "";
	uint32_t cookie = 0;
	int in = inotify_init1(IN_NONBLOCK), fd;
	ssize_t n;

	MUST(in >= 0 && mkdtemp(dir) != NULL);
	snprintf(a, sizeof a, "%s/a", dir);
	snprintf(b, sizeof b, "%s/b", dir);
	MUST(inotify_add_watch(in, dir,
			       IN_CREATE | IN_MODIFY | IN_MOVE | IN_DELETE |
				   IN_CLOSE_WRITE) > 0);
	fd = open(a, O_CREAT | O_WRONLY, 0600);
	MUST(fd >= 0 && write(fd, "x", 1) == 1);
	close(fd);
	MUST(rename(a, b) == 0 && unlink(b) == 0 && rmdir(dir) == 0);
	while ((n = read(in, buf, sizeof buf)) > 0)
		for (char *p = buf; p < buf + n;) {
			struct inotify_event *e = (void *)p;

			snprintf(trail + strlen(trail), 32, "%x:%s ", e->mask,
				 e->len ? e->name : "");
			if (e->mask & IN_MOVED_FROM)
				cookie = e->cookie;
			if (e->mask & IN_MOVED_TO)
				SAME(e->cookie, cookie);
			p += sizeof *e + e->len;
		}
	puts(trail);
	CHECK(strcmp(trail, "100:a 2:a 8:a 40:a 80:b 200:b 8000: ") == 0);
	return guest_end();
}
