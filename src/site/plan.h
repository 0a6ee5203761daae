/* site/plan.h - all patches of one module.
 *
 * Addresses are given in any order; the plan makes patches of them that do not
 * disturb each other: what lies in the window of a patch joins it, and a patch
 * that relied on bytes which another must change becomes a trap. Hosted, no
 * I/O. */
#ifndef SITE_PLAN_H
#define SITE_PLAN_H

#include "site/form.h"

struct plan;

int plan_new(const struct former *f, struct plan **out, struct hark_err *err);
void plan_free(struct plan *p);

/* One address that is to be probed; the same one twice is one. */
int plan_add(struct plan *p, uint64_t addr, struct hark_err *err);
/* Makes the patches, once, after the last address; checks each. */
int plan_make(struct plan *p, struct hark_err *err);

size_t plan_count(const struct plan *p);
const struct patch *plan_get(const struct plan *p, size_t i); /* ascending */
/* The patch that probes addr, and by which of its instructions; NULL if it
 * cannot be probed: form_refusal() says why. */
const struct patch *plan_find(const struct plan *p, uint64_t addr,
			      unsigned *insn);

#endif
