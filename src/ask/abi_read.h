/* ask/abi_read.h - the bytes of an argument or a result, where image/abi says
 * they are. */
#ifndef ASK_ABI_READ_H
#define ASK_ABI_READ_H

#include "ask/source.h"
#include "image/abi.h"

/* Bytes of it; entry_rsp: the stack pointer at the first instruction (of
 * results it does not matter). Returns how many are known. */
size_t abi_read(const struct abi_place *p, const struct ask_source *src,
		const struct hark_registers *r, uint64_t entry_rsp,
		uint8_t *out, uint8_t *known, size_t len);

#endif
