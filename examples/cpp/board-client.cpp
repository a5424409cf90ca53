// SPDX-License-Identifier: Apache-2.0
/* The client, a command for each method of the service. */
#include "board.h"
#include <aidl/example/BnBoard.h>
#include <android/binder_manager.h>
#include <fcntl.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>

using namespace board;

static constexpr char USAGE[] =
	"usage: board-client post NOTE | file PATH | sum MEBIBYTES | readers | watch\n";

[[noreturn]] static void fail(const std::string &text)
{
	fprintf(stderr, "board-client: %s\n", text.c_str());
	exit(1);
}

static void check(const ScopedAStatus &status)
{
	if (!status.isOk())
		fail("the service answered with " + status.getDescription());
}

static void pass_buffer(IBoard &board, size_t mebibytes)
{
	buffer buffer = allocate(mebibytes << 20);
	int64_t got;

	for (size_t i = 0; i < mebibytes << 20; i++)
		buffer.memory[i] = i % 251;
	check(board.sum(buffer.fd, &got));
	int64_t wanted = add_up(buffer.fd);
	if (got != wanted)
		fail("the service added up " + std::to_string(got) + ", want " +
		     std::to_string(wanted));
	printf("%zu MiB in a %s: sum %ld\n", mebibytes, buffer.kind, static_cast<long>(got));
}

class Printer : public IBoard::BnReader {
	ScopedAStatus onNote(const std::string &note) override
	{
		printf("note: %s\n", note.c_str());
		return ScopedAStatus::ok();
	}
};

static void service_died(void *)
{
	printf("the service died\n");
	_exit(0);
}

/* Prints the notes until the service dies. */
[[noreturn]] static void watch(IBoard &board)
{
	AIBinder_DeathRecipient *notices = AIBinder_DeathRecipient_new(service_died);
	int32_t readers;

	if (AIBinder_linkToDeath(board.asBinder().get(), notices, nullptr) != STATUS_OK)
		service_died(nullptr);
	auto printer = ndk::SharedRefBase::make<Printer>();
	check(board.subscribe(printer, &readers));
	printf("watching, %d readers\n", readers);
	serve();
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
	setvbuf(stdout, nullptr, _IOLBF, 0);
	open_binder(argv);
	std::shared_ptr<IBoard> board;
	auto is_found = [&] {
		board = IBoard::fromBinder(ndk::SpAIBinder(AServiceManager_checkService(NAME)));
		return board != nullptr;
	};
	if (!until_there(is_found))
		fail(std::string(NAME) + " is not registered: start a service");
	int32_t count;
	if (command == "post") {
		check(board->post(argv[2], &count));
		printf("%d notes\n", count);
	} else if (command == "file") {
		ScopedFileDescriptor file(open(argv[2], O_RDONLY | O_CLOEXEC));
		if (file.get() < 0)
			fail(std::string("cannot open ") + argv[2]);
		check(board->postFile(file, &count));
		printf("%d notes\n", count);
	} else if (command == "sum") {
		pass_buffer(*board, strtoul(argv[2], nullptr, 0));
	} else if (command == "readers") {
		check(board->readers(&count));
		printf("%d readers\n", count);
	} else {
		watch(*board);
	}
}
