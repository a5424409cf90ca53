// SPDX-License-Identifier: Apache-2.0
/* The service: keeps the notes, and calls the readers. */
#include "board.h"
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

static std::vector<std::string> notes;
/* The readers that are called for each note. */
static std::vector<GBinderRemoteObject *> readers;

static int post(const std::string &note)
{
	notes.push_back(note);
	for (GBinderRemoteObject *reader : readers) {
		GBinderClient *client = gbinder_client_new(reader, board::IREADER);
		GBinderLocalRequest *request = gbinder_client_new_request(client);

		gbinder_local_request_append_string16(request, note.c_str());
		/* One-way: this does not wait. It fails if the reader just died. */
		gbinder_client_transact_sync_oneway(client, board::ON_NOTE, request);
		gbinder_local_request_unref(request);
		gbinder_client_unref(client);
	}
	return notes.size();
}

static int post_file(int fd)
{
	FILE *file = fdopen(fd, "r");
	char *line = nullptr;
	size_t room = 0;

	if (!file)
		return -1;
	for (ssize_t length; (length = getline(&line, &room, file)) > 0;) {
		std::string note(line, length);

		if (note.back() == '\n')
			note.pop_back();
		post(note);
	}
	free(line);
	fclose(file);
	return notes.size();
}

static void reader_died(GBinderRemoteObject *reader, void *)
{
	std::erase(readers, reader);
	gbinder_remote_object_unref(reader);
	printf("a reader died, %zu left\n", readers.size());
}

/* The list keeps the caller's reference. */
static int subscribe(GBinderRemoteObject *reader)
{
	if (!reader)
		return -1;
	gbinder_remote_object_add_death_handler(reader, reader_died, nullptr);
	readers.push_back(reader);
	printf("%zu readers\n", readers.size());
	return readers.size();
}

static int64_t add_up(int fd)
{
	int64_t sum = board::add_up(fd);

	if (fd >= 0)
		close(fd);
	return sum;
}

/* A result that is negative is the exception ServiceSpecific of AIDL, with a code of this service. */
template <typename Append>
static void append_result(GBinderLocalReply *reply, int64_t result, Append append)
{
	constexpr int SERVICE_SPECIFIC = -8;

	if (result >= 0) {
		gbinder_local_reply_append_int32(reply, 0);
		append(reply, result);
		return;
	}
	gbinder_local_reply_append_int32(reply, SERVICE_SPECIFIC);
	gbinder_local_reply_append_string16(reply, "the descriptor or the object cannot be used");
	gbinder_local_reply_append_int32(reply, 0); /* no stack trace */
	gbinder_local_reply_append_int32(reply, 1);
}

static GBinderLocalReply *answer(GBinderLocalObject *service, GBinderRemoteRequest *request,
				 guint code, guint, int *status, void *)
{
	GBinderLocalReply *reply = gbinder_local_object_new_reply(service);
	GBinderReader reader;
	int result = 0;

	gbinder_remote_request_init_reader(request, &reader);
	switch (code) {
	case board::POST:
		result = post(board::read_string(&reader));
		break;
	case board::POST_FILE:
		result = post_file(board::read_file(&reader));
		break;
	case board::SUBSCRIBE:
		result = subscribe(gbinder_reader_read_object(&reader));
		break;
	case board::READERS:
		result = readers.size();
		break;
	case board::SUM:
		append_result(reply, add_up(board::read_file(&reader)),
			      gbinder_local_reply_append_int64);
		return reply;
	default:
		gbinder_local_reply_unref(reply);
		*status = -EBADMSG; /* the status UNKNOWN_TRANSACTION */
		return nullptr;
	}
	append_result(reply, result, gbinder_local_reply_append_int32);
	return reply;
}

int main(int, char **argv)
{
	board::arguments = argv;
	GBinderServiceManager *manager = board::open_binder();
	GBinderLocalObject *service =
		gbinder_servicemanager_new_local_object(manager, board::IBOARD, answer, nullptr);

	setvbuf(stdout, nullptr, _IOLBF, 0);
	auto add = [=] { return board::add_service(manager, service); };
	if (!board::until_there(add)) {
		fprintf(stderr, "%s could not be registered\n", board::NAME);
		return 1;
	}
	printf("serving %s\n", board::NAME);
	board::look_after(manager, [=] {
		if (add())
			printf("serving %s again\n", board::NAME);
	});
	g_main_loop_run(g_main_loop_new(nullptr, FALSE));
}
