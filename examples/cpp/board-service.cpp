// SPDX-License-Identifier: Apache-2.0
/* The service: keeps the notes, and calls the readers. */
#include "board.h"
#include <android/binder_manager.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>

using namespace board;

class Board : public aidl::example::BnBoard {
	struct subscription {
		Board *board;
		std::shared_ptr<IReader> reader;
	};

	std::mutex mutex;
	std::vector<std::string> notes;
	/* The readers that are called for each note; the notice of its death removes one. */
	std::vector<std::shared_ptr<IReader>> subscribed;
	AIBinder_DeathRecipient *deaths;

	static void reader_died(void *cookie)
	{
		auto [board, reader] = *static_cast<subscription *>(cookie);
		std::lock_guard guard(board->mutex);
		auto &readers = board->subscribed;
		auto one = std::find(readers.begin(), readers.end(), reader);

		if (one != readers.end())
			readers.erase(one);
		printf("a reader died, %zu left\n", readers.size());
	}

	static void forget(void *cookie) { delete static_cast<subscription *>(cookie); }

public:
	Board() : deaths(AIBinder_DeathRecipient_new(reader_died))
	{
		AIBinder_DeathRecipient_setOnUnlinked(deaths, forget);
	}

	ScopedAStatus post(const std::string &note, int32_t *count) override
	{
		std::lock_guard guard(mutex);

		notes.push_back(note);
		for (const auto &reader : subscribed) {
			/* One-way: this does not wait. It fails if the reader just died. */
			reader->onNote(note);
		}
		*count = notes.size();
		return ScopedAStatus::ok();
	}

	ScopedAStatus postFile(const ScopedFileDescriptor &file, int32_t *count) override
	{
		FILE *stream = fdopen(file.dup().release(), "r");
		char *line = nullptr;
		size_t room = 0;

		*count = 0;
		if (!stream)
			return ScopedAStatus::fromExceptionCode(EX_ILLEGAL_ARGUMENT);
		for (ssize_t length; (length = getline(&line, &room, stream)) > 0;) {
			std::string note(line, length);

			if (note.back() == '\n')
				note.pop_back();
			post(note, count);
		}
		free(line);
		fclose(stream);
		return ScopedAStatus::ok();
	}

	ScopedAStatus subscribe(const std::shared_ptr<IReader> &reader, int32_t *count) override
	{
		/* Locked first: a notice that comes at once waits until the reader is in the list. */
		std::lock_guard guard(mutex);
		binder_status_t status = AIBinder_linkToDeath(reader->asBinder().get(), deaths,
							      new subscription{ this, reader });

		if (status != STATUS_OK)
			return ScopedAStatus::fromStatus(status);
		subscribed.push_back(reader);
		*count = subscribed.size();
		printf("%d readers\n", *count);
		return ScopedAStatus::ok();
	}

	ScopedAStatus readers(int32_t *count) override
	{
		std::lock_guard guard(mutex);

		*count = subscribed.size();
		return ScopedAStatus::ok();
	}

	ScopedAStatus sum(const ScopedFileDescriptor &buffer, int64_t *sum) override
	{
		*sum = add_up(buffer);
		if (*sum >= 0)
			return ScopedAStatus::ok();
		return ScopedAStatus::fromExceptionCodeWithMessage(
			EX_ILLEGAL_ARGUMENT, "the buffer can shrink, or cannot be mapped");
	}
};

int main(int, char **argv)
{
	setvbuf(stdout, nullptr, _IOLBF, 0);
	open_binder(argv);
	auto service = ndk::SharedRefBase::make<Board>();
	auto add = [&] {
		return AServiceManager_addService(service->asBinder().get(), NAME) == EX_NONE;
	};
	if (!until_there(add)) {
		fprintf(stderr, "%s could not be registered\n", NAME);
		return 1;
	}
	link_to_manager();
	printf("serving %s\n", NAME);
	serve();
}
