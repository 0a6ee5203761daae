/* hark/recording.h - what a program did, from a recording of it.
 *
 * A recording holds processes, a process threads, a thread its whole life. A
 * timeline is one process of it, put to a moment: all registers and all memory
 * that is known, as they were then. It can be put to any other moment, and run
 * forwards and backwards from one to the next.
 *
 *	struct hark_recording *r;
 *	struct hark_timeline *t;
 *	struct hark_error err;
 *	struct hark_access w;
 *
 *	if (hark_open("latest.hark", &r, &err) < 0 ||
 *	    hark_timeline_open(r, 0, &t, &err) < 0)
 *		errx(1, "%s", err.text);
 *	hark_seek_end(t, &err);
 *	if (hark_last_write(t, address, 8, &w, &err) == 1)
 *		printf("%u:%llu\n", w.at.thread, w.at.count);
 *
 * Rules. Functions return 0, or -1 and fill *err (NULL is allowed); those that
 * look for something return 1 if it was found and 0 if there is none. Outputs
 * come last and are left alone on failure. Strings and structs behind pointers
 * live as long as what they were asked of. One thread at a time may use a
 * recording and its timelines; it need not always be the same.
 *
 * What the library promises to the program that uses it:
 *
 * - Nothing of a recording is executed in the program's own process. Each
 *   timeline is replayed in a child process, which has the recording open, no
 *   other file, no network, and only such system calls as computing needs
 *   (seccomp). What it answers is checked. If it dies, or takes more memory
 *than three quarters of the machine's (or HARK_MAX_MEMORY), the timeline's
 *functions fail from then on; the program goes on.
 * - The program's signal handlers, masks, alternate stacks and threads are left
 *   alone. The child takes no signals of the terminal or of other processes.
 * - The child is made by fork(), and so are some more while an index is made. A
 *   program that waits for any child sees those numbers, and SIGCHLD. They end
 *   when the timeline is closed, and when the program ends.
 * - After a fork() of the program, the copy may close its timelines, which does
 *   not harm the original's, and may do nothing else with them.
 *
 * Everything of a recording is untrusted: a file that was tampered with yields
 * errors or wrong answers, never harm. */
#ifndef HARK_RECORDING_H
#define HARK_RECORDING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct hark_recording; /* opaque */
struct hark_timeline;  /* opaque */

enum hark_error_code {
	HARK_ERROR_NONE,
	HARK_ERROR_FILE,     /* it cannot be read, or is no recording */
	HARK_ERROR_MEMORY,   /* none is left */
	HARK_ERROR_MACHINE,  /* this CPU lacks what the program used */
	HARK_ERROR_POSITION, /* there is no such moment */
	HARK_ERROR_DIVERGED, /* the replay is not what was recorded */
	HARK_ERROR_STOPPED,  /* the progress function said so */
	HARK_ERROR_ARGUMENT,
};
struct hark_error {
	enum hark_error_code code;
	char text[512]; /* one line for a person */
};

/* -- A recording ----------------------------------------------------------- */

/* A file that ends early is opened up to there (hark_is_complete). */
int hark_open(const char *path, struct hark_recording **out,
	      struct hark_error *err);
void hark_close(struct hark_recording *r);
int hark_is_complete(const struct hark_recording *r);

struct hark_process {
	uint32_t number; /* from 1 */
	uint32_t parent; /* forked from this one; 0: none */
	uint32_t pid;
	uint32_t n_threads;
	const char *program; /* its file; "": its parent's */
	const char *command; /* its words */
	int exit_status;     /* -1: not known */
	int exit_signal;     /* 0: none, or not known */
};
unsigned hark_n_processes(const struct hark_recording *r);
/* By its place, from 0. */
const struct hark_process *hark_process(const struct hark_recording *r,
					unsigned i);

/* A file that the process mapped, or the vdso: its bytes are in the recording
 * (len 0: they are not). */
struct hark_module {
	const char *path;
	const char *build_id; /* hexadecimal; "": none */
	const char *debug_of; /* debug information of this path; "": no */
	int is_source;	      /* a source file, no file that was mapped */
	const char *dir;      /* of it: compiled in this directory; "": no */
	uint64_t len;
};
unsigned hark_n_modules(const struct hark_recording *r);
const struct hark_module *hark_module(const struct hark_recording *r,
				      unsigned i);
