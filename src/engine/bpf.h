/* engine/bpf.h - classic BPF, as seccomp filters are written in it.
 *
 * Pure: a program is checked once and then run on the 64 bytes that describe
 * a system call. */
#ifndef ENGINE_BPF_H
#define ENGINE_BPF_H

#include <stdint.h>

struct bpf_insn {
	uint16_t code;
	uint8_t jt, jf;
	uint32_t k;
};

/* struct seccomp_data */
struct bpf_data {
	int32_t nr;
	uint32_t arch;
	uint64_t ip;
	uint64_t args[6];
};
_Static_assert(sizeof(struct bpf_data) == 64, "struct seccomp_data");

enum { BPF_MAX = 4096 };

/* 0, or -1: the kernel would refuse it. */
int bpf_check(const struct bpf_insn *code, uint32_t n);
/* What it returns; code has been checked. */
uint32_t bpf_run(const struct bpf_insn *code, const struct bpf_data *data);

#endif
