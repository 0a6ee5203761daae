/* outside/faults.h - make the k-th allocation, open or map of hark fail.
 * Hosted; HARK_FAIL=k in the environment does the same from outside. */
#ifndef OUTSIDE_FAULTS_H
#define OUTSIDE_FAULTS_H

/* From now on the k-th call fails, once; 0: none does. */
void faults_set(long k);
/* Calls left until the failure; 0: it has happened, or none was asked for. */
long faults_left(void);

#endif
