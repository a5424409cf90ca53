// SPDX-License-Identifier: Apache-2.0
/* The client, a command for each method of the service. */
#include "board.h"
#include <fcntl.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <string>

static constexpr char USAGE[] =
	"usage: board-client post NOTE | file PATH | sum MEBIBYTES | readers | watch\n";

struct connection {
	GBinderServiceManager *manager;
	GBinderRemoteObject *service;
	GBinderClient *client;
};

[[noreturn]] static void fail(const std::string &text)
{
	fprintf(stderr, "board-client: %s\n", text.c_str());
	exit(1);
}

/* Calls, and sets the reader behind the exception code of the reply, which must be 0. */
static GBinderRemoteReply *call(const connection &to, board::code code,
				GBinderLocalRequest *request, GBinderReader *reader)
{
	int status;
	gint32 exception;
	GBinderRemoteReply *reply =
		gbinder_client_transact_sync_reply(to.client, code, request, &status);

	if (!reply || status != GBINDER_STATUS_OK)
		fail("the call failed with status " + std::to_string(status));
	gbinder_remote_reply_init_reader(reply, reader);
	if (!gbinder_reader_read_int32(reader, &exception) || exception != 0)
		fail("the service answered with exception " + std::to_string(exception));
	gbinder_local_request_unref(request);
	return reply;
}

static int count(const connection &to, board::code code, GBinderLocalRequest *request)
{
	GBinderReader reader;
	GBinderRemoteReply *reply = call(to, code, request, &reader);
	gint32 result = -1;

	gbinder_reader_read_int32(&reader, &result);
	gbinder_remote_reply_unref(reply);
	return result;
}

static GBinderLocalRequest *file_request(const connection &to, int fd)
{
	GBinderLocalRequest *request = gbinder_client_new_request(to.client);
	GBinderWriter writer;

	gbinder_local_request_init_writer(request, &writer);
	board::append_file(&writer, fd);
	return request;
}

static int pass_file(const connection &to, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail(std::string("cannot open ") + path);
	int result = count(to, board::POST_FILE, file_request(to, fd));
	close(fd);
	return result;
}

static void pass_buffer(const connection &to, size_t mebibytes)
{
	board::buffer buffer = board::allocate(mebibytes << 20);
	GBinderReader reader;
	gint64 got = -1;

	for (size_t i = 0; i < mebibytes << 20; i++)
		buffer.memory[i] = i % 251;
	call(to, board::SUM, file_request(to, buffer.fd), &reader);
	gbinder_reader_read_int64(&reader, &got);
	int64_t wanted = board::add_up(buffer.fd);
	if (got != wanted)
		fail("the service added up " + std::to_string(got) + ", want " +
		     std::to_string(wanted));
	printf("%zu MiB in a %s: sum %ld\n", mebibytes, buffer.kind, static_cast<long>(got));
}

static GBinderLocalReply *on_note(GBinderLocalObject *, GBinderRemoteRequest *request, guint, guint,
				  int *, void *)
{
	GBinderReader reader;

	gbinder_remote_request_init_reader(request, &reader);
	printf("note: %s\n", board::read_string(&reader).c_str());
	return nullptr; /* one-way: no reply */
}

static void service_died(GBinderRemoteObject *, void *loop)
{
	g_main_loop_quit(static_cast<GMainLoop *>(loop));
}

/* Prints the notes until the service dies. */
static void watch(const connection &to)
{
	GMainLoop *loop = g_main_loop_new(nullptr, FALSE);
	GBinderLocalObject *printer =
		gbinder_servicemanager_new_local_object(to.manager, board::IREADER, on_note, nullptr);
	GBinderLocalRequest *request = gbinder_client_new_request(to.client);

	gbinder_remote_object_add_death_handler(to.service, service_died, loop);
	gbinder_local_request_append_local_object(request, printer);
	printf("watching, %d readers\n", count(to, board::SUBSCRIBE, request));
	board::look_after(to.manager, [] {});
	g_main_loop_run(loop);
	printf("the service died\n");
}

static connection connect()
{
	connection to;
	int status;

	to.manager = board::open_binder();
	auto find = [&] {
		to.service = gbinder_servicemanager_get_service_sync(to.manager, board::NAME,
								     &status);
		return to.service != nullptr;
	};
	if (!board::until_there(find))
		fail(std::string(board::NAME) + " is not registered: start a service");
	to.client = gbinder_client_new(to.service, board::IBOARD);
	return to;
}

int main(int argc, char **argv)
{
	const std::string command = argc > 1 ? argv[1] : "";
	const bool takes_argument = command == "post" || command == "file" || command == "sum";

	if (!(takes_argument && argc == 3) &&
	    !((command == "readers" || command == "watch") && argc == 2)) {
		fputs(USAGE, stderr);
		return 2;
	}
	board::arguments = argv;
	setvbuf(stdout, nullptr, _IOLBF, 0);
	const connection to = connect();
	GBinderLocalRequest *request = gbinder_client_new_request(to.client);
	if (command == "post") {
		gbinder_local_request_append_string16(request, argv[2]);
		printf("%d notes\n", count(to, board::POST, request));
	} else if (command == "file") {
		printf("%d notes\n", pass_file(to, argv[2]));
	} else if (command == "sum") {
		pass_buffer(to, strtoul(argv[2], nullptr, 0));
	} else if (command == "readers") {
		printf("%d readers\n", count(to, board::READERS, request));
	} else {
		watch(to);
	}
}
