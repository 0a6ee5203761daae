/* tests/end-to-end/image_mutate.c - ask everything of damaged ELF files.
 *
 *	image_mutate FROM TO FILE...
 *
 * Makes mutations FROM to TO - 1, a pure function of their number and the
 * file, and gives each to the fuzz target. Children do batches; a child that
 * dies or hangs is reported with the number of its mutation, and the next
 * goes on behind it. Ends with a line of counts; status 1 if any was bad.
 *
 * What is damaged is chosen so that parsers are reached: headers, section
 * headers, and each section that hark reads have the same chance, however
 * long they are. */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BATCH = 200, SECONDS = 10, PARTS = 128 };

struct part {
	size_t at, len;
};

struct file {
	const char *path;
	uint8_t *bytes;
	size_t len;
	struct part part[PARTS];
	size_t n_parts;
};

static uint64_t state;

static uint64_t draw(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return below > 0 ? state % below : state;
}

static void add_part(struct file *f, size_t at, size_t len)
{
	if (f->n_parts < PARTS && len > 0 && at <= f->len && len <= f->len - at)
		f->part[f->n_parts++] = (struct part){at, len};
}

static int is_read(const char *name)
{
	static const char *const names[] = {
	    ".debug", ".zdebug", ".eh_frame", ".symtab",   ".strtab",
	    ".dyn",   ".gnu",	 ".plt",      ".rela.plt", ".note"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return 1;
	return 0;
}

static void find_parts(struct file *f)
{
	const Elf64_Ehdr *eh = (const void *)f->bytes;
	const Elf64_Shdr *sh = (const void *)(f->bytes + eh->e_shoff);
	const char *names;
	size_t names_at;

	add_part(f, 0, f->len < sizeof *eh ? f->len : sizeof *eh);
	if (f->len < sizeof *eh || eh->e_shstrndx >= eh->e_shnum ||
	    eh->e_shoff > f->len ||
	    eh->e_shnum * sizeof *sh > f->len - eh->e_shoff ||
	    sh[eh->e_shstrndx].sh_offset > f->len - 32) {
		add_part(f, 0, f->len); /* damaged already */
		return;
	}
	add_part(f, eh->e_phoff, eh->e_phnum * sizeof(Elf64_Phdr));
	add_part(f, eh->e_shoff, eh->e_shnum * sizeof *sh);
	names_at = sh[eh->e_shstrndx].sh_offset;
	names = (const char *)f->bytes + names_at;
	for (int i = 0; i < eh->e_shnum; i++)
		if (sh[i].sh_type != SHT_NOBITS &&
		    sh[i].sh_name < f->len - 16 - names_at &&
		    is_read(names + sh[i].sh_name))
			add_part(f, sh[i].sh_offset, sh[i].sh_size);
}

static void load(struct file *f)
{
	int fd = open(f->path, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		perror(f->path);
		exit(2);
	}
	f->len = (size_t)st.st_size;
	f->bytes = malloc(f->len);
	if (f->bytes == NULL || read(fd, f->bytes, f->len) != (ssize_t)f->len) {
		perror(f->path);
		exit(2);
	}
	close(fd);
	find_parts(f);
}

/* One change at one place. */
static void damage(uint8_t *bytes, size_t len, size_t at)
{
	static const uint64_t odd[] = {
	    0,		1,	    0x7f,     0x80,	  0xff,
	    0x7fff,	0x8000,	    0xffff,   0x7fffffff, 0x80000000,
	    0xffffffff, UINT64_MAX, INT64_MAX};
	size_t width = (size_t)1 << draw(4);
	uint64_t v = odd[draw(sizeof odd / sizeof odd[0])];

	width = width < len - at ? width : len - at;
	switch (draw(4)) {
	case 0:
		bytes[at] ^= (uint8_t)(1u << draw(8));
		break;
	case 1:
		bytes[at] = (uint8_t)draw(256);
		break;
	case 2:
		memcpy(bytes + at, &v, width);
		break;
	default: /* from elsewhere in the file */
		memmove(bytes + at, bytes + draw(len - width + 1), width);
	}
}

static size_t mutate(const struct file *f, uint64_t number, uint8_t *bytes)
{
	size_t len = f->len;

	state = (number + 1) * 0x9e3779b97f4a7c15;
	draw(0);
	memcpy(bytes, f->bytes, len);
	if (draw(16) == 0)
		len = 1 + draw(len); /* cut off */
	for (uint64_t n = 1 + draw(6); n > 0; n--) {
		const struct part *p = &f->part[draw(f->n_parts)];
		size_t at = p->at + draw(p->len);

		if (at < len)
			damage(bytes, len, at);
	}
	return len;
}

/* Never returns. */
static void run_batch(const struct file *f, uint64_t from, uint64_t to,
		      volatile uint64_t *now)
{
	uint8_t *bytes = malloc(f->len);

	if (bytes == NULL)
		_exit(2);
	for (uint64_t i = from; i < to; i++) {
		/* A block of its own length: reading past it is seen. */
		size_t len = mutate(f, i, bytes);
		uint8_t *own = malloc(len);

		if (own == NULL)
			_exit(2);
		memcpy(own, bytes, len);
		*now = i;
		alarm(SECONDS);
		LLVMFuzzerTestOneInput(own, len);
		alarm(0);
		free(own);
	}
	free(bytes);
	exit(0); /* not _exit: leaks are counted */
}

static unsigned run_file(const struct file *f, uint64_t from, uint64_t to)
{
	volatile uint64_t *now = mmap(NULL, sizeof *now, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned bad = 0;

	while (from < to) {
		uint64_t until = from + BATCH < to ? from + BATCH : to;
		int status;
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (pid == 0)
			run_batch(f, from, until, now);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			exit(2);
		if (status == 0) {
			from = until;
			continue;
		}
		printf("%s: mutation %lu: %s %d\n", f->path,
		       (unsigned long)*now,
		       WIFSIGNALED(status) ? "signal" : "status",
		       WIFSIGNALED(status) ? WTERMSIG(status)
					   : WEXITSTATUS(status));
		bad++;
		from = *now + 1;
	}
	munmap((void *)now, sizeof *now);
	return bad;
}

/* image_mutate write N FILE OUT: one mutation, to look at. */
static int write_one(uint64_t number, const char *path, const char *out)
{
	struct file f = {.path = path};
	uint8_t *bytes;
	FILE *to = fopen(out, "w");
	size_t len;

	load(&f);
	bytes = malloc(f.len);
	if (to == NULL || bytes == NULL)
		return 2;
	len = mutate(&f, number, bytes);
	fwrite(bytes, 1, len, to);
	free(bytes);
	free(f.bytes);
	return fclose(to) != 0;
}

int main(int argc, char **argv)
{
	unsigned bad = 0;
	uint64_t from, to;

	if (argc == 5 && strcmp(argv[1], "write") == 0)
		return write_one(strtoull(argv[2], NULL, 0), argv[3], argv[4]);
	if (argc < 4)
		return 2;
	from = strtoull(argv[1], NULL, 0);
	to = strtoull(argv[2], NULL, 0);
	for (int i = 3; i < argc; i++) {
		struct file f = {.path = argv[i]};

		load(&f);
		bad += run_file(&f, from, to);
		free(f.bytes);
	}
	printf("%lu mutations, %u bad\n",
	       (unsigned long)(to - from) * (unsigned)(argc - 3), bad);
	return bad != 0;
}
