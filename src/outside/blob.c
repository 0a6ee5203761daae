/* outside/blob.c - the image as a file. */
#include "outside/blob.h"

#include "outside/limit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

size_t blob_len(void)
{
	return (size_t)((uintptr_t)blob_end - (uintptr_t)blob_start);
}

static int write_image(int fd, struct hark_err *err)
{
	size_t done = 0;

	while (done < blob_len()) {
		ssize_t n = pwrite(fd, blob_start + done, blob_len() - done,
				   (off_t)done);

		if (n <= 0)
			return err_set(
			    err, HARK_ENOMEM, errno,
			    "cannot write the image: %s%s", strerror(errno),
			    errno == EFBIG ? " (are hark's files limited? "
					     "ulimit -f)"
					   : "");
		done += (size_t)n;
	}
	return 0;
}

int blob_fill(int fd, struct hark_err *err)
{
	const int seals =
	    F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct rlimit was;
	int rc;

	limit_lift_files(&was);
	rc = write_image(fd, err);
	limit_restore_files(&was);
	if (rc < 0)
		return -1;
	if (fcntl(fd, F_ADD_SEALS, seals) < 0)
		return err_set(err, HARK_EDENIED, errno,
			       "cannot seal the image: %s", strerror(errno));
	return 0;
}

int blob_file(const char *name)
{
	static int made = -1; /* for the life of hark */
	int fd = made;

	if (fd >= 0)
		return fd;
	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd >= 0 && blob_fill(fd, NULL) < 0) {
		close(fd);
		return -1;
	}
	made = fd;
	return fd;
}
