// SPDX-License-Identifier: GPL-2.0
/*
 * The thread that visits receivers: it turns the stops that the kernel reports into steps.
 *
 *   seized      the receiver is traced and asked to stop; it is still inside its ioctl and will
 *               stop when that returns, which takes an answer from the job's owner
 *   call entry  it stopped before a call that the plan chose; it is let go to make it
 *   call exit   it stopped with the call's result; the plan chooses the next, or it ends
 *
 * Signals wait outside meanwhile: all but those that a fault of the thread itself can raise
 * are blocked, and one of these, sent by somebody, is blocked when it shows up, which makes
 * the kernel put it back in the queue whole. When the receiver is let go it has its registers,
 * its signal mask and every signal that came.
 *
 * A visit outlives its job when the job's time is up: the receiver cannot be let go while it
 * runs, so the visit stays until the next stop and cleans up then.
 */
#include "inject.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inject_arch.h"
#include "inject_plan.h"

#ifdef INJECT_UNSUPPORTED

int inject_supported(void)
{
	return -ENOSYS;
}

int inject_start(struct injector **out)
{
	return -ENOSYS;
}

void inject_submit(struct injector *injector, struct inject_job *job)
{
	job->armed(job, -ENOSYS);
}

void inject_stop(struct injector *injector)
{
}

#else

/* In case a thread of the daemon with SIGCHLD unblocked swallowed one. */
#define LOST_SIGNAL_MS 10
/* A receiver stuck in a call of ours beyond its time is worth this much more waiting. */
#define STUCK_MS 2000
#define NR_BUCKETS 64
/* The kernel's size of a signal mask, in bytes. */
#define MASK_SIZE 8

enum visit_state {
	VISIT_SEIZED,
	VISIT_CALL_ENTRY,	/* next syscall stop is an entry */
	VISIT_CALL_EXIT,	/* next syscall stop is an exit */
	VISIT_TRAPPED,		/* a seccomp filter took the call for a SIGSYS, on its way */
};

struct visit {
	struct visit *next;		/* in its bucket */
	struct inject_job *job;		/* NULL once the owner has been told */
	pid_t tid;
	enum visit_state state;
	bool restart;
	uint64_t deadline_ms;
	struct inject_plan plan;
	inject_regs regs;		/* as found */
	uint64_t insn;			/* address of a system call instruction */
	long call_nr;			/* system call under way */
	uint64_t mask;			/* signals blocked, as found */
};

struct injector {
	pthread_t thread;
	int eventfd;
	int signalfd;
	pthread_mutex_t lock;
	struct inject_job *queue;	/* GUARDED_BY(&lock), oldest first */
	struct inject_job **queue_end;	/* GUARDED_BY(&lock) */
	bool stopping;			/* GUARDED_BY(&lock) */

	/* The thread's own. */
	struct visit *buckets[NR_BUCKETS];
	int nr_visits;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static struct visit **find_slot(struct injector *injector, pid_t tid)
{
	struct visit **slot = &injector->buckets[(unsigned int)tid % NR_BUCKETS];

	while (*slot && (*slot)->tid != tid)
		slot = &(*slot)->next;
	return slot;
}

/* Tells the owner how it ended; only the first word counts. */
static void tell(struct visit *visit, int err)
{
	struct inject_job *job = visit->job;

	visit->job = NULL;
	if (job)
		job->done(job, err);
}

static void end_visit(struct injector *injector, struct visit *visit, int err)
{
	struct visit **slot = find_slot(injector, visit->tid);

	*slot = visit->next;
	injector->nr_visits--;
	inject_plan_end(&visit->plan);
	tell(visit, err);
	free(visit);
}

static int set_mask(pid_t tid, uint64_t mask)
{
	return ptrace(PTRACE_SETSIGMASK, tid, MASK_SIZE, &mask) < 0 ? -errno : 0;
}

/* Everything but what a fault raises: forcing a blocked signal would undo its handler. */
static uint64_t quiet_mask(uint64_t mask)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
	uint64_t quiet = ~0ull;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		quiet &= ~(1ull << (faults[i] - 1));
	return quiet | mask;
}

/*
 * Lets the receiver go as it was found. It fails only if the receiver is being killed; then
 * its end is reported soon.
 */
