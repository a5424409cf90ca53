/* SPDX-License-Identifier: Apache-2.0 */
/* What the service and the client share: the interface, and buffers in shared memory. */
#pragma once
#include <aidl/example/BnBoard.h>
#include <functional>

namespace board {

using aidl::example::IBoard;
using ndk::ScopedAStatus;
using ndk::ScopedFileDescriptor;

/* The name under which the service is registered. */
inline constexpr char NAME[] = "example.IBoard/default";

/*
 * Opens the Binder device, and starts the threads that serve incoming calls. Ends the program if
 * there is no device. @argv: the arguments of main(), with which the program begins anew.
 */
void open_binder(char **argv);

/* Tries once; for minutes in a program that begins anew. */
bool until_there(const std::function<bool()> &attempt);

/*
 * Has the program begin anew when the service manager dies, which takes the registered names with
 * it. The notices last as long as the process.
 */
void link_to_manager();

/*
 * Serves calls and notices until the driver is gone, which no notice tells; then the program begins
 * anew.
 */
[[noreturn]] void serve();

/* A buffer of the DMA-BUF heap `system` where there is one, else a memfd. */
struct buffer {
	ScopedFileDescriptor fd;
	const char *kind;
	unsigned char *memory;
};
/* Ends the program if there is no memory. */
buffer allocate(size_t size);

/* The sum of the bytes of a received buffer; -1 if it can shrink or cannot be mapped. */
int64_t add_up(const ScopedFileDescriptor &file);

}
