/* tests/guests/proc_files.c - the everyday calls on files and directories give
 * what they should: links, modes, times, locks, holes, lists. */
#include "guest.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

int main(void)
{
	char dir[] = "/tmp/guest.XXXXXX", buf[64] = "", cwd[64];
	struct flock lock = {.l_type = F_WRLCK, .l_len = 10};
	struct iovec v[2] = {{"ab", 2}, {"cd", 2}};
	struct timespec times[2] = {{1000, 5}, {2000, 7}};
	struct dirent *e;
	struct stat st;
	int fd, n = 0, status;
	pid_t pid;
	DIR *d;

	MUST(mkdtemp(dir) != NULL && chdir(dir) == 0);
	CHECK(getcwd(cwd, sizeof cwd) && strcmp(cwd, dir) == 0);
	umask(027);
	fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0666);
	MUST(fd >= 0);
	SAME(writev(fd, v, 2), 4);
	SAME(lseek(fd, 100000, SEEK_SET), 100000);
	SAME(write(fd, "end", 3), 3);
	MUST(fstat(fd, &st) == 0);
	SAME(st.st_size, 100003);
	SAME(st.st_mode & 0777, 0640);
	MUST(futimens(fd, times) == 0 && stat("file", &st) == 0);
	SAME(st.st_mtim.tv_sec, 2000);
	MUST(link("file", "hard") == 0 && symlink("file", "soft") == 0);
	MUST(stat("soft", &st) == 0);
	SAME(st.st_nlink, 2);
	SAME(readlink("soft", buf, sizeof buf), 4);
	SAME(rename("hard", "moved"), 0);
	SAME(mkdir("file", 0700), -1);
	SAME(errno, EEXIST);
	SAME(rmdir(dir), -1);
	SAME(errno, ENOTEMPTY);
	SAME(open("none/x", O_RDONLY), -1);
	SAME(errno, ENOENT);
	MUST(fcntl(fd, F_SETLK, &lock) == 0);
	pid = fork();
	if (pid == 0) { /* the child has not the parent's lock */
		lock.l_type = F_WRLCK;
		lock.l_pid = 0;
		fcntl(fd, F_GETLK, &lock);
		_exit(lock.l_pid == getppid() ? 0 : 1);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
	MUST(flock(fd, LOCK_EX) == 0);
	d = opendir(".");
	while ((e = readdir(d)) != NULL)
		n++;
	closedir(d);
	SAME(n, 5); /* with . and .. */
	MUST(unlink("file") == 0 && unlink("moved") == 0 &&
	     unlink("soft") == 0);
	MUST(chdir("/") == 0 && rmdir(dir) == 0);
	SAME(pread(fd, buf, 3, 100000), 3);
	CHECK(memcmp(buf, "end", 3) == 0);
	return guest_end();
}