/* For the caller to free. */
int hark_read_module(struct hark_recording *r, unsigned i, uint8_t **out,
		     size_t *len, struct hark_error *err);

/* -- Moments --------------------------------------------------------------- */

/* The instruction that is `step` after the one at which the thread's count
 * became `count`; it is about to be executed. As text: THREAD:COUNT,
 * THREAD:COUNT+STEP, PROCESS.THREAD:COUNT+STEP. */
struct hark_position {
	uint32_t process, thread;
	uint64_t count, step;
};

/* What hark_position_text writes ("12:345+6" is of the first process, whatever
 * the timeline's is); or, of the timeline's, "start", "end", "50%". */
int hark_position_parse(struct hark_timeline *t, const char *text,
			struct hark_position *out, struct hark_error *err);
/* Into at least 64 bytes. */
void hark_position_text(const struct hark_position *at, char *out, size_t size);
/* Of positions of one timeline: < 0, 0, > 0 as a comes before b, in the order
 * that all threads agree with. */
int hark_position_compare(struct hark_timeline *t,
			  const struct hark_position *a,
			  const struct hark_position *b);

/* -- A timeline ------------------------------------------------------------ */

/* At its start. process 0: the first. */
int hark_timeline_open(struct hark_recording *r, uint32_t process,
		       struct hark_timeline **out, struct hark_error *err);
void hark_timeline_close(struct hark_timeline *t);

/* Called every now and then (at least ten times a second) while something
 * takes long: done of total, in no particular unit. Not 0: it is given up,
 * with HARK_ERROR_STOPPED, and the timeline stays where it was. */
typedef int hark_progress(void *ctx, uint64_t done, uint64_t total);
void hark_on_progress(struct hark_timeline *t, hark_progress *f, void *ctx);

struct hark_thread {
	uint32_t number; /* from 1 */
	uint32_t tid;
	uint32_t parent;	   /* that made it; 0: not known */
	struct hark_position last; /* where its life, or the file, ends */
	int end_signal;		   /* that it died of; 0: none */
};
unsigned hark_n_threads(const struct hark_timeline *t);
const struct hark_thread *hark_thread(const struct hark_timeline *t,
				      unsigned i);
/* Does it live now? */
int hark_thread_lives(struct hark_timeline *t, uint32_t thread);
/* What it is called now; "": that is not known. It lives as long as the
 * recording is open. */
const char *hark_thread_name(struct hark_timeline *t, uint32_t thread);

/* The thread that moves. Seeking to a position of another one selects it. */
uint32_t hark_selected(const struct hark_timeline *t);
int hark_select(struct hark_timeline *t, uint32_t thread,
		struct hark_error *err);

struct hark_position hark_where(struct hark_timeline *t);
int hark_seek(struct hark_timeline *t, const struct hark_position *to,
	      struct hark_error *err);
int hark_seek_start(struct hark_timeline *t, struct hark_error *err);
int hark_seek_end(struct hark_timeline *t, struct hark_error *err);

/* Makes it quick to move between two moments of one thread: n more frames are
 * made there, and kept while there is memory for them. (Some are made near
 * wherever one goes; this is for a range that is known beforehand.) */
int hark_prepare(struct hark_timeline *t, const struct hark_position *from,
		 const struct hark_position *to, unsigned n,
		 struct hark_error *err);
/* Makes the index of the process, with all processors, if it is not there yet:
 * searches (hark_run, hark_accesses, ...) then look only where there is
 * something to find. It is kept beside the recording, in a file .index, if that
 * can be written. (Long searches make it by themselves.) */
int hark_prepare_search(struct hark_timeline *t, struct hark_error *err);
/* The same if the recording is so long that a search takes longer without. To
 * be called before anything else is asked: what is asked without an index
 * replays threads with all of their memory. */
int hark_prepare_long_search(struct hark_timeline *t, struct hark_error *err);

/* -- State at this moment -------------------------------------------------- */