static void let_go(struct injector *injector, struct visit *visit, int signal)
{
	int err = visit->plan.err;
	pid_t tid = visit->tid;

	if (visit->restart)
		inject_regs_restart(&visit->regs, visit->insn);
	if (inject_regs_write(tid, &visit->regs) < 0 || set_mask(tid, visit->mask) < 0)
		return;
	if (!err && visit->job) {
		for (int i = 0; i < visit->plan.nr_install; i++)
			visit->job->result_fds[i] = inject_plan_result(&visit->plan, i);
	}
	tell(visit, err);
	ptrace(PTRACE_DETACH, tid, 0, (void *)(long)signal);
	end_visit(injector, visit, err);
}

static void resume(struct visit *visit, int signal)
{
	ptrace(PTRACE_SYSCALL, visit->tid, 0, (void *)(long)signal);
}

/* The receiver is stopped outside of a call: has it make the plan's next one. */
static void next_step(struct injector *injector, struct visit *visit)
{
	struct inject_call call;
	inject_regs regs = visit->regs;

	if (!inject_plan_next(&visit->plan, &call)) {
		let_go(injector, visit, 0);
		return;
	}
	inject_regs_call(&regs, visit->insn, &call);
	if (inject_regs_write(visit->tid, &regs) < 0)
		return;
	visit->call_nr = inject_call_number(&regs, call.nr);
	visit->state = VISIT_CALL_ENTRY;
	resume(visit, 0);
}

/* Reads how the receiver was found; refuses what we could not put back or continue. */
static int survey(struct visit *visit)
{
	unsigned char insn[INJECT_INSN_SIZE] = { 0 };
	struct iovec local = { insn, sizeof(insn) };
	struct iovec remote;
	int err = inject_regs_read(visit->tid, &visit->regs);

	if (err)
		return err;
	if (!inject_regs_usable(&visit->regs))
		return -ENOSYS;
	visit->insn = inject_insn_address(&visit->regs);
	remote = (struct iovec){ (void *)(uintptr_t)visit->insn, sizeof(insn) };
	if (process_vm_readv(visit->tid, &local, 1, &remote, 1, 0) != sizeof(insn) ||
	    memcmp(insn, inject_insn(&visit->regs), sizeof(insn)) != 0)
		return -ENOSYS;
	visit->plan.stack_limit = inject_stack_limit(&visit->regs);
	visit->plan.narrow = inject_regs_narrow(&visit->regs);
	if (ptrace(PTRACE_GETSIGMASK, visit->tid, MASK_SIZE, &visit->mask) < 0)
		return -errno;
	return set_mask(visit->tid, quiet_mask(visit->mask));
}

/* The first stop: the ioctl has returned. A job that has timed out only wants to leave. */
static void first_stop(struct injector *injector, struct visit *visit)
{
	int err = visit->job ? survey(visit) : -ETIMEDOUT;

	if (!err) {
		next_step(injector, visit);
		return;
	}
	/* Whatever failed, it did so because the receiver is dying: wait for the report. */
	if (inject_regs_read(visit->tid, &visit->regs) == -ESRCH)
		return;
	tell(visit, err);
	ptrace(PTRACE_DETACH, visit->tid, 0, 0);
	end_visit(injector, visit, err);
}

/*
 * A seccomp filter that answers with SIGSYS leaves the call's number where its result would
 * be. Such a number, taken for a descriptor, would be closed in the end.
 */
static bool trapped(const struct visit *visit, long ret)
{
	siginfo_t infos[32];
	struct __ptrace_peeksiginfo_args args = { .nr = 32 };
	long nr;

	if (ret != visit->call_nr)
		return false;
	nr = ptrace(PTRACE_PEEKSIGINFO, visit->tid, &args, infos);
	for (long i = 0; i < nr; i++) {
		if (infos[i].si_signo == SIGSYS && infos[i].si_code > 0)
			return true;
	}
	return false;
}

static void syscall_stop(struct injector *injector, struct visit *visit)
{
	inject_regs regs;
	long ret;

	if (visit->state == VISIT_CALL_ENTRY) {
		visit->state = VISIT_CALL_EXIT;
		resume(visit, 0);
		return;
	}
	if (inject_regs_read(visit->tid, &regs) < 0)
		return;
	ret = inject_regs_result(&regs);
	if (trapped(visit, ret)) {
		visit->state = VISIT_TRAPPED;
		resume(visit, 0);
		return;
	}
	inject_plan_returned(&visit->plan, ret);
	if (!visit->job)
		inject_plan_abort(&visit->plan, -ETIMEDOUT);
	next_step(injector, visit);
}

