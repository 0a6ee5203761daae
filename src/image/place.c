/* image/place.c - everything about one pc at once. */
#include "image/place.h"

void place_of(struct modules *m, uint64_t pc, struct place *out)
{
	const struct module *module = modules_find(m, pc);
	struct image_file *f = module != NULL ? module->file : NULL;
	struct line_frame *outer = &out->frame[0];
	uint64_t addr;

	out->module = module;
	out->has_symbol = false;
	out->offset = 0;
	out->n = 1;
	*outer = (struct line_frame){0};
	if (f == NULL)
		return;
	addr = pc - module->bias;
	if (symbols_function(f, addr, &out->symbol, NULL) == 0) {
		out->has_symbol = true;
		out->offset = addr - out->symbol.addr;
	}
	if (lines_at(f, addr, out->frame, LINES_DEPTH, &out->n, NULL) < 0)
		out->n = 1;
	if (outer->function == NULL && out->has_symbol) {
		outer->linked = out->symbol.name;
		outer->function = symbols_pretty(f, &out->symbol);
	}
}
