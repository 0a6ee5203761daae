/* cli/bound.h - an end for a replay that takes too much.
 *
 * What a recording says happened may take any time and any memory to replay: an
 * endless loop, a thousand threads with gigabytes each. A thread of hark's own
 * looks at both, ten times a second, and ends hark with a line that says which
 * variable allows more (record/bounds.h). Hosted. */
#ifndef CLI_BOUND_H
#define CLI_BOUND_H

/* From now on, until hark ends. Time counts from the last second in which hark
 * had nothing to do: a debugger's user may think for long. clean_up, which may
 * be NULL, is called by that thread before the end, while the others go on. */
void bound_replay(void (*clean_up)(void));

#endif
