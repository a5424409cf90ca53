// SPDX-License-Identifier: GPL-2.0
/*
 * The entry of a fuzzer: one program for each target, FUZZ_TARGET, which aborts when a run goes
 * wrong. tests/engine/rules.mk builds it with libFuzzer.
 */
#include "targets.h"

#include "tests/version.h"

#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	version_if_asked(*argc, *argv);
	return 0;
}

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t size);
int LLVMFuzzerTestOneInput(const u8 *bytes, size_t size)
{
	struct choices c = choices_of_bytes(bytes, size);

	if (!FUZZ_TARGET(&c))
		abort();
	return 0;
}
