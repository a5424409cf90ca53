// SPDX-License-Identifier: GPL-2.0
/*
 * The door of a fuzzer: one program a target, FUZZ_TARGET, which ends with a report
 * when a run goes wrong.  tests/fuzz/rules.mk builds it with libFuzzer.
 */
#include "targets.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t size);
int LLVMFuzzerTestOneInput(const u8 *bytes, size_t size)
{
	struct choices c = choices_of_bytes(bytes, size);

	if (!FUZZ_TARGET(&c))
		abort();
	return 0;
}
