/* gdb/gdb_priv.h - what the server's files share.
 *
 * Handlers of packets are called on_X(g, w): w stands behind the name of the
 * packet, and the answer goes to g->out, which is empty at first. An empty
 * answer means that the packet is not known. */
#ifndef GDB_GDB_PRIV_H
#define GDB_GDB_PRIV_H

#include "gdb/doc.h"
#include "gdb/regs.h"
#include "gdb/server.h"
#include "gdb/words.h"

#include <stdbool.h>

enum { /* errors of packets are errno's numbers */
       GDB_EPERM = 1,
       GDB_EFAULT = 14,
       GDB_EINVAL = 22,
       GDB_ENOMEM = 12,
};

enum {
	GDB_FILES_MAX = 64,
	GDB_SIGNALS = 65,   /* Linux's, from 1 */
	GDB_AUXV_MAX = 128, /* words; Linux has some forty */
};

/* How bytes read that are not known. */
enum gdb_unknown {
	GDB_UNKNOWN_ERROR, /* not at all */
	GDB_UNKNOWN_MARK,  /* among known ones as '?' */
	GDB_UNKNOWN_ZERO,  /* wherever something is mapped as 0 */
};

struct gdb_file {
	bool is_open;
	const uint8_t *bytes; /* borrowed: of a module, or of doc */
	size_t len;
	struct doc doc; /* what was made up for it */
};

struct gdb_library {
	char *path; /* owned */
	uint64_t start, end, bias, dynamic;
	int module;
	struct hark_position seen; /* the latest moment at which it was */
	bool is_mapped;		   /* at the moment of the last list */
};

struct gdb_bytes {
	uint8_t *bytes; /* owned; NULL: not read yet */
	size_t len;
};

typedef void gdb_writer(struct gdb *g, struct doc *out); /* of a document */

struct gdb_stop; /* a breakpoint or watchpoint: stops.c */

struct gdb {
	const struct gdb_api *api;
	struct hark_recording *recording; /* borrowed */
	struct hark_timeline *t;	  /* owned */
	const struct hark_process *process;
	volatile sig_atomic_t *interrupt; /* borrowed, or NULL */
	struct gdb_early {		  /* when its program began */
		struct hark_position at;
		uint64_t auxv[GDB_AUXV_MAX];
		unsigned n_auxv; /* 0: it is not known */
		uint64_t dynamic;
		size_t len; /* 0: it is not known */
		uint8_t bytes[4096];
	} early;

	/* The conversation */
	int fd; /* -1: none, as in tests */
	bool no_acks, is_extended, is_over, is_mute, multiprocess;
	bool is_lost;  /* no timeline could be opened again */
	bool is_away;  /* killed or detached; run brings it back */
	bool is_asked; /* a question, not a movement, takes its time */
	bool shows_progress;
	enum gdb_unknown unknown;
	int64_t shown_ms; /* when progress was shown last */
	struct packet_reader in;
	uint8_t bytes[4096]; /* received, but not looked at yet */
	size_t bytes_at, bytes_end;
	struct packet out;
	char frame[PACKET_MAX + 4];

	/* Where things stand */
	uint32_t general; /* the thread that questions are about */
	uint32_t mover;	  /* that steps; 0: any */
	struct hark_stopped stopped;
	bool is_interrupted, is_stopped; /* stopped is of a movement */
	bool is_break_queued; /* an interrupt, for the next movement */

	struct regs regs;
	struct hark_registers registers;
	struct gdb_stop *stops;	  /* owned list */
	uint64_t n_asked, n_held; /* conditions */
	uint32_t call_stops[64], signal_stops[GDB_SIGNALS];
	unsigned n_call_stops;
	unsigned thread_next; /* of qsThreadInfo */
	struct doc doc;	      /* of the last qXfer */
	gdb_writer *doc_of;   /* who wrote it */
	struct gdb_file files[GDB_FILES_MAX];
	struct gdb_bytes *modules; /* owned; one each */
	struct gdb_maps {
		struct hark_mapping *at; /* owned, paths too */
		unsigned n;
		struct hark_position when;
		bool is_valid;
	} maps;
	unsigned n_modules;
	struct gdb_library *libraries; /* owned: that were seen so far */
	unsigned n_libraries;
};

typedef void gdb_handler(struct gdb *g, struct words *w);

/* answer.c */
void gdb_ok(struct gdb *g);
void gdb_fail(struct gdb *g, unsigned number);
/* A line on the user's console, at once: only while gdb waits for a movement
 * or a question of the user's. */
