/* present/stacks.h - weighted call stacks with names: what trees, lists, flame
 * graphs and other tools' files are made of.
 *
 * One tree for all threads; node 0 is the root, which is no frame. A frame is
 * one line of a stack as a person sees it: a function, an inlined one, or an
 * address that nobody has a name for. Samples are in order of time.
 *
 * Everything is borrowed from whoever made it, and stays as it is. Hosted. */
#ifndef PRESENT_STACKS_H
#define PRESENT_STACKS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct stacks_frame {
	const char *name;   /* demangled; of an unknown one "module+0x12" */
	const char *module; /* its file's name; "" if there is none */
	const char *file;   /* source; NULL: not known */
	uint32_t line;	    /* 0: not known */
	bool is_inlined;    /* into the frame before */
	bool is_guess;	    /* shown as "[guess]" */
	bool is_unknown;    /* no symbol */
};

struct stacks_node {
	uint32_t parent; /* less than its own number */
	uint32_t frame;	 /* of .frames */
};

struct stacks_thread {
	int pid, tid;
	const char *name; /* of the thread, or of the program */
};

struct stacks_sample {
	uint64_t time_ns; /* since the beginning */
	uint32_t thread;  /* of .threads */
	uint32_t node;
	uint64_t weight;
};

enum stacks_unit {
	STACKS_SAMPLES, /* a weight is a number of samples */
	STACKS_NS,
};

struct stacks {
	const char *title; /* the command */
	const char *event; /* what samples are of, in a word; or NULL */
	enum stacks_unit unit;
	uint64_t period_ns;   /* of one sample; 0: none */
	uint64_t duration_ns; /* of it all */
	const struct stacks_frame *frames;
	const struct stacks_node *nodes;
	const struct stacks_thread *threads;
	const struct stacks_sample *samples;
	size_t n_frames, n_nodes, n_threads, n_samples;
	/* For a person: what is missing, what is guessed; a line each. */
	const char *const *notes;
	size_t n_notes;
};

#endif
