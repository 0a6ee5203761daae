/* cli/manpage.h - the table as man pages: hark(1), hark-COMMAND(1). */
#ifndef CLI_MANPAGE_H
#define CLI_MANPAGE_H

#include "cli/table.h"

#include <stdio.h>

void manpage_print(const struct cli_row *command, FILE *out);

#endif
