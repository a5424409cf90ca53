// SPDX-License-Identifier: GPL-2.0
/* What the targets share: printing what went wrong. */
#include "targets.h"

#include <stdio.h>

bool fuzz_wrong(const char *what)
{
	fprintf(stderr, "fuzz: not so: %s\n", what);
	return false;
}
