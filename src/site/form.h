/* site/form.h - which bytes make an instruction a probe?
 *
 * A probe takes the place of its instruction in one of these forms:
 *
 *   J5  a jump of five bytes that covers one instruction, and perhaps padding
 *       behind it
 *   JW  the same over a window of several instructions. None but the first is
 *       a known target of a branch; and should somebody come to another one
 *       all the same, its byte traps, and he goes on in the moved copy. The
 *       instruction that is asked for may stand behind the jump's five bytes:
 *       it traps like the others
 *   J2  a jump of two bytes to padding, with a jump of five bytes there
 *   JP  a jump of five bytes whose last bytes are those of the instructions
 *       behind, which stay as they are
 *   T   a trap (int3)
 *
 * The window may begin before the instruction that is asked for (returns are
 * short, and what is before them is moved with them).
 *
 * F1  Bytes change only inside the window's instructions, and in padding.
 * F2  An instruction of the window that is not the first, and whose bytes
 *     change, starts with a byte that traps, and is in .traps; or it starts
 *     behind all changes, and is as it was.
 * F3  No byte that changes is a known target, except the first.
 * F4  No two patches share a byte, not even one that they only rely on.
 * F5  Barred bytes (site/barred.h) are neither changed nor moved.
 *
 * patch_check() holds a patch against these by means of its own. */
#ifndef SITE_FORM_H
#define SITE_FORM_H

#include "site/room.h"
#include "site/survey.h"

enum form {
	FORM_NONE, /* it cannot be probed */
	FORM_J5,
	FORM_JW,
	FORM_J2,
	FORM_JP,
	FORM_T,
	FORM_MAX
};

/* "J5" and so on. */
const char *form_name(enum form f);

enum {
	FORM_LEN = 5,
	FORM_INSNS = 8,	       /* in one window */
	FORM_BYTES = 20,       /* that may change */
	FORM_TRAMPOLINE = 768, /* taken for the code of one probe */
	FORM_SLOT = 16,	       /* for a jump to it, where room is scarce */
};

struct patch {
	uint64_t at;  /* link-time address of the first byte */
	uint64_t hop; /* J2: the padding, link-time; else 0 */
	/* At run time: where the jump goes, and where the code is. The same,
	 * unless only a slot was free there. Of a trap the first is 0; the
	 * second, too, if there is no room near enough for a copy. */
	uint64_t entry, code;
	enum form form;
	uint8_t len;		 /* bytes that change at .at */
	uint8_t relies;		 /* bytes behind them that must stay */
	uint8_t window;		 /* bytes of the instructions that are moved */
	uint8_t n;		 /* instructions that are moved */
	uint8_t off[FORM_INSNS]; /* of each, from .at */
	uint8_t probed;		 /* bit k: instruction k is asked for */
	uint8_t traps;		 /* bit k: it traps, and goes on in the copy */
	uint8_t bytes[FORM_BYTES], old[FORM_BYTES];
	uint8_t hop_bytes[FORM_LEN], hop_old[FORM_LEN];
};

/* What patches are made with. */
struct former {
	struct survey *survey; /* borrowed */
	struct room *room;     /* borrowed; NULL: traps only */
	uint64_t bias;	       /* run-time minus link-time addresses */
};

/* May the instruction be moved at all? NULL, or why not. */
const char *form_refusal(const struct survey *s, uint64_t addr);

/* The best form for the instruction at addr, its bytes taken; lowest is where
 * a window may begin. -1 with the reason if it cannot be probed. */
int form_choose(const struct former *f, uint64_t addr, uint64_t lowest,
		struct patch *out, struct hark_err *err);
/* A trap, whatever else would do. */
int form_trap(const struct former *f, uint64_t addr, struct patch *out,
	      struct hark_err *err);
/* Gives back what a patch has taken. */
void form_release(const struct former *f, const struct patch *p);

/* check.c: is the patch right? It is looked at with nothing but the original
 * bytes, the known targets, and the padding. */
int patch_check(const struct survey *s, uint64_t bias, const struct patch *p,
		struct hark_err *err);

#endif
