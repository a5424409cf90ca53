/* SPDX-License-Identifier: GPL-2.0 */
/* The process that serves. */
#ifndef HOST_FUSE_SERVER_PROCESS_H
#define HOST_FUSE_SERVER_PROCESS_H

/* The main() of a server (SERVER_NAME). Returns the exit status, with threads running. */
int server_main(int argc, char **argv);

#endif
