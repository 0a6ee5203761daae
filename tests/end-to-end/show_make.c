/* tests/end-to-end/show_make.c - writes a profile by a script, as hark profile
 * would.
 *
 *	show_make OUT [WORD...] <SCRIPT
 *
 *	maps PID FILE...	what is mapped; the program first
 *	thread PID TID NAME
 *	gone PID TID
 *	sample PID TID TIME WEIGHT MAP KEPT END [FRAME...]
 *	many PID TID N DEPTH CHANGED FUNCTIONS	samples of such stacks
 *	lost N REASON
 *	flush
 *	finish STATUS TIME	wait status; without it the file is cut off
 *
 * A frame is FILE:SYMBOL+OFFSET or a number; with an r before it, it is a
 *return address; with ?N behind it, it was found by way N. FILE counts from 0.
 *Times are ns from the beginning. */
#include "image/image.h"
#include "image/symbols.h"
#include "profile/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { FILES = 16, WORDS = 8192, BEGAN = 1000000 };

static struct image *im;
static struct image_file *files[FILES];
static uint64_t bias_of_file[FILES];
static struct profile_writer *w;
static struct hark_err err;

static int fail(const char *what)
{
	fprintf(stderr, "show_make: %s: %s\n", what, err.text);
	exit(1);
}

static void maps(int pid, char **paths, int n)
{
	struct module_spec specs[FILES] = {0};
	struct module_range ranges[FILES];
	struct modules *m;

	for (int i = 0; i < n && i < FILES; i++) {
		uint64_t low = 0, high = 0;

		bias_of_file[i] = (uint64_t)(i + 1) << 32;
		specs[i] = (struct module_spec){.path = paths[i],
						.bias = bias_of_file[i],
						.ranges = &ranges[i],
						.n_ranges = 1,
						.kind = MODULE_SO,
						.main = i == 0};
		if (paths[i][0] != '/') { /* [anon] */
			specs[i].kind = MODULE_ANON;
			ranges[i] = (struct module_range){
			    bias_of_file[i], bias_of_file[i] + 0x100000};
			continue;
		}
		if (image_open(im, paths[i], &files[i], &err) < 0 ||
		    !image_file_code_span(files[i], &low, &high))
			fail(paths[i]);
		specs[i].id = image_file_id(files[i], &specs[i].id_len);
		ranges[i] = (struct module_range){bias_of_file[i] + low,
						  bias_of_file[i] + high};
	}
	/* As a process has it: a file, with a build-id or without. */
	if ((n == 1 && paths[0][0] == '/'
		 ? modules_of_file(im, paths[0], bias_of_file[0], &m, &err)
		 : modules_of_list(im, specs, (size_t)n, &m, &err)) < 0 ||
	    profile_maps(w, pid, m, &err) < 0)
		fail("maps");
	modules_free(m);
}

static struct profile_frame frame_of(char *text)
{
	struct profile_frame f = {0};
	char *how = strchr(text, '?'), *colon, *plus;
	struct symbol s;
	int file;

	if (how != NULL) {
		*how = '\0';
		f.how = (uint8_t)atoi(how + 1);
	}
	if (*text == 'r') {
		f.is_return = 1;
		text++;
	}
	colon = strchr(text, ':');
	if (colon == NULL) {
		f.pc = strtoull(text, NULL, 0);
		return f;
	}
	file = atoi(text);
	plus = strchr(colon, '+');
	if (plus != NULL) {
		*plus = '\0';
		f.pc = strtoull(plus + 1, NULL, 0);
	}
	if (symbols_named(files[file], colon + 1, &s, &err) < 0)
		fail(colon + 1);
	f.pc += s.addr + bias_of_file[file];
	return f;
}

static void put(struct profile_sample *s)
{
	s->time_ns += BEGAN;
	if (profile_put(w, s, &err) < 0)
		printf("refused: %s\n", err.text);
}

