/* tests/unit/stacks_sample.c - makes profiles of random walks.
 *
 * A sample's stack is the one before, less a few frames, plus a few others: as
 * programs do it. Node numbers are in order of first sight. */
#include "stacks_sample.h"

#include "present/intern.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 1 << 17, PERIOD_NS = 1003009 };

struct walk {
	struct stacks_sample_set *g;
	struct intern nodes; /* parent, frame */
	uint64_t seed;
	uint32_t *path; /* node numbers, the root first */
	size_t depth;
};

static uint32_t any(struct walk *w, uint32_t below)
{
	w->seed ^= w->seed << 13;
	w->seed ^= w->seed >> 7;
	w->seed ^= w->seed << 17;
	return (uint32_t)(w->seed >> 16) % below;
}

/* -- Walking ----------------------------------------------------------------
 */

static uint32_t frame_at(const struct walk *w, size_t depth)
{
	return depth == 0 ? UINT32_MAX : w->nodes.keys[w->path[depth] - 1].n[1];
}

static void push(struct walk *w, uint32_t frame)
{
	struct intern_key key = {{w->path[w->depth], frame}};
	uint32_t id;

	if (w->depth + 1 >= DEPTH_MAX || intern_key(&w->nodes, key, &id) < 0)
		abort();
	w->path[++w->depth] = id + 1;
}

static void pop_to(struct walk *w, size_t depth)
{
	if (depth < w->depth)
		w->depth = depth;
}

static void take(struct walk *w, size_t i, size_t n, uint32_t thread,
		 uint64_t weight)
{
	w->g->samples[i] = (struct stacks_sample){
	    .time_ns = (uint64_t)PERIOD_NS * (i + i / (n / 3 + 1) * (n / 10)),
	    .thread = thread,
	    .node = w->path[w->depth],
	    .weight = weight};
}

/* -- A renderer -------------------------------------------------------------
 */

/* clang-format off */
/* name, module, file, line, may call these, how likely each */
static const struct role {
	const char *name, *module, *file;
	uint32_t line;
	char calls[8];	/* letters of the rows below */
	char kind;	/* i: inlined, g: guess, u: unknown */
} roles[] = {
	/*a*/ {"main", "mosaic", "src/main.cc", 61, "bcd", 0},
	/*b*/ {"scene::Loader::load(std::string_view)", "mosaic", "src/scene/loader.cc", 118, "efg", 0},
	/*c*/ {"render::Frame::draw(scene::Graph const&)", "mosaic", "src/render/frame.cc", 204, "hhhhi", 0},
	/*d*/ {"encode::png(Image const&, std::ostream&)", "mosaic", "src/encode/png.cc", 77, "jjk", 0},
	/*e*/ {"json::Parser::value()", "mosaic", "src/json/parser.cc", 340, "eelm", 0},
	/*f*/ {"__libc_read", "libc.so.6", "io/read.c", 26, "", 0},
	/*g*/ {"mesh::Bvh::build(std::span<Triangle>)", "mosaic", "src/mesh/bvh.cc", 92, "ggno", 0},
	/*h*/ {"render::Tile::shade(Camera const&)", "mosaic", "src/render/tile.cc", 151, "ppqr", 0},
	/*i*/ {"std::sort<Light*, ByPower>", "mosaic", "include/c++/12/bits/stl_algo.h", 4820, "o", 'i'},
	/*j*/ {"deflate", "libz.so.1.2.13", "deflate.c", 968, "st", 0},
	/*k*/ {"crc32_z", "libz.so.1.2.13", NULL, 0, "", 0},
	/*l*/ {"json::Parser::string()", "mosaic", "src/json/parser.cc", 201, "mu", 0},
	/*m*/ {"malloc", "libc.so.6", "malloc/malloc.c", 3294, "v", 0},
	/*n*/ {"mesh::surface_area(Box const&)", "mosaic", "src/mesh/box.h", 38, "", 'i'},
	/*o*/ {"std::__introsort_loop<Triangle*, long, ByAxis>", "mosaic", "include/c++/12/bits/stl_algo.h", 1908, "on", 0},
	/*p*/ {"trace::Ray::bounce(int)", "mosaic", "src/trace/ray.cc", 263, "pwwx", 0},
	/*q*/ {"texture::sample(Texture const&, Vec2)", "mosaic", "src/texture/sample.cc", 55, "yy", 0},
	/*r*/ {"noise::fbm(Vec3, int)", "mosaic", "src/noise/fbm.cc", 29, "z", 0},
	/*s*/ {"longest_match", "libz.so.1.2.13", "deflate.c", 1236, "", 0},
	/*t*/ {"compress_block", "libz.so.1.2.13", "trees.c", 1063, "", 0},
	/*u*/ {"memchr_avx2", "libc.so.6", NULL, 0, "", 0},
	/*v*/ {"_int_malloc", "libc.so.6", "malloc/malloc.c", 3785, "", 0},
	/*w*/ {"mesh::Bvh::intersect(Ray const&, Hit&)", "mosaic", "src/mesh/bvh.cc", 188, "wnn{", 0},
	/*x*/ {"material::Glass::scatter(Hit const&)", "mosaic", "src/material/glass.cc", 44, "y|", 0},
	/*y*/ {"texture::fetch(int, int)", "mosaic", "src/texture/sample.cc", 21, "", 'i'},
	/*z*/ {"noise::perlin(Vec3)", "mosaic", "src/noise/perlin.cc", 73, "", 0},
	/*{*/ {"mesh::Triangle::hit(Ray const&)", "mosaic", "src/mesh/triangle.cc", 12, "", 'i'},
	/*|*/ {"sinf", "libm.so.6", NULL, 0, "}", 0},
	/*}*/ {"libm.so.6+0x4c7f0", "libm.so.6", NULL, 0, "", 'u'},
	/*~*/ {"jit_shader_0", "", NULL, 0, "", 'g'},
};
/* clang-format on */

