/* image/needed.c - by the names in their dynamic segments. */
#include "image/needed.h"

#include "image/image_priv.h"

#include <string.h>

enum { NAME_MAX_LEN = 256, ENTRIES_MAX = 4096 };

/* The dynamic segment of one module. */
struct dynamic {
	struct image_file *file;
	uint64_t bias;
	uint64_t at, n;	  /* entries */
	uint64_t strings; /* link-time address; 0: none */
};

static bool entry(const struct dynamic *d, uint64_t i, Elf64_Dyn *out)
{
	size_t got = 0;

	return i < d->n && i < ENTRIES_MAX &&
	       image_file_read(d->file, d->at + i * sizeof *out, out,
			       sizeof *out, &got, NULL) == 0 &&
	       got == sizeof *out && out->d_tag != DT_NULL;
}

static bool open_dynamic(const struct module *m, struct dynamic *out)
{
	const Elf64_Phdr *p = m->file != NULL
				  ? elf_segment(m->file->elf, NULL, PT_DYNAMIC)
				  : NULL;
	Elf64_Dyn d;

	if (p == NULL)
		return false;
	*out = (struct dynamic){.file = m->file,
				.bias = m->bias,
				.at = p->p_vaddr,
				.n = p->p_filesz / sizeof d};
	for (uint64_t i = 0; entry(out, i, &d); i++)
		if (d.d_tag == DT_STRTAB)
			out->strings = d.d_un.d_ptr;
	return out->strings != 0;
}

/* A loader may have added the bias to where strings are. */
static bool text(const struct dynamic *d, uint64_t offset, char *out)
{
	for (int relocated = 0; relocated < 2; relocated++) {
		uint64_t at = d->strings + offset - (relocated ? d->bias : 0);
		size_t got = 0;

		if (image_file_read(d->file, at, out, NAME_MAX_LEN - 1, &got,
				    NULL) == 0 &&
		    got > 0) {
			out[got] = '\0';
			return true;
		}
	}
	return false;
}

/* By its file's name, or the one that it has given itself. */
static bool is_called(const struct module *m, const char *name)
{
	char own[NAME_MAX_LEN];
	struct dynamic d;
	Elf64_Dyn e;

	if (strcmp(m->name, name) == 0)
		return true;
	if (!open_dynamic(m, &d))
		return false;
	for (uint64_t i = 0; entry(&d, i, &e); i++)
		if (e.d_tag == DT_SONAME && text(&d, e.d_un.d_val, own))
			return strcmp(own, name) == 0;
	return false;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* Whoever has that name stays; true if that is new of any. */
static bool keep(const struct modules *all, const char *name, bool *out)
{
	bool is_new = false;

	for (size_t i = 0; i < modules_count(all); i++)
		if (!out[i] && is_called(modules_get(all, i), name))
			out[i] = is_new = true;
	return is_new;
}

static bool keep_needed(const struct modules *all, const struct module *m,
			bool *out)
{
	char name[NAME_MAX_LEN];
	bool is_new = false;
	struct dynamic d;
	Elf64_Dyn e;

	if (!open_dynamic(m, &d))
		return false;
	for (uint64_t i = 0; entry(&d, i, &e); i++)
		if (e.d_tag == DT_NEEDED && text(&d, e.d_un.d_val, name))
			is_new |= keep(all, last_part(name), out);
	return is_new;
}

void needed_find(const struct modules *all, bool *out)
{
	bool again = true;

	for (size_t i = 0; i < modules_count(all); i++)
		out[i] = modules_get(all, i)->main;
	while (again) {
		again = false;
		for (size_t i = 0; i < modules_count(all); i++)
			if (out[i])
				again |=
				    keep_needed(all, modules_get(all, i), out);
	}
}
