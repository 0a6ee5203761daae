/* present/proto_priv.h - protobuf messages, written by hand.
 *
 * A message is bytes; one inside another is built first, then put into it. No
 * memory makes a message lame: it stays so, and proto_send says it. Hosted. */
#ifndef PRESENT_PROTO_PRIV_H
#define PRESENT_PROTO_PRIV_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

struct proto {
	uint8_t *at; /* owned */
	size_t n, room;
	bool is_lame;
};

void proto_fini(struct proto *p);
void proto_clear(struct proto *p); /* keeps its room */

void proto_varint(struct proto *p, uint64_t value);
void proto_number(struct proto *p, unsigned field, uint64_t value);
/* What is no UTF-8 becomes U+FFFD: a string that is none breaks readers. */
void proto_text(struct proto *p, unsigned field, const char *text,
		const char *more);
void proto_message(struct proto *p, unsigned field, const struct proto *inner);

/* Where messages go, gzip'ed or as they are. */
struct proto_sink {
	FILE *out; /* borrowed */
	bool is_gzip;
	z_stream z;
	uint8_t packed[16384];
};

int proto_sink_init(struct proto_sink *k, FILE *out, bool is_gzip,
		    struct hark_err *err);
/* Ends it; nothing more may be sent. */
int proto_sink_end(struct proto_sink *k, struct hark_err *err);
void proto_sink_fini(struct proto_sink *k);

/* Fields of the outermost message; it is empty afterwards. */
int proto_send_plain(struct proto_sink *k, struct proto *p,
		     struct hark_err *err);
/* As one field of it. */
int proto_send(struct proto_sink *k, unsigned field, struct proto *p,
	       struct hark_err *err);

#endif
