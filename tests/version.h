/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every program of the tree answers `PROGRAM --version` with its name and the version that the
 * Makefile takes from tools/Cargo.toml, so that a report about any of them says what was run.
 */
#ifndef TESTS_VERSION_H
#define TESTS_VERSION_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef ANYBINDER_VERSION
#define ANYBINDER_VERSION "unknown"
#endif

/* With --version as the only argument: prints it for the program that argv[0] names, and exits. */
static inline void version_if_asked(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');

	if (argc != 2 || strcmp(argv[1], "--version") != 0)
		return;
	printf("%s " ANYBINDER_VERSION "\n", slash ? slash + 1 : argv[0]);
	exit(fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS);
}

#endif
