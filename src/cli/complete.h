/* cli/complete.h - the table as completion scripts. */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include <stdio.h>

/* shell is bash, zsh or fish. */
void complete_print(const char *shell, FILE *out);

#endif