/*
 * A signal got through. Raised by a seccomp filter against our call, it is not the receiver's
 * and ends here: the call has failed. From elsewhere, it is put back by blocking it.
 */
static void signal_stop(struct injector *injector, struct visit *visit, int signal)
{
	siginfo_t info = { 0 };
	uint64_t mask;

	if (ptrace(PTRACE_GETSIGINFO, visit->tid, 0, &info) < 0)
		return;
	if (visit->state == VISIT_TRAPPED && signal == SIGSYS && info.si_code > 0) {
		inject_plan_returned(&visit->plan, -EPERM);
		next_step(injector, visit);
		return;
	}
	if (visit->state != VISIT_SEIZED &&
	    ptrace(PTRACE_GETSIGMASK, visit->tid, MASK_SIZE, &mask) == 0)
		set_mask(visit->tid, mask | 1ull << (signal - 1));
	resume(visit, signal);
}

static void stopped(struct injector *injector, struct visit *visit, int status)
{
	int signal = WSTOPSIG(status);

	if (signal == (SIGTRAP | 0x80)) {
		if (visit->state == VISIT_SEIZED)
			resume(visit, 0);
		else
			syscall_stop(injector, visit);
	} else if (status >> 16 != PTRACE_EVENT_STOP) {
		signal_stop(injector, visit, signal);
	} else if (visit->state == VISIT_SEIZED) {
		first_stop(injector, visit);
	} else {
		/* The process is being stopped or continued; that takes effect when we leave. */
		resume(visit, 0);
	}
}

/* Takes every report there is. */
static void reap(struct injector *injector)
{
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, WNOHANG | __WALL | __WNOTHREAD)) > 0) {
		struct visit *visit = *find_slot(injector, tid);

		if (!visit) {
			if (WIFSTOPPED(status))
				ptrace(PTRACE_DETACH, tid, 0, 0);
		} else if (WIFSTOPPED(status)) {
			stopped(injector, visit, status);
		} else {
			end_visit(injector, visit, -ESRCH);
		}
	}
}

/*
 * Its time is up. If the kernel will not even take an INTERRUPT, the thread is gone without
 * a report (another thread's exec took its place).
 */
static void expire(struct injector *injector, struct visit *visit)
{
	tell(visit, -ETIMEDOUT);
	if (ptrace(PTRACE_INTERRUPT, visit->tid, 0, 0) < 0)
		end_visit(injector, visit, -ESRCH);
}

/* Is there anything to put back in the receiver, or anybody who waits for word of it? */
static bool unfinished(const struct visit *visit, uint64_t now)
{
	return visit->job ||
	       (visit->state != VISIT_SEIZED && now < visit->deadline_ms + STUCK_MS);
}

/* Ends what is overdue; returns the number of visits that are not finished. */
static int check_deadlines(struct injector *injector)
{
	uint64_t now = now_ms();
	int nr_unfinished = 0;

	for (int i = 0; injector->nr_visits && i < NR_BUCKETS; i++) {
		struct visit *next;

		for (struct visit *visit = injector->buckets[i]; visit; visit = next) {
			next = visit->next;
			nr_unfinished += unfinished(visit, now);
			if (visit->job && now >= visit->deadline_ms)
				expire(injector, visit);
		}
	}
	return nr_unfinished;
}

/* What is left when the thread ends was never touched: the kernel lets go of it by itself. */
static void drop_visits(struct injector *injector)
{
	for (int i = 0; i < NR_BUCKETS; i++) {
		while (injector->buckets[i])
			end_visit(injector, injector->buckets[i], -ECANCELED);
	}
}

static int seize(struct injector *injector, struct inject_job *job, struct visit *visit)
{
	int timeout_ms = job->timeout_ms ? job->timeout_ms : INJECT_TIMEOUT_MS;
	int err;

	*visit = (struct visit){
		.job = job, .tid = job->tid, .state = VISIT_SEIZED, .restart = job->restart,
		.deadline_ms = now_ms() + (uint64_t)timeout_ms,
		.plan = {
			.tid = job->tid, .tgid = job->tgid,
			.nr_install = job->nr_install, .files = job->files,
			.nr_close = job->nr_close, .closes = job->closes,
		},
	};
	err = inject_plan_begin(&visit->plan);
	if (!err && ptrace(PTRACE_SEIZE, job->tid, 0, PTRACE_O_TRACESYSGOOD) < 0)
		err = -errno;
	if (!err && ptrace(PTRACE_INTERRUPT, job->tid, 0, 0) < 0)
		err = -errno;
	return err;
}

