// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin of QEMU 7.2's emulator: counts the instructions that the guest executes in the windows
 * of bench/profile_window.h, and appends to a file, for each window, a line "window N" and then
 * "ADDRESS COUNT" for every translated block (a straight run of instructions) that ran in it.
 *
 * Blocks are counted, each with its number of instructions; a block that is left early by a fault
 * counts in full, which is rare. The counting is in the translated code itself.
 *
 * Debian's QEMU accepts plugins but has no header for them, so the functions used are declared
 * here, from its documentation.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/profile_window.h"

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { INLINE_ADD_U64 };
enum { CB_NO_REGS };

extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id,
						  void (*cb)(plugin_id, struct qemu_plugin_tb *));
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op, void *ptr,
						     uint64_t imm);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
						   void (*cb)(unsigned int, void *), int flags,
						   void *userdata);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
extern const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
extern size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);

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

/* The number in a PROFILE_INSTRUCTION; 0: another instruction. */
static uint32_t window_number(const struct qemu_plugin_insn *insn)
{
	static const uint8_t nop[] = { 0x0f, 0x1f, 0x80 };
	const uint8_t *data = qemu_plugin_insn_data(insn);
	uint32_t number;

	if (qemu_plugin_insn_size(insn) != sizeof(nop) + sizeof(number) ||
	    memcmp(data, nop, sizeof(nop)) != 0)
		return 0;
	memcpy(&number, data + sizeof(nop), sizeof(number));
	return number;
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
		uint32_t number = window_number(insn);

		if (number == PROFILE_BEGIN || number == PROFILE_END)
			qemu_plugin_register_vcpu_insn_exec_cb(
				insn, number == PROFILE_BEGIN ? begin : end, CB_NO_REGS, NULL);
	}
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	static const char name[] = "output=";

	(void)info;
	if (argc != 1 || strncmp(argv[0], name, strlen(name)) != 0)
		return -1;
	output = fopen(argv[0] + strlen(name), "w");
	if (!output)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
