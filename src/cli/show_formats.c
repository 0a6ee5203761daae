/* cli/show_formats.c - one row a format, by the names in cli/table.def. */
#include "cli/show_formats.h"

#include "present/flame.h"
#include "present/foreign.h"

#include <string.h>

static const struct show_format formats[] = {
    {.name = "text", .report = report_text},
    {.name = "json", .report = report_json},
    {.name = "html", .present = present_flame},
    {.name = "folded", .present = present_folded},
    {.name = "speedscope", .present = present_speedscope},
    {.name = "pprof", .present = present_pprof, .is_binary = true},
    {.name = "perfetto", .present = present_perfetto, .is_binary = true},
    {.name = "firefox", .present = present_firefox},
    {.name = "perf", .present = present_perf_script},
};

const struct show_format *show_format(const char *name)
{
	for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}