enum { N_ROLES = sizeof roles / sizeof roles[0], WORKER = 'h' - 'a' };

static int set_roles(struct stacks_sample_set *g)
{
	size_t i;

	g->frames = calloc(N_ROLES, sizeof *g->frames);
	if (g->frames == NULL)
		return -1;
	for (i = 0; i < N_ROLES; i++)
		g->frames[i] =
		    (struct stacks_frame){.name = roles[i].name,
					  .module = roles[i].module,
					  .file = roles[i].file,
					  .line = roles[i].line,
					  .is_inlined = roles[i].kind == 'i',
					  .is_guess = roles[i].kind == 'g',
					  .is_unknown = roles[i].kind == 'u'};
	g->s.frames = g->frames;
	g->s.n_frames = N_ROLES;
	return 0;
}

static void walk_role(struct walk *w, size_t least)
{
	const char *calls;
	size_t n;

	for (;;) {
		calls = roles[frame_at(w, w->depth)].calls;
		n = strlen(calls);
		if (n == 0 || w->depth > 60 ||
		    (w->depth > least + 3 && any(w, 12) == 0))
			return;
		push(w, (uint32_t)(calls[any(w, (uint32_t)n)] - 'a'));
	}
}

/* The main thread loads, draws, writes; the others draw. */
static int make_real(struct walk *w, size_t n, size_t size)
{
	static const char phases[] = "bbccccccdd";
	size_t i, *depth = calloc(size, sizeof *depth);
	uint32_t t, (*paths)[64] = calloc(size, sizeof *paths);

	if (set_roles(w->g) < 0 || depth == NULL || paths == NULL)
		abort();
	for (i = 0; i < n; i++) {
		t = any(w, 3) == 0 ? 0 : any(w, (uint32_t)size);
		w->depth = depth[t];
		memcpy(w->path, paths[t], sizeof *paths);
		pop_to(w, w->depth - any(w, (uint32_t)w->depth / 2 + 1));
		if (w->depth == 0)
			push(w, t == 0 ? 0 : WORKER);
		if (t == 0) {
			uint32_t phase = phases[i * 10 / n] - 'a';

			if (w->depth < 2 || frame_at(w, 2) != phase) {
				pop_to(w, 1);
				push(w, phase);
			}
		} else if (any(w, 40) == 0) {
			pop_to(w, 1);
			push(w, N_ROLES - 1);
		}
		walk_role(w, 2);
		if (any(w, 500) == 0)
			pop_to(w, 0); /* a stack that could not be taken */
		take(w, i, n, t, 1 + (any(w, 50) == 0));
		depth[t] = w->depth;
		memcpy(paths[t], w->path, sizeof *paths);
	}
	free(depth);
	free(paths);
	return 0;
}

