/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the service and the client share: the codes of IBoard.aidl, files in parcels, and buffers in
 * shared memory.
 */
#pragma once
#include <gbinder.h>
#include <cstdint>
#include <functional>
#include <string>

namespace board {

inline constexpr char NAME[] = "example.IBoard/default";
inline constexpr char IBOARD[] = "example.IBoard";
inline constexpr char IREADER[] = "example.IBoard.IReader";
enum code { POST = 1, POST_FILE, SUBSCRIBE, READERS, SUM };
inline constexpr guint32 ON_NOTE = 1;

/* The arguments of main(), with which the program begins anew. */
extern char **arguments;

/* The service manager of the device. Ends the program if there is none. */
GBinderServiceManager *open_binder();

/* Tries once; for minutes in a program that begins anew. */
bool until_there(const std::function<bool()> &attempt);
/*
 * Whether the service has its name now. gbinder_servicemanager_add_service_sync() returns 0 also
 * where the service manager refuses, so the name is looked up.
 */
bool add_service(GBinderServiceManager *manager, GBinderLocalObject *service);
/*
 * Asks the service manager for its list every second, in the main loop. @missing is called if the
 * service is not in it. The program begins anew when nothing can be asked any more: libgbinder does
 * not tell that the driver is gone.
 */
void look_after(GBinderServiceManager *manager, std::function<void()> missing);

/* A ParcelFileDescriptor: not null, no second channel, the descriptor. */
void append_file(GBinderWriter *writer, int fd);
/* The caller closes the descriptor; -1 if there is none. */
int read_file(GBinderReader *reader);

std::string read_string(GBinderReader *reader);

/* A buffer of the DMA-BUF heap `system` where there is one, else a memfd. */
struct buffer {
	int fd;
	const char *kind;
	unsigned char *memory;
};
buffer allocate(size_t size);

/* The sum of the bytes of a received buffer; -1 if it can shrink or cannot be mapped. */
int64_t add_up(int fd);

}
