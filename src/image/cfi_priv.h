/* image/cfi_priv.h - read .eh_frame and .debug_frame.
 *
 * Both are a list of entries: a CIE has what several functions share, an FDE
 * is one piece of code with a little program. Running the program moves
 * through the code and says at which address which rule begins. */
#ifndef IMAGE_CFI_PRIV_H
#define IMAGE_CFI_PRIV_H

#include "image/cursor_priv.h"
#include "image/frame_rows.h"

struct cfi {
	const uint8_t *at; /* borrowed: the section */
	size_t len;
	uint64_t addr;	 /* at which the section is linked */
	bool eh;	 /* .eh_frame, not .debug_frame */
	bool open_ended; /* nobody knows its end: an empty entry is the last */
};

struct cfi_fde {
	uint64_t start, end; /* link-time addresses */
	uint64_t offset;     /* of the entry in its section */
	uint8_t section;     /* for the caller, who may have two */
	bool broken;	     /* its CIE is not understood */
	bool is_signal; /* a signal handler returns there (augmentation S) */
};

/* One CIE, as FDEs need it. */
struct cfi_cie {
	uint64_t offset; /* of the entry */
	uint64_t code_align;
	int64_t data_align;
	uint8_t fde_encoding, address_len;
	bool has_z, signal;
	struct frame_general initial; /* after the CIE's own program */
};

/* Reading and running need a CIE at hand; the last one is kept here. */
struct cfi_reader {
	const struct cfi *cfi; /* borrowed */
	struct cfi_cie cie;
	bool has_cie;
	size_t skipped;	  /* FDEs that cfi_next could not read */
	uint64_t stopped; /* where cfi_run did, when it returned 1 */
};

/* Goes to the next FDE at or after *offset, and sets *offset behind it.
 * 1: found; 0: no more; a damaged entry ends the list. Entries without code
 * are passed over. */
int cfi_next(struct cfi_reader *r, uint64_t *offset, struct cfi_fde *out);

/* What running an FDE tells: the state from addr on. Expressions in it are
 * offsets into the section. changed has a bit for each register whose cell
 * was written since the row before, and CFI_CFA for the CFA's; all of them in
 * the first row. Return -1 to stop. */
enum { CFI_CFA = 1 << FRAME_REGS, CFI_ALL = (CFI_CFA << 1) - 1 };
struct cfi_sink {
	int (*row)(void *ctx, uint64_t addr, uint32_t changed,
		   const struct frame_general *state);
	void *ctx; /* borrowed */
};

/* Rows of one FDE in ascending order, the first at its start. 0, or -1 if
 * the sink said so, or 1 if the program is not understood: the rows before
 * r->stopped have been told, nothing is known from there on. */
int cfi_run(struct cfi_reader *r, const struct cfi_fde *fde,
	    const struct cfi_sink *sink);

#endif
