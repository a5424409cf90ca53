/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions of QEMU 7.2's plugin interface that the plugins here use. Debian's QEMU accepts
 * plugins but has no header for them, so they are declared from its documentation; and the marks
 * of bench/profile_window.h, as a plugin finds them.
 */
#ifndef BENCH_VM_PLUGIN_H
#define BENCH_VM_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "bench/profile_window.h"

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { INLINE_ADD_U64 };
enum { CB_NO_REGS };
enum { MEM_READ = 1, MEM_WRITE = 2 };

extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id,
						  void (*cb)(plugin_id, struct qemu_plugin_tb *));
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op, void *ptr,
						     uint64_t imm);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
						   void (*cb)(unsigned int, void *), int flags,
						   void *userdata);
extern void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
					     void (*cb)(unsigned int, uint32_t, uint64_t, void *),
					     int flags, int which, void *userdata);
extern bool qemu_plugin_mem_is_store(uint32_t info);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
extern const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
extern size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);

/* The number in a PROFILE_INSTRUCTION; 0: another instruction. */
static inline uint32_t plugin_mark(const struct qemu_plugin_insn *insn)
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

/* Opens the file of the one argument, output=FILE; NULL: another argument, or no such file. */
static inline FILE *plugin_output(int argc, char **argv)
{
	static const char name[] = "output=";

	if (argc != 1 || strncmp(argv[0], name, strlen(name)) != 0)
		return NULL;
	return fopen(argv[0] + strlen(name), "w");
}

#endif