/* -- Others -----------------------------------------------------------------
 */

static char *name_new(struct stacks_sample_set *g, size_t i, size_t len)
{
	char *name = malloc(len + 64), *end;

	if (name == NULL)
		abort();
	end = name + snprintf(name, 64, "function_%zu<", i);
	memset(end, 'T', len);
	memcpy(end + len, ">", 2);
	g->names[g->n_names++] = name;
	return name;
}

static void set_functions(struct stacks_sample_set *g, size_t n, size_t len)
{
	size_t i;

	g->frames = calloc(n + 1, sizeof *g->frames);
	g->names = calloc(n + 1, sizeof *g->names);
	if (g->frames == NULL || g->names == NULL)
		abort();
	for (i = 0; i < n; i++)
		g->frames[i] = (struct stacks_frame){
		    .name = name_new(g, i, len + i % 32),
		    .module = i % 3 == 0 ? "libwide.so" : "wide",
		    .file = i % 2 == 0 ? "wide.c" : NULL,
		    .line = (uint32_t)i};
	g->s.frames = g->frames;
	g->s.n_frames = n;
}

/* The last of 16 frames does the work; each level is in turn on top. */
static int make_deep(struct walk *w, size_t n, size_t size)
{
	size_t i, want;

	set_functions(w->g, 16, 8);
	for (i = 0; i < n; i++) {
		want = i == 0 ? size : 1 + any(w, (uint32_t)size);
		pop_to(w, w->depth == 0 ? 0 : w->depth - 1);
		pop_to(w, want);
		while (w->depth < want)
			push(w, (uint32_t)(w->depth % 15));
		push(w, 15);
		take(w, i, n, 0, 1);
	}
	return 0;
}

static int make_wide(struct walk *w, size_t n, size_t size)
{
	size_t i;

	set_functions(w->g, size, 60);
	for (i = 0; i < n; i++) {
		pop_to(w, any(w, 12));
		while (w->depth < 12 + any(w, 20))
			push(w, any(w, any(w, 2) == 0 ? 4 : (uint32_t)size));
		take(w, i, n, any(w, 2), 1 + any(w, 1000));
	}
	return 0;
}

static const char *const nasty[] = {
    "quote\"back\\slash'tick`",
    "a;b;c",
    "line\nbreak\r\ttab",
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "<!--<script>",
    "bad \xff\xfe utf8 \xc3",
    "sur\xed\xa0\x80rogate",
    "bell\x07 esc\x1b[31m del\x7f",
    "rtl \xe2\x80\xae override \xe2\x80\xa8 separator",
    "trailing number 42",
    "ends (with) parens (",
    "",
    "\xf0\x9f\x94\xa5 fire",
    "${7*7} {{7*7}} %s %n &amp;",
    "constructor",
    "__proto__",
};
enum { N_NASTY = sizeof nasty / sizeof nasty[0] };

static int make_hostile(struct walk *w, size_t n, size_t size)
{
	size_t i, k;

	w->g->frames = calloc(N_NASTY, sizeof *w->g->frames);
	if (w->g->frames == NULL)
		abort();
	for (i = 0; i < N_NASTY; i++)
		w->g->frames[i] = (struct stacks_frame){
		    .name = nasty[i],
		    .module = nasty[(i + 3) % N_NASTY],
		    .file = i % 2 == 0 ? nasty[(i + 5) % N_NASTY] : NULL,
		    .line = UINT32_MAX - (uint32_t)i,
		    .is_guess = i % 4 == 1,
		    .is_inlined = i % 5 == 2,
		    .is_unknown = i % 7 == 3};
	w->g->s.frames = w->g->frames;
	w->g->s.n_frames = N_NASTY;
	for (i = 0; i < n; i++) {
		pop_to(w, 0);
		for (k = 0; k < i % (size + 1); k++)
			push(w, (uint32_t)((i + k) % N_NASTY));
		take(w, i, n, i % 2, i % 3); /* some weigh nothing */
	}
	return 0;
}