void gdb_console(struct gdb *g, const char *text);
void gdb_send(struct gdb *g, const struct packet *p);
/* Waits for bytes, when all that came were looked at: 1; 0: the end. */
int gdb_receive(struct gdb *g);
/* What there is to say while something takes long; not 0: stop. */
int gdb_progress(void *ctx, uint64_t done, uint64_t total);

/* threads.c */
const struct hark_thread *gdb_thread(struct gdb *g, uint32_t number);
/* The one of this tid that lives now, or else the last; 0: none. */
uint32_t gdb_thread_of(struct gdb *g, const struct words_thread *id);
/* Its id, as packets have it. */
void gdb_thread_id(struct gdb *g, uint32_t number, char out[32]);
/* The general thread, or whichever lives. */
uint32_t gdb_current(struct gdb *g);
/* What it is called; or else what the program is. */
const char *gdb_thread_name(struct gdb *g, uint32_t number);
void gdb_threads_xml(struct gdb *g, struct doc *out);
gdb_handler on_select, on_alive, on_current, on_first_threads, on_next_threads,
    on_thread_text;

/* registers.c */
gdb_handler on_registers, on_register;
int gdb_registers(struct gdb *g, uint32_t thread);
void gdb_put_register(struct gdb *g, struct packet *out, unsigned number);

/* memory.c */
/* 0 if all of it is known. */
int gdb_read(struct gdb *g, uint64_t address, void *out, size_t len);
gdb_handler on_memory, on_region, on_search, on_crc;

/* layout.c */
struct gdb_elf {			    /* an ELF file where it is mapped */
	const struct hark_mapping *mapping; /* of its first byte */
	uint64_t bias, phdr, entry, dynamic; /* run-time addresses; 0: none */
	uint64_t code;			     /* the first that is executable */
	uint64_t end;
	uint64_t dynamic_offset, dynamic_len; /* in the file */
	unsigned n_phdr;
	char interp[256];
};
int gdb_elf_at(struct gdb *g, const struct hark_mapping *m,
	       struct gdb_elf *out);
/* The program itself. */
int gdb_elf_main(struct gdb *g, struct gdb_elf *out);
/* Those of this moment; a copy, for reading memory may move the timeline's.
 * It lives as long as the moment. */
int gdb_mappings(struct gdb *g, const struct hark_mapping **out, unsigned *n);
void gdb_maps_free(struct gdb *g);
const struct hark_mapping *gdb_mapping_at(struct gdb *g, uint64_t address);
const char *gdb_program(struct gdb *g);
const char *gdb_short_name(struct gdb *g); /* without its directory */
void gdb_auxv(struct gdb *g, struct doc *out);

/* early.c */
/* The timeline is at its start, and its registers are g->registers; it may be
 * anywhere afterwards. */
void gdb_early_find(struct gdb *g);
/* What cannot have changed since the program began: 1; 0: it is not that. */
int gdb_read_fixed(struct gdb *g, uint64_t address, size_t len, uint8_t *out);

/* libraries.c */
void gdb_libraries_xml(struct gdb *g, struct doc *out);
void gdb_libraries_forget(struct gdb *g);
/* One that is not mapped yet, but will be, here; NULL: none. */
const struct gdb_library *gdb_library_later(struct gdb *g, uint64_t address);
gdb_handler on_tls;

/* proc.c: files of /proc that the recording can tell; -1: not this one */
int gdb_proc_file(struct gdb *g, const char *path, struct doc *out);

/* files.c */
const struct gdb_bytes *gdb_module_bytes(struct gdb *g, unsigned i);
gdb_handler on_file;
void gdb_files_close(struct gdb *g);

/* stops.c */
gdb_handler on_insert, on_remove, on_pass_signals, on_catch_calls;
void gdb_stops_clear(struct gdb *g);
void gdb_catch_signals(struct gdb *g, uint64_t passed);
/* The watchpoint with this id: where it begins, and of which kind; else
 * NULL. */
const char *gdb_watch_of(struct gdb *g, uint32_t id, uint64_t *start,
			 unsigned *type);

/* moves.c */
gdb_handler on_why, on_continue, on_step, on_back_continue, on_back_step,
    on_actions, on_actions_known, on_run, on_restart, on_kill, on_kill_old,
    on_detach, on_attach;
unsigned gdb_signal_number(int linux_signal);
int gdb_is_same(const struct hark_position *a, const struct hark_position *b);

/* monitor.c */
gdb_handler on_monitor;

/* xfer.c */
gdb_handler on_transfer;

/* server.c */
/* Another process of the recording, by its number, at a position. */
int gdb_open_process(struct gdb *g, uint32_t number, const char *at,
		     struct hark_error *err);

#endif