/* General registers by hardware number: rax rcx rdx rbx rsp rbp rsi rdi, r8
 * to r15. */
struct hark_registers {
	uint64_t gpr[16];
	uint64_t rip, rflags, fs_base, gs_base;
	/* As the xsave instruction stores them, in its standard format. Those
	 * that xstate_bv does not name are in their initial state. Of the last
	 * x87 instruction nothing is known: its address, its operand's and its
	 * opcode are 0. */
	uint64_t xstate_bv;
	uint32_t xsave_len;
	uint8_t xsave[16384];
};
int hark_registers(struct hark_timeline *t, uint32_t thread,
		   struct hark_registers *out, struct hark_error *err);

/* Memory as far as it is known: what any thread of the process has loaded or
 * stored before, and otherwise what files held that are mapped there. known[i]
 * is 0 where out[i] is not. Returns how many bytes are known. */
size_t hark_read(struct hark_timeline *t, uint64_t address, size_t len,
		 uint8_t *out, uint8_t *known, struct hark_error *err);

/* The first address in [address, end) of which something may be known; nothing
 * is of those before it. `end`, if there is none. To pass over what a process
 * has mapped and never used. The first call may take as long as a replay of the
 * whole process. */
uint64_t hark_next_known(struct hark_timeline *t, uint64_t address,
			 uint64_t end);

/* Mappings of this moment that are of files, and those whose whereabouts the
 * program's system calls tell: in ascending order. They live until the next
 * call. */
struct hark_mapping {
	uint64_t start, end, offset;
	uint32_t prot;	    /* PROT_*; 0: it cannot be accessed */
	uint32_t prot_ever; /* all that was allowed since it was mapped */
	int module;	    /* its place among modules; -1: none */
	const char *path;   /* "": no file */
};
int hark_mappings(struct hark_timeline *t, const struct hark_mapping **out,
		  unsigned *n, struct hark_error *err);

/* If the thread is about to enter a handler, or died: the signal, and its
 * siginfo_t (128 bytes). */
int hark_signal(struct hark_timeline *t, uint32_t thread, int *signo,
		uint8_t siginfo[128], struct hark_error *err);

/* -- Moving ---------------------------------------------------------------- */

enum hark_direction { HARK_FORWARD, HARK_BACKWARD };

enum hark_stop {
	HARK_STOP_STEP,	      /* as many steps as were asked for */
	HARK_STOP_BREAKPOINT, /* at one: about to execute it */
	HARK_STOP_WATCH,      /* forward: behind the access; backward: before */
	HARK_STOP_CALL,	      /* at a system call */
	HARK_STOP_SIGNAL,     /* a signal is about to be delivered */
	HARK_STOP_START,      /* there is nothing before this */
	HARK_STOP_END,	      /* nor behind this */
};

struct hark_stopped {
	enum hark_stop why;
	uint32_t thread;   /* selected now */
	uint64_t address;  /* of the breakpoint, or accessed */
	uint32_t size;	   /* of the access */
	uint32_t is_write; /* it was one */
	uint32_t id;	   /* of breakpoint or watchpoint */
	int64_t call;	   /* the system call's number */
	int signal;
};

/* The selected thread alone, by instructions. */
int hark_step(struct hark_timeline *t, enum hark_direction way, uint64_t n,
	      struct hark_stopped *out, struct hark_error *err);
/* All threads, in the order that they agree with, to the next place where
 * something was asked to be stopped at. */
int hark_run(struct hark_timeline *t, enum hark_direction way,
	     struct hark_stopped *out, struct hark_error *err);

/* Any number of them; ids are from 1. A condition is asked when its breakpoint
 * (or watchpoint) is met; the timeline is at that moment, and registers and
 * memory may be read. 0: it is not stopped there. */
typedef int hark_condition(void *ctx, struct hark_timeline *t);
enum { HARK_ANY_THREAD = 0 };
uint32_t hark_break(struct hark_timeline *t, uint64_t address, uint32_t thread,
		    hark_condition *when, void *ctx);
enum { HARK_ON_WRITE = 1, HARK_ON_READ = 2 };
uint32_t hark_watch(struct hark_timeline *t, uint64_t address, uint64_t len,
		    unsigned on, uint32_t thread, hark_condition *when,
		    void *ctx);
