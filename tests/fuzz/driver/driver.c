/* tests/fuzz/driver/driver.c - runs a fuzzer's function on its corpus and on
 * mutations of it, without a fuzzing engine.
 *
 *	FUZZER [-runs=N] [-max_total_time=SECONDS] [-artifact_prefix=P] CORPUS
 *
 * `make check` has no build that is instrumented for coverage (that costs 90
 *CPU seconds): its fuzzers are this driver and the code of gcc's sanitized
 *build, and every machine tries the same inputs. `make fuzz-long` searches the
 *same functions with libFuzzer.
 *
 * The input under test is written to a file when it ends the process: by the
 * sanitizers, abort(), or SIGALRM if it takes too long. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sanitizer/common_interface_defs.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEEDS_MOST = 4096, INPUT_MOST = 1 << 16, INPUT_SECONDS = 20 };

struct input {
	uint8_t *bytes;
	size_t len;
};

static struct input seeds[SEEDS_MOST];
static unsigned n_seeds;
static uint8_t current[INPUT_MOST];
static size_t current_len;
static const char *prefix = "found-";

static _Noreturn void fail(const char *what, const char *path)
{
	fprintf(stderr, "%s: %s: %s\n", what, path, strerror(errno));
	exit(1);
}

/* -- An input that ends the process -- */

/* Async-signal-safe but for snprintf, which is given nothing that allocates. */
static void save_current(void)
{
	char path[512];
	int fd;

	snprintf(path, sizeof path, "%scrash-%d", prefix, (int)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd >= 0 && write(fd, current, current_len) == (ssize_t)current_len)
		dprintf(STDERR_FILENO, "the input is in %s\n", path);
}

