// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin of QEMU 7.2's emulator: records which CPU reads and writes which cache line of the
 * kernel, between the marks of bench/profile_window.h, for bench/vm/lines_model.py.
 *
 * What costs time on many CPUs is that a line which one CPU wrote is wanted by another one. An
 * access does not matter if its CPU has the line already: if no other CPU has touched the line
 * since this CPU's last access, and that was a write if this one is. Such accesses, nearly all, are
 * dropped here; the rest is written to a file as pairs of words. The first word is the line's
 * address, or for a mark the number of instructions that the machine has executed; the second one
 * the address of the instruction, with the CPU in bits 48 to 55 and the kind in bits 56 to 63.
 *
 * It needs -accel tcg,thread=single: the CPUs then run in turn, so that the order of the file is
 * that of the accesses.
 */
#include "bench/vm/plugin.h"

#include <stdlib.h>

#define LINE_BYTES  64
#define KERNEL_HALF (1ull << 63)
/* Above are registers of devices, which the kernel maps there. */
#define KERNEL_END  0xffffffffff000000ull
#define PC_MASK	    ((1ull << 48) - 1)
/* Enough for all lines of a machine of 1 GiB that a measurement touches. */
#define SLOTS	    (1u << 23)

enum kind { READ, WRITE, BEGIN, END, CALL };

/* Who touched a line last. */
struct slot {
	uint64_t line; /* 0: unused */
	uint8_t cpu;
	bool written; /* by that CPU, since another one touched it */
};

static struct slot *slots;
static uint32_t nr_used;
static uint64_t instructions;
static FILE *output;
static bool recording;

static void record(uint64_t what, uint64_t pc, unsigned int cpu, enum kind kind)
{
	const uint64_t words[] = {
		what, (pc & PC_MASK) | (uint64_t)cpu << 48 | (uint64_t)kind << 56,
	};

	if (fwrite(words, sizeof(words), 1, output) != 1) {
		perror("lines: the record cannot be written");
		abort();
	}
}

static struct slot *find(uint64_t line)
{
	uint32_t at = (uint32_t)((line / LINE_BYTES * 0x9e3779b97f4a7c15ull) >> 32) % SLOTS;

	while (slots[at].line && slots[at].line != line)
		at = (at + 1) % SLOTS;
	if (!slots[at].line && ++nr_used > SLOTS / 2) {
		fputs("lines: too many cache lines\n", stderr);
		abort();
	}
	return &slots[at];
}

static void accessed(unsigned int cpu, uint32_t info, uint64_t address, void *pc)
{
	uint64_t line = address & ~(uint64_t)(LINE_BYTES - 1);
	bool writes = qemu_plugin_mem_is_store(info);
	struct slot *slot;

	if (!recording || address < KERNEL_HALF || address >= KERNEL_END)
		return;
	slot = find(line);
	if (slot->line && slot->cpu == cpu && (slot->written || !writes))
		return;
	*slot = (struct slot){ line, (uint8_t)cpu, writes };
	record(line, (uintptr_t)pc, cpu, writes ? WRITE : READ);
}

static void begin(unsigned int cpu, void *unused)
{
	(void)unused;
	/* The first client of the next measurement: what happened in between is not known. */
	if (!recording)
		memset(slots, 0, SLOTS * sizeof(*slots));
	nr_used = recording ? nr_used : 0;
	recording = true;
	record(instructions, 0, cpu, BEGIN);
}

static void end(unsigned int cpu, void *unused)
{
	(void)unused;
	/* The measurement ends with the first client that ends. */
	if (recording)
		record(instructions, 0, cpu, END);
	recording = false;
	fflush(output);
}

static void call(unsigned int cpu, void *unused)
{
	(void)unused;
	if (recording)
		record(instructions, 0, cpu, CALL);
}

static void (*on_mark(uint32_t mark))(unsigned int cpu, void *unused)
{
	if (mark == PROFILE_BEGIN)
		return begin;
	if (mark == PROFILE_END)
		return end;
	return mark == PROFILE_CALL ? call : NULL;
}

static void translated(plugin_id id, struct qemu_plugin_tb *tb)
{
	size_t nr = qemu_plugin_tb_n_insns(tb);
	bool is_kernel = qemu_plugin_tb_vaddr(tb) >= KERNEL_HALF;

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64, &instructions, nr);
	for (size_t i = 0; i < nr; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint32_t mark = is_kernel ? 0 : plugin_mark(insn);

		if (is_kernel)
			qemu_plugin_register_vcpu_mem_cb(
				insn, accessed, CB_NO_REGS, MEM_READ | MEM_WRITE,
				(void *)(uintptr_t)qemu_plugin_insn_vaddr(insn));
		else if (on_mark(mark))
			qemu_plugin_register_vcpu_insn_exec_cb(
				insn, on_mark(mark), CB_NO_REGS, NULL);
	}
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	(void)info;
	output = plugin_output(argc, argv);
	slots = calloc(SLOTS, sizeof(*slots));
	if (!output || !slots)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
