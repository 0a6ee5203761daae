/* gdb/registers.c - packets about registers. */
#include "gdb/gdb_priv.h"

int gdb_registers(struct gdb *g, uint32_t thread)
{
	return g->api->f_registers(g->t, thread, &g->registers, NULL);
}

void gdb_put_register(struct gdb *g, struct packet *out, unsigned number)
{
	uint8_t bytes[32];
	unsigned len = regs_get(&g->regs, &g->registers, number, bytes);

	packet_hex(out, bytes, len);
}

void on_registers(struct gdb *g, struct words *w)
{
	(void)w;
	if (g->is_away || gdb_registers(g, gdb_current(g)) < 0) {
		gdb_fail(g, GDB_EPERM);
		return;
	}
	for (unsigned i = 0; i < g->regs.n; i++)
		gdb_put_register(g, &g->out, i);
}

void on_register(struct gdb *g, struct words *w)
{
	uint64_t number;

	if (!words_number(w, &number) || number >= g->regs.n || g->is_away ||
	    gdb_registers(g, gdb_current(g)) < 0) {
		gdb_fail(g, GDB_EINVAL);
		return;
	}
	gdb_put_register(g, &g->out, (unsigned)number);
}