static void end_by(int sig)
{
	save_current();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* -- Inputs -- */

static void run_input(const uint8_t *bytes, size_t len)
{
	/* Exactly as large as it is, so that the sanitizer sees its end. */
	uint8_t *copy = malloc(len > 0 ? len : 1);

	if (copy == NULL)
		fail("out of memory", "an input");
	memcpy(copy, bytes, len);
	if (bytes != current)
		memcpy(current, bytes, len);
	current_len = len;
	alarm(INPUT_SECONDS);
	LLVMFuzzerTestOneInput(copy, len);
	alarm(0);
	free(copy);
}

static void add_seed(const char *dir, const char *name)
{
	char path[1024];
	struct stat st;
	int fd;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		fail("cannot open", path);
	if (S_ISREG(st.st_mode)) {
		size_t len = (size_t)st.st_size;
		struct input *s = &seeds[n_seeds];

		if (len > INPUT_MOST)
			len = INPUT_MOST;
		if (n_seeds == SEEDS_MOST ||
		    (s->bytes = malloc(len + 1)) == NULL ||
		    read(fd, s->bytes, len) != (ssize_t)len)
			fail("cannot read", path);
		s->len = len;
		n_seeds++;
	}
	close(fd);
}

/* In the order of their names: every machine has the same. */
static void read_corpus(const char *dir)
{
	struct dirent **names;
	int n = scandir(dir, &names, NULL, alphasort);

	if (n < 0)
		fail("cannot read", dir);
	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.')
			add_seed(dir, names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

/* -- Mutations -- */

static uint64_t state = 0x9e3779b97f4a7c15;

/* Below `most`, which is not 0. */
static size_t random_below(size_t most)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)((state >> 11) % most);
}

/* Puts len bytes (NULL: random ones) between the bytes at `at`. */
static void insert_bytes(size_t at, const uint8_t *bytes, size_t len)
{
	if (len > INPUT_MOST - current_len)
		len = INPUT_MOST - current_len;
	memmove(current + at + len, current + at, current_len - at);
	for (size_t i = 0; i < len; i++)
		current[at + i] =
		    bytes != NULL ? bytes[i] : (uint8_t)random_below(256);
	current_len += len;
}

static void delete_bytes(size_t at, size_t len)
{
	if (len > current_len - at)
		len = current_len - at;
	memmove(current + at, current + at + len, current_len - at - len);
	current_len -= len;
}

/* A number at the edge of some type, in 1, 2, 4 or 8 bytes. */
static void overwrite_number(size_t at)
{
	static const uint64_t numbers[] = {
	    0,		1,	    0x7f,	 0x80,
	    0xff,	0x7fff,	    0xffff,	 0x7fffffff,
	    0x80000000, 0xffffffff, 0x100000000, INT64_MAX,
	    1ull << 63, UINT64_MAX, 4096,	 1ull << 47,
	};
	uint64_t v = numbers[random_below(sizeof numbers / sizeof *numbers)];
	size_t len = (size_t)1 << random_below(4);

	if (random_below(4) == 0)
		v = current_len - random_below(4);
	if (len > current_len - at)
		len = current_len - at;
	memcpy(current + at, &v, len);
}

static void insert_part_of_seed(size_t at)
{
	const struct input *s = &seeds[random_below(n_seeds)];
	size_t from = random_below(s->len + 1);

	insert_bytes(at, s->bytes + from, random_below(s->len - from + 1));
}

static void mutate_once(void)
{
	enum { MORE = 16 };
	size_t at;

	if (current_len == 0) {
		insert_bytes(0, NULL, 1 + random_below(MORE));
		return;
	}
	at = random_below(current_len);
	switch (random_below(8)) {
	case 0:
		current[at] ^= (uint8_t)(1u << random_below(8));
		break;
	case 1:
		current[at] = (uint8_t)random_below(256);
		break;
	case 2:
		insert_bytes(at, NULL, 1 + random_below(MORE));
		break;
	case 3:
		delete_bytes(at, 1 + random_below(MORE));
		break;
	case 4:
		overwrite_number(at);
		break;
	case 5:
		insert_part_of_seed(at);
		break;
	case 6:
		insert_bytes(at, current + random_below(at + 1), 1);
		break;
	default:
		if (random_below(8) == 0)
			current_len = at; /* cut off */
		else
			current[at] = (uint8_t)(current[at] + 1);
	}
}

static void run_mutation(void)
{
	enum { CHANGES = 6 };
	const struct input *s = &seeds[random_below(n_seeds)];

	memcpy(current, s->bytes, s->len);
	current_len = s->len;
	for (size_t n = 1 + random_below(CHANGES); n > 0; n--)
		mutate_once();
	run_input(current, current_len);
}

/* -- Main -- */

static const char *option_value(const char *word, const char *name)
{
	size_t len = strlen(name);

	return strncmp(word, name, len) == 0 ? word + len : NULL;
}

int main(int argc, char **argv)
{
	unsigned long runs = 0, seconds = 60, done = 0;
	time_t end;

	for (int i = 1; i < argc; i++) {
		const char *v;

		if ((v = option_value(argv[i], "-runs=")) != NULL)
			runs = strtoul(v, NULL, 10);
		else if ((v = option_value(argv[i], "-max_total_time=")) !=
			 NULL)
			seconds = strtoul(v, NULL, 10);
		else if ((v = option_value(argv[i], "-artifact_prefix=")) !=
			 NULL)
			prefix = v;
		else
			read_corpus(argv[i]);
	}
	if (n_seeds == 0) { /* an empty input is one, too */
		seeds[0].bytes = malloc(1);
		n_seeds = seeds[0].bytes != NULL;
	}
	__sanitizer_set_death_callback(save_current);
	signal(SIGABRT, end_by);
	signal(SIGALRM, end_by);
	end = time(NULL) + (time_t)seconds;
	for (; done < n_seeds; done++)
		run_input(seeds[done].bytes, seeds[done].len);
	for (; done < runs && time(NULL) < end; done++)
		run_mutation();
	fprintf(stderr, "stat::number_of_executed_units: %lu\n", done);
	for (unsigned i = 0; i < n_seeds; i++)
		free(seeds[i].bytes);
	return 0;
}
