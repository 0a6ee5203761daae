/* tests/guests/proc_fd_list.c - /proc/self/fd shows the program's descriptors
 * and none of anybody else's. */
#include "guest.h"
#include <dirent.h>
#include <fcntl.h>

int main(void)
{
	int seen[64] = {0}, high = 0, p[2];
	struct dirent *e;
	DIR *d;

	closefrom(3); /* what was inherited */
	MUST(pipe(p) == 0 && dup2(p[0], 40) == 40);
	d = opendir("/proc/self/fd");
	MUST(d != NULL);
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] != '.') {
			int fd = atoi(e->d_name);

			if (fd < 64)
				seen[fd] = 1;
			else
				high++;
		}
	for (int i = 0; i < 64; i++)
		SAME(seen[i], i <= 2 || i == p[0] || i == p[1] || i == 40 ||
				  i == dirfd(d));
	SAME(high, 0);
	closedir(d);
	return guest_end();
}