static void sample(char **word, int n)
{
	static struct profile_frame frames[WORDS];
	struct profile_sample s = {.pid = atoi(word[1]),
				   .tid = atoi(word[2]),
				   .time_ns = strtoull(word[3], NULL, 0),
				   .weight = strtoull(word[4], NULL, 0),
				   .map = (uint32_t)atoi(word[5]),
				   .kept = (uint32_t)atoi(word[6]),
				   .end = (uint8_t)atoi(word[7]),
				   .frames = frames};

	for (int i = 8; i < n; i++)
		frames[s.n++] = frame_of(word[i]);
	put(&s);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* Of each stack the last few frames are new, any of so many functions; a
 * thousand times a second, more or less. */
static void many(char **word)
{
	uint32_t n = (uint32_t)atoi(word[3]), depth = (uint32_t)atoi(word[4]);
	uint32_t changed = (uint32_t)atoi(word[5]);
	uint64_t functions = (uint64_t)atoi(word[6]), state = 1, time = 0;
	struct profile_frame *frames = calloc(depth, sizeof *frames);

	for (uint32_t i = 0; i < n; i++) {
		struct profile_sample s = {.pid = atoi(word[1]),
					   .tid = atoi(word[2]),
					   .weight = 1,
					   .kept = i == 0 ? 0 : depth - changed,
					   .frames = frames};

		s.n = depth - s.kept;
		for (uint32_t j = 0; j < s.n; j++)
			frames[j] = (struct profile_frame){
			    .pc = bias_of_file[0] + 0x2000 +
				  next_random(&state) % functions * 15 + 0x1200,
			    .is_return = j + 1 < s.n};
		time += 1000000 + next_random(&state) % 4096;
		s.time_ns = time;
		put(&s);
	}
	free(frames);
}

static void finish(char **word)
{
	struct profile_ending e = {.ended_ns = BEGAN + strtoull(word[2], 0, 0),
				   .cpu_user_ns = 1500000000,
				   .cpu_system_ns = 250000000,
				   .has_status = true,
				   .status = (int)strtol(word[1], NULL, 0)};

	if (profile_finish(w, &e, &err) < 0)
		fail("finish");
}

static void obey(char **word, int n)
{
	if (strcmp(word[0], "maps") == 0)
		maps(atoi(word[1]), word + 2, n - 2);
	else if (strcmp(word[0], "thread") == 0)
		profile_thread(w, atoi(word[1]), atoi(word[2]), word[3], &err);
	else if (strcmp(word[0], "gone") == 0)
		profile_thread_gone(w, atoi(word[1]), atoi(word[2]));
	else if (strcmp(word[0], "sample") == 0)
		sample(word, n);
	else if (strcmp(word[0], "many") == 0)
		many(word);
	else if (strcmp(word[0], "lost") == 0)
		profile_lost(w, word[2], strtoull(word[1], NULL, 0));
	else if (strcmp(word[0], "flush") == 0 && profile_flush(w, &err) < 0)
		fail("flush");
	else if (strcmp(word[0], "finish") == 0)
		finish(word);
}

static int split(char *line, char **word)
{
	int n = 0;

	for (char *at = strtok(line, " \n"); at != NULL && n < WORDS;
	     at = strtok(NULL, " \n"))
		word[n++] = at;
	return n;
}

int main(int argc, char **argv)
{
	static char *word[WORDS];
	const char *clock = getenv("SHOW_CLOCK");
	struct profile_plan plan = {
	    .argv = argc > 2 ? argv + 2 : NULL,
	    .clock =
		clock == NULL ? PROFILE_CPU : (enum profile_clock)atoi(clock),
	    .period_ns = 1003009,
	    .began_ns = BEGAN,
	};
	char *line = NULL;
	size_t size = 0;
	int n;

	if (image_new(&im, &err) < 0 ||
	    file_create(argv[1], 1, &plan.file, &err) < 0 ||
	    profile_create(&plan, &w, &err) < 0)
		fail(argv[1]);
	while (getline(&line, &size, stdin) > 0) {
		n = split(line, word);
		if (n > 0)
			obey(word, n);
	}
	profile_close(w);
	image_free(im);
	free(line);
	return 0;
}
