/* inside/mem.h - memory functions of the freestanding image. */
#ifndef INSIDE_MEM_H
#define INSIDE_MEM_H

#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t len);
void *memmove(void *to, const void *from, size_t len);
void *memset(void *to, int c, size_t len);
int memcmp(const void *a, const void *b, size_t len);

#endif
