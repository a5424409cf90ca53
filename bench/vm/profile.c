// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin of QEMU 7.2's emulator: counts the instructions that the guest executes in the windows
 * of bench/profile_window.h, and appends to a file, for each window, a line "window N" and then
 * "ADDRESS COUNT" for every translated block (a straight run of instructions) that ran in it.
 *
 * Blocks are counted, each with its number of instructions; a block that is left early by a fault
 * counts in full, which is rare. The counting is in the translated code itself.
 */
#include "bench/vm/plugin.h"

#include <inttypes.h>
#include <stdlib.h>

struct block {
	uint64_t address;
	uint64_t count;	 /* instructions since the start */
	uint64_t before; /* @count when the window began */
	struct block *next;
};

static struct block *blocks;
static FILE *output;
static int nr_windows;

static void begin(unsigned int cpu, void *unused)
{
	(void)cpu;
	(void)unused;
	for (struct block *each = blocks; each; each = each->next)
		each->before = each->count;
}

static void end(unsigned int cpu, void *unused)
{
	(void)cpu;
	(void)unused;
	fprintf(output, "window %d\n", nr_windows++);
	for (struct block *each = blocks; each; each = each->next)
		if (each->count != each->before)
			fprintf(output, "%" PRIx64 " %" PRIu64 "\n", each->address,
				each->count - each->before);
	fflush(output);
}

static void translated(plugin_id id, struct qemu_plugin_tb *tb)
{
	size_t nr = qemu_plugin_tb_n_insns(tb);
	struct block *block = calloc(1, sizeof(*block));

	(void)id;
	if (!block)
		abort();
	block->address = qemu_plugin_tb_vaddr(tb);
	block->next = blocks;
	blocks = block;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64, &block->count, nr);
	for (size_t i = 0; i < nr; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint32_t number = plugin_mark(insn);

		if (number == PROFILE_BEGIN || number == PROFILE_END)
			qemu_plugin_register_vcpu_insn_exec_cb(
				insn, number == PROFILE_BEGIN ? begin : end, CB_NO_REGS, NULL);
	}
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	(void)info;
	output = plugin_output(argc, argv);
	if (!output)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