static void begin(struct injector *injector, struct inject_job *job)
{
	struct visit **slot = find_slot(injector, job->tid);
	struct visit *visit;
	int err = -EBUSY;

	/* An old visit whose thread is no longer ours went unreported; see expire(). */
	if (*slot && !(*slot)->job && ptrace(PTRACE_INTERRUPT, job->tid, 0, 0) < 0) {
		end_visit(injector, *slot, -ESRCH);
		slot = find_slot(injector, job->tid);
	}
	if (*slot) {
		job->armed(job, err);
		return;
	}
	visit = malloc(sizeof(*visit));
	err = visit ? seize(injector, job, visit) : -ENOMEM;
	if (err) {
		if (visit)
			inject_plan_end(&visit->plan);
		free(visit);
		job->armed(job, err);
		return;
	}
	visit->next = NULL;
	*slot = visit;
	injector->nr_visits++;
	job->armed(job, 0);
}

/* Takes the oldest queued job; says whether the thread is to end. */
static struct inject_job *take_job(struct injector *injector, bool *stopping)
{
	struct inject_job *job;

	pthread_mutex_lock(&injector->lock);
	*stopping = injector->stopping;
	job = injector->queue;
	if (job) {
		injector->queue = job->next;
		if (!injector->queue)
			injector->queue_end = &injector->queue;
	}
	pthread_mutex_unlock(&injector->lock);
	return job;
}

/* One read empties an eventfd, and a signalfd of one signal that does not queue. */
static void clear(const struct pollfd *fd)
{
	struct signalfd_siginfo info;

	if (fd->revents && read(fd->fd, &info, sizeof(info)) < 0)
		return;
}

static void *injector_main(void *arg)
{
	struct injector *injector = arg;
	struct pollfd fds[2] = {
		{ .fd = injector->signalfd, .events = POLLIN },
		{ .fd = injector->eventfd, .events = POLLIN },
	};
	int nr_unfinished = 0;
	bool stopping = false;

	while (!stopping || nr_unfinished) {
		struct inject_job *job;

		poll(fds, 2, nr_unfinished ? LOST_SIGNAL_MS : -1);
		clear(&fds[0]);
		clear(&fds[1]);
		while ((job = take_job(injector, &stopping))) {
			if (stopping)
				job->armed(job, -ECANCELED);
			else
				begin(injector, job);
		}
		reap(injector);
		nr_unfinished = check_deadlines(injector);
	}
	drop_visits(injector);
	return NULL;
}

int inject_supported(void)
{
	return 0;
}

static int open_descriptors(struct injector *injector)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	injector->signalfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (injector->signalfd < 0)
		return -errno;
	injector->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return injector->eventfd < 0 ? -errno : 0;
}

static void free_injector(struct injector *injector)
{
	if (injector->signalfd >= 0)
		close(injector->signalfd);
	if (injector->eventfd >= 0)
		close(injector->eventfd);
	pthread_mutex_destroy(&injector->lock);
	free(injector);
}

int inject_start(struct injector **out)
{
	struct injector *injector = calloc(1, sizeof(*injector));
	int err;

	if (!injector)
		return -ENOMEM;
	injector->eventfd = -1;
	injector->signalfd = -1;
	injector->queue_end = &injector->queue;
	pthread_mutex_init(&injector->lock, NULL);
	err = open_descriptors(injector);
	if (!err)
		err = -pthread_create(&injector->thread, NULL, injector_main, injector);
	if (err) {
		free_injector(injector);
		return err;
	}
	*out = injector;
	return 0;
}

static void wake(struct injector *injector)
{
	uint64_t one = 1;

	/* It can fail only when the counter is full, and then the thread is awake. */
	if (write(injector->eventfd, &one, sizeof(one)) < 0)
		return;
}

void inject_submit(struct injector *injector, struct inject_job *job)
{
	job->next = NULL;
	pthread_mutex_lock(&injector->lock);
	*injector->queue_end = job;
	injector->queue_end = &job->next;
	pthread_mutex_unlock(&injector->lock);
	wake(injector);
}

void inject_stop(struct injector *injector)
{
	pthread_mutex_lock(&injector->lock);
	injector->stopping = true;
	pthread_mutex_unlock(&injector->lock);
	wake(injector);
	pthread_join(injector->thread, NULL);
	free_injector(injector);
}

#endif
