/* gdb/packet.h - the remote protocol's packets: framing, check sums, escapes.
 *
 *	$ body # xx      xx: the sum of all bytes of the body, modulo 256
 *	+ -              the last packet was received, or was not
 *	0x03             interrupt
 *
 * In a body, 0x7d escapes: the byte behind it is meant xor 0x20. Whatever
 * arrives, a reader never fails; what is no packet is passed over. Pure. */
#ifndef GDB_PACKET_H
#define GDB_PACKET_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PACKET_MAX = 0x20000, /* of a body, escapes included */
	PACKET_INTERRUPT = 0x03,
};

/* -- Arriving -- */

enum packet_event {
	PACKET_NONE,  /* more bytes are needed */
	PACKET_BODY,  /* body and len, unescaped; body[len] is 0 */
	PACKET_BAD,   /* its sum is wrong, or it is too long */
	PACKET_BREAK, /* an interrupt */
	PACKET_AGAIN, /* the other side did not get the last one */
};

enum packet_state { /* private */
		    PACKET_BETWEEN,
		    PACKET_WITHIN,
		    PACKET_ESCAPED,
		    PACKET_SUM_HIGH,
		    PACKET_SUM_LOW,
};

struct packet_reader {
	enum packet_state state;
	uint8_t sum, high;
	int is_long; /* longer than fits */
	int no_sums; /* they need not be right */
	size_t len;
	char body[PACKET_MAX + 1];
};

void packet_reader_init(struct packet_reader *r);
/* One byte further. The body stays until the next byte. */
enum packet_event packet_take(struct packet_reader *r, uint8_t byte);

/* -- Leaving -- */

/* A body that is being written; what does not fit sets is_full. */
struct packet {
	int is_full;
	size_t len;
	char body[PACKET_MAX + 1]; /* ends in 0, for the tests' sake */
};

void packet_clear(struct packet *p);
void packet_text(struct packet *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void packet_vtext(struct packet *p, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/* Two digits a byte. */
void packet_hex(struct packet *p, const void *bytes, size_t len);
/* Bytes as they are, escaped where need be, as long as they fit: how many. */
size_t packet_binary(struct packet *p, const void *bytes, size_t len);

/* With frame and sum, into at least PACKET_MAX + 4 bytes: the length. */
size_t packet_frame(const struct packet *p, char *out);

#endif
