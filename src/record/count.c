/* record/count.c - how many instructions a recording holds.
 *
 * One line: `hark-count 1 ID INSTRUCTIONS`, ID being the random number in the
 * header of the recording. */
#include "record/count.h"

#include "base/fmt.h"
#include "record/beside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_LEN = 128 };

/* The line that is about this file, up to the number. */
static void begin_line(uint64_t id, char *out, size_t size)
{
	fmt_text(out, size, "hark-count 1 %llx ", (unsigned long long)id);
}

static int is_about(const char *line, uint64_t id, uint64_t *out)
{
	char want[LINE_MAX_LEN], *end;
	uint64_t n;
	size_t len;

	begin_line(id, want, sizeof want);
	len = strlen(want);
	if (strncmp(line, want, len) != 0 || line[len] < '0' || line[len] > '9')
		return 0;
	errno = 0;
	n = strtoull(line + len, &end, 10);
	if (errno != 0 || strcmp(end, "\n") != 0)
		return 0;
	*out = n;
	return 1;
}

int count_load(const char *path, uint64_t *out)
{
	uint8_t *line;
	uint64_t id;
	size_t len;
	int rc;

	if (beside_id(path, &id) < 0 ||
	    beside_load(path, "count", LINE_MAX_LEN, &line, &len) < 0)
		return 0;
	rc = is_about((const char *)line, id, out);
	free(line);
	return rc;
}

int count_store(const char *path, uint64_t instructions, struct hark_err *err)
{
	char line[LINE_MAX_LEN];
	uint64_t id;
	size_t len;

	if (beside_id(path, &id) < 0)
		return err_set(err, HARK_EINPUT, 0, "%s: it has no header",
			       path);
	begin_line(id, line, sizeof line);
	len = strlen(line);
	len += fmt_text(line + len, sizeof line - len, "%llu\n",
			(unsigned long long)instructions);
	if (beside_store(path, "count", line, len) < 0)
		return err_set(err, HARK_EIO, errno,
			       "cannot keep the count in %s.count: %s", path,
			       strerror(errno));
	return 0;
}