static int make_empty(struct walk *w, size_t n, size_t size)
{
	(void)w, (void)n, (void)size;
	return 0;
}

/* -- All of them ------------------------------------------------------------
 */

static const char *const notes[] = {
    "some samples have no stack: the thread was in no known code",
    "frames marked [guess] were found without call-frame information",
    "<b>no debug information</b> for libm.so.6 & others: names only",
};

static const struct kind {
	const char *name;
	int (*make)(struct walk *w, size_t n, size_t size);
	const char *title, *thread;
	size_t n_threads; /* 0: as many as its size */
	size_t n_notes;
} kinds[] = {
    {"real", make_real, "mosaic render cathedral.json -o out.png", "mosaic", 0,
     2},
    {"deep", make_deep, "deep", "deep", 1, 0},
    {"wide", make_wide, "wide", "wide", 2, 0},
    {"hostile", make_hostile, "</title><script>alert(1)</script>",
     "</option><script>document.title='owned'</script>;\xff", 2, 3},
    {"empty", make_empty, "empty", "empty", 1, 0},
};

static int set_threads(struct stacks_sample_set *g, const struct kind *k,
		       size_t n)
{
	size_t i;

	g->threads = calloc(n, sizeof *g->threads);
	if (g->threads == NULL)
		return -1;
	for (i = 0; i < n; i++)
		g->threads[i] = (struct stacks_thread){
		    .pid = 4211,
		    .tid = 4211 + (int)i,
		    .name = i == 0 ? k->thread : "tile worker"};
	g->s.threads = g->threads;
	g->s.n_threads = n;
	return 0;
}

static int hand_over(struct walk *w, struct stacks_sample_set *g, size_t n)
{
	size_t i;

	g->nodes = calloc(w->nodes.n + 1, sizeof *g->nodes);
	if (g->nodes == NULL)
		return -1;
	for (i = 0; i < w->nodes.n; i++)
		g->nodes[i + 1] =
		    (struct stacks_node){.parent = w->nodes.keys[i].n[0],
					 .frame = w->nodes.keys[i].n[1]};
	g->s.nodes = g->nodes;
	g->s.n_nodes = w->nodes.n + 1;
	g->s.samples = g->samples;
	g->s.n_samples = n;
	g->s.duration_ns = n == 0 ? 0 : g->samples[n - 1].time_ns + PERIOD_NS;
	return 0;
}

int stacks_sample_make(struct stacks_sample_set *g, const char *kind,
		       size_t n_samples, size_t size)
{
	struct walk w = {.g = g, .seed = 88172645463325252};
	const struct kind *k;
	int rc = -1;
	size_t i;

	*g = (struct stacks_sample_set){0};
	for (i = 0, k = NULL; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kinds[i].name, kind) == 0)
			k = &kinds[i];
	if (k == NULL || size == 0)
		return -1;
	g->s.title = k->title;
	g->s.period_ns = PERIOD_NS;
	g->s.notes = notes;
	g->s.n_notes = k->n_notes;
	n_samples = k->make == make_empty ? 0 : n_samples;
	g->samples = calloc(n_samples + 1, sizeof *g->samples);
	w.path = calloc(DEPTH_MAX, sizeof *w.path);
	if (g->samples != NULL && w.path != NULL &&
	    set_threads(g, k, k->n_threads == 0 ? size : k->n_threads) == 0 &&
	    k->make(&w, n_samples, size) == 0)
		rc = hand_over(&w, g, n_samples);
	free(w.path);
	intern_fini(&w.nodes);
	if (rc < 0)
		stacks_sample_free(g);
	return rc;
}

void stacks_sample_free(struct stacks_sample_set *g)
{
	size_t i;

	for (i = 0; i < g->n_names; i++)
		free(g->names[i]);
	free(g->names);
	free(g->frames);
	free(g->nodes);
	free(g->threads);
	free(g->samples);
	*g = (struct stacks_sample_set){0};
}
