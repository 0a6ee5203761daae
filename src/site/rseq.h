/* site/rseq.h - restartable sequences (rseq) in a module's code.
 *
 * The kernel aborts such a sequence if its thread is preempted, migrated or
 * gets a signal while its pc is in the range that a descriptor (struct
 * rseq_cs) gives. An instruction that is executed in a trampoline is out of
 * that range: the sequence goes on where it should be aborted. So none of them
 * is moved.
 *
 * Hosted. */
#ifndef SITE_RSEQ_H
#define SITE_RSEQ_H

#include "site/survey.h"

/* Bars (site/barred.h) all sequences of the file in its survey. */
int rseq_bar(struct survey *s, struct image_file *f, struct hark_err *err);

#endif