/* System calls (number -1: all), signals (0: all). */
uint32_t hark_catch_call(struct hark_timeline *t, int64_t number);
uint32_t hark_catch_signal(struct hark_timeline *t, int signal);
void hark_forget_stop(struct hark_timeline *t, uint32_t id);

/* -- Questions ------------------------------------------------------------- */

/* The timeline stays where it is. */

struct hark_access {
	struct hark_position at; /* of the instruction */
	uint64_t pc;
	uint64_t address; /* of the whole access */
	uint32_t size;
	uint32_t is_write;
	uint32_t known; /* how much of before is */
	uint32_t pad;
	uint64_t before_known; /* a bit for each byte of it */
	uint64_t after_known;  /* mostly all of them */
	uint8_t before[64];    /* what was there, as far as it is known */
	uint8_t after[64];     /* what the instruction left there; likewise */
};
/* The last write to any of these bytes before now. What was written before
 * something else was mapped there does not count. A forked process may have
 * them from its parent: out->at says whose moment it is. */
int hark_last_write(struct hark_timeline *t, uint64_t address, uint64_t len,
		    struct hark_access *out, struct hark_error *err);
/* All accesses of this kind between two moments, in their order. Not 0 from
 * `each` ends it. */
typedef int hark_each_access(void *ctx, const struct hark_access *a);
int hark_accesses(struct hark_timeline *t, uint64_t address, uint64_t len,
		  unsigned on, const struct hark_position *from,
		  const struct hark_position *to, hark_each_access *each,
		  void *ctx, struct hark_error *err);
/* Every time that an address was executed, in the order that all threads agree
 * with. `at` is the timeline's place while `each` is called, so registers and
 * memory can be read. */
typedef int hark_each_visit(void *ctx, struct hark_timeline *t,
			    const struct hark_position *at);
int hark_visits(struct hark_timeline *t, uint64_t address,
		const struct hark_position *from,
		const struct hark_position *to, hark_each_visit *each,
		void *ctx, struct hark_error *err);
/* The same for n addresses at once; the program counter says which. The first
 * n_functions of them are the first instructions of functions, and the places
 * that those return to are visited, too: each address that was seen on top of
 * the stack at a call, from then on in the thread that made the call. (Control
 * may come to such a place without a return; the stack pointer tells returns
 * apart.) */
int hark_visits_of(struct hark_timeline *t, const uint64_t *addresses,
		   unsigned n, unsigned n_functions,
		   const struct hark_position *from,
		   const struct hark_position *to, hark_each_visit *each,
		   void *ctx, struct hark_error *err);

/* Two accesses of different threads to the same bytes, at least one of them a
 * write, that nothing puts in order: no locked instruction, no system call that
 * tells the one thread of the other, no begin or end of a thread. That a load
 * saw what was stored is no order: it might have seen something else. */
struct hark_race {
	struct hark_access first, second; /* as it came in this recording */
	uint64_t address;		  /* of the bytes that both touch */
	uint32_t size;
	uint64_t times; /* pairs of stretches of the two threads in which it
			 * is so, for this pair of instructions */
};
/* Each pair of instructions comes once. Not 0 from `each` ends it. 1: there
 * are such; 0: there are none. */
typedef int hark_each_race(void *ctx, const struct hark_race *r);
int hark_races(struct hark_timeline *t, hark_each_race *each, void *ctx,
	       struct hark_error *err);

/* What these bytes (at most 64) may hold at this moment, if nothing puts other
 * threads' writes before it or behind it: hark_read has what they held in the
 * order that this recording happens to have. Every write that may have been the
 * last one before the moment, with the bytes behind it, as far as the writer
 * knew them. by: NULL if it may be that none of them has come yet. Not 0 from
 * `each` ends it. Returns how many were told; 0 or 1: nobody races. */
typedef int hark_each_possible(void *ctx, const struct hark_access *by,
			       const uint8_t *bytes, const uint8_t *known);
int hark_possible(struct hark_timeline *t, uint64_t address, uint64_t len,
		  hark_each_possible *each, void *ctx, struct hark_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
