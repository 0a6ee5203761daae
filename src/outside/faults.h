/* outside/faults.h - make the k-th allocation, open or map of hark fail.
 * Hosted; HARK_FAIL=k in the environment does the same from outside. */
#ifndef OUTSIDE_FAULTS_H
#define OUTSIDE_FAULTS_H

/* From now on the k-th call fails, once; 0: none does. For one thread. */
void faults_set(long k);
/* Has it happened? */
int faults_happened(void);

#endif
