// SPDX-License-Identifier: GPL-2.0
/*
 * The injector's thread: a state machine for each traced receiver (tracee), driven by its stops.
 *
 *   seized      the tracee is attached and was interrupted; it is still inside its ioctl and will
 *               stop when that returns, after the reply of the job's owner
 *   call entry  it stopped before a system call that the plan chose; it is resumed
 *   call exit   it stopped after that call; the plan chooses the next, or it is detached
 *
 * Signals are held back meanwhile: all are blocked but those that a fault of the thread itself can
 * raise, and one of these that was sent by a process is blocked when it is delivered, which makes
 * the kernel queue it again unchanged. At the detach the receiver gets back its registers and its
 * signal mask, and has lost no signal.
 *
 * There may be several injectors. SIGCHLD is sent to the process, so the one that takes it wakes
 * the others; each waits for its own tracees only.
 *
 * A tracee can outlive its job: a running thread cannot be detached, so after a timeout it stays
 * attached until its next stop, and is cleaned up then.
 */
#include "fds/inject/inject.h"

#include "base/clock.h"
#include "base/daemon_state.h"
#include "base/runnable.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fds/inject/inject_arch.h"
#include "fds/inject/inject_plan.h"

/* How soon an injector looks for itself, in case another thread has received its SIGCHLD. */
#define LOST_SIGNAL_MS 10
/* An injector that has not looked at its tracees for so long got no processor time. */
#define ASLEEP_MS 500
/* How long beyond the timeout a tracee is looked at that is in one of the plan's calls. */
#define STUCK_MS 2000
#define NR_BUCKETS 64
/* The kernel's size of a signal mask, in bytes. */
#define INJECT_MASK_SIZE 8

enum tracee_state {
	TRACEE_SEIZED,
	TRACEE_CALL_ENTRY,	/* next syscall stop is an entry */
	TRACEE_CALL_EXIT,	/* next syscall stop is an exit */
	TRACEE_TRAPPED,		/* a seccomp filter refused the call; its SIGSYS is pending */
};

struct tracee {
	struct tracee *next;		/* in its bucket */
	struct inject_job *job;		/* NULL once done() was called */
	pid_t tid;
	enum tracee_state state;
	bool restart;
	uint64_t deadline_ms;
	struct inject_plan plan;
	struct inject_regs regs;		/* as found */
	uint64_t insn;			/* address of a system call instruction */
	struct inject_own_call own;	/* the receiver's ioctl */
	struct inject_call call;	/* system call under way */
	uint64_t mask;			/* signals blocked, as found */
};

struct injector {
	struct injector *next;		/* of all; guarded by injectors_lock */
	struct daemon *daemon;		/* for which the callbacks of jobs work */
	int eventfd;
	int signalfd;
	pthread_mutex_t lock;
	struct bl_list queue;		/* GUARDED_BY(&lock): jobs, oldest first */

	/* Private to the thread, except that others read the last two. */
	struct tracee *buckets[NR_BUCKETS];
	atomic_int nr_tracees;
	atomic_bool idle;
};

static pthread_mutex_t injectors_lock = PTHREAD_MUTEX_INITIALIZER;
static struct injector *injectors;

static uint64_t now_ms(void)
{
	return clock_now_ns() / 1000000;
}

static struct tracee **find_slot(struct injector *injector, pid_t tid)
{
	struct tracee **slot = &injector->buckets[(unsigned int)tid % NR_BUCKETS];

	while (*slot && (*slot)->tid != tid)
		slot = &(*slot)->next;
	return slot;
}

/* Calls done(), the first time. */
static void notify_done(struct tracee *tracee, int error)
{
	struct inject_job *job = tracee->job;

	tracee->job = NULL;
	if (job)
		job->done(job, error);
}

static void end_tracee(struct injector *injector, struct tracee *tracee, int error)
{
	struct tracee **slot = find_slot(injector, tracee->tid);

	*slot = tracee->next;
	atomic_fetch_sub(&injector->nr_tracees, 1);
	inject_plan_end(&tracee->plan);
	notify_done(tracee, error);
	free(tracee);
}

static int set_mask(pid_t tid, uint64_t mask)
{
	return ptrace(PTRACE_SETSIGMASK, tid, INJECT_MASK_SIZE, &mask) < 0 ? -errno : 0;
}

/*
 * Restores the receiver's state and detaches it. Fails only if it is being killed; then its exit
 * is reported soon.
 */
static void inject_detach(struct injector *injector, struct tracee *tracee)
{
	int error = tracee->plan.error;
	pid_t tid = tracee->tid;

	if (tracee->restart)
		inject_regs_restart(&tracee->regs, tracee->insn, &tracee->own);
	if (inject_regs_write(tid, &tracee->regs) < 0 || set_mask(tid, tracee->mask) < 0)
		return;
	if (!error && tracee->job) {
		for (int i = 0; i < tracee->plan.nr_install; i++)
			tracee->job->result_fds[i] = inject_plan_result(&tracee->plan, i);
	}
	notify_done(tracee, error);
	ptrace(PTRACE_DETACH, tid, 0, 0);
	end_tracee(injector, tracee, error);
}

static void inject_resume(struct tracee *tracee, int signal)
{
	ptrace(PTRACE_SYSCALL, tracee->tid, 0, (void *)(long)signal);
}

/* The receiver is stopped outside of a system call: sets up the plan's next one. */
static void next_step(struct injector *injector, struct tracee *tracee)
{
	struct inject_regs regs = tracee->regs;

	if (!inject_plan_next(&tracee->plan, &tracee->call)) {
		inject_detach(injector, tracee);
		return;
	}
	inject_regs_call(&regs, tracee->insn, &tracee->call);
	if (inject_regs_write(tracee->tid, &regs) < 0)
		return;
	tracee->state = TRACEE_CALL_ENTRY;
	inject_resume(tracee, 0);
}

/*
 * @mask and all signals but those of faults: if such a signal is blocked, the kernel resets its
 * handler when a fault raises it.
 */
static uint64_t quiet_mask(uint64_t mask)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
	uint64_t quiet = ~0ull;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		quiet &= ~(1ull << (faults[i] - 1));
	return quiet | mask;
}

/* Saves the receiver's state; -ENOSYS for one that could not be restored or continued. */
static int save_state(struct tracee *tracee)
{
	int error = inject_regs_read(tracee->tid, &tracee->regs);

	if (!error)
		error = inject_find_insn(tracee->tid, &tracee->regs, &tracee->own, &tracee->insn);
	if (error)
		return error;
	tracee->plan.stack_limit = inject_stack_limit(&tracee->regs);
	tracee->plan.narrow = inject_regs_narrow(&tracee->regs);
	if (ptrace(PTRACE_GETSIGMASK, tracee->tid, INJECT_MASK_SIZE, &tracee->mask) < 0)
		return -errno;
	return set_mask(tracee->tid, quiet_mask(tracee->mask));
}

/* The first stop: the ioctl has returned. After a timeout the receiver is only detached. */
static void first_stop(struct injector *injector, struct tracee *tracee)
{
	int error = tracee->job ? save_state(tracee) : -ETIMEDOUT;

	if (!error) {
		next_step(injector, tracee);
		return;
	}
	/* it failed because the receiver is being killed: wait for the report of its exit */
	if (inject_regs_read(tracee->tid, &tracee->regs) == -ESRCH)
		return;
	notify_done(tracee, error);
	ptrace(PTRACE_DETACH, tracee->tid, 0, 0);
	end_tracee(injector, tracee, error);
}

/*
 * A seccomp filter that raises SIGSYS leaves the number of the system call, or its first argument,
 * in the register of the result. Without this check that would be used, and finally closed, as a
 * descriptor.
 */
static bool is_trapped(const struct tracee *tracee, long ret)
{
	siginfo_t infos[32];
	struct __ptrace_peeksiginfo_args args = { .nr = 32 };
	long nr;

	if (ret != inject_trapped_result(&tracee->regs, &tracee->call))
		return false;
	nr = ptrace(PTRACE_PEEKSIGINFO, tracee->tid, &args, infos);
	for (long i = 0; i < nr; i++) {
		if (infos[i].si_signo == SIGSYS && infos[i].si_code > 0)
			return true;
	}
	return false;
}

static void syscall_stop(struct injector *injector, struct tracee *tracee)
{
	struct inject_regs regs;
	long ret;

	if (tracee->state == TRACEE_CALL_ENTRY) {
		tracee->state = TRACEE_CALL_EXIT;
		inject_resume(tracee, 0);
		return;
	}
	if (inject_regs_read(tracee->tid, &regs) < 0)
		return;
	ret = inject_regs_result(&regs);
	if (is_trapped(tracee, ret)) {
		tracee->state = TRACEE_TRAPPED;
		inject_resume(tracee, 0);
		return;
	}
	inject_plan_returned(&tracee->plan, ret);
	if (!tracee->job)
		inject_plan_abort(&tracee->plan, -ETIMEDOUT);
	next_step(injector, tracee);
}

/*
 * A signal is about to be delivered. If a seccomp filter raised it for a call of the plan, it is
 * discarded and the call has failed. Any other is queued again by blocking it.
 */
static void signal_stop(struct injector *injector, struct tracee *tracee, int signal)
{
	siginfo_t info = { 0 };
	uint64_t mask;

	if (ptrace(PTRACE_GETSIGINFO, tracee->tid, 0, &info) < 0)
		return;
	if (tracee->state == TRACEE_TRAPPED && signal == SIGSYS && info.si_code > 0) {
		inject_plan_returned(&tracee->plan, -EPERM);
		next_step(injector, tracee);
		return;
	}
	if (tracee->state != TRACEE_SEIZED &&
	    ptrace(PTRACE_GETSIGMASK, tracee->tid, INJECT_MASK_SIZE, &mask) == 0)
		set_mask(tracee->tid, mask | 1ull << (signal - 1));
	inject_resume(tracee, signal);
}

static void inject_stopped(struct injector *injector, struct tracee *tracee, int status)
{
	int signal = WSTOPSIG(status);

	if (signal == (SIGTRAP | 0x80)) {
		if (tracee->state == TRACEE_SEIZED)
			inject_resume(tracee, 0);
		else
			syscall_stop(injector, tracee);
	} else if (status >> 16 != PTRACE_EVENT_STOP) {
		signal_stop(injector, tracee, signal);
	} else if (tracee->state == TRACEE_SEIZED) {
		first_stop(injector, tracee);
	} else {
		/* the process is being stopped or continued: takes effect after the detach */
		inject_resume(tracee, 0);
	}
}

/* Handles all stops and exits that the kernel has reported. */
static void handle_reports(struct injector *injector)
{
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, WNOHANG | __WALL | __WNOTHREAD)) > 0) {
		struct tracee *tracee = *find_slot(injector, tid);

		if (!tracee) {
			if (WIFSTOPPED(status))
				ptrace(PTRACE_DETACH, tid, 0, 0);
		} else if (WIFSTOPPED(status)) {
			inject_stopped(injector, tracee, status);
		} else {
			end_tracee(injector, tracee, -ESRCH);
		}
	}
}

/*
 * The job has timed out. If PTRACE_INTERRUPT fails, the thread has vanished without a report: it
 * was replaced by another thread's exec.
 */
static void inject_expire(struct injector *injector, struct tracee *tracee)
{
	notify_done(tracee, -ETIMEDOUT);
	if (ptrace(PTRACE_INTERRUPT, tracee->tid, 0, 0) < 0)
		end_tracee(injector, tracee, -ESRCH);
}

/* Is a job waiting for it, or does the receiver's state have to be restored? */
static bool is_unfinished(const struct tracee *tracee, uint64_t now)
{
	return tracee->job ||
	       (tracee->state != TRACEE_SEIZED && now < tracee->deadline_ms + STUCK_MS);
}

/* Has the tracee @tid stopped, or ended, since handle_reports()? */
static bool has_report(pid_t tid)
{
	siginfo_t info = { 0 };

	return !waitid(P_PID, (id_t)tid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) &&
	       info.si_pid;
}

static bool is_late(const struct tracee *tracee, uint64_t now)
{
	return tracee->job && now >= tracee->deadline_ms &&
	       (now >= tracee->deadline_ms + RUNNABLE_PATIENCE_MS ||
		(!thread_is_runnable(tracee->tid) && !has_report(tracee->tid)));
}

/*
 * Fails overdue jobs; returns the number of unfinished tracees. @checked: the time of the last
 * check. If that was long ago, this thread did not run, and its tracees perhaps neither.
 */
static int check_deadlines(struct injector *injector, uint64_t *checked)
{
	uint64_t now = now_ms();
	uint64_t lost_ms = now - *checked > ASLEEP_MS ? now - *checked : 0;
	int nr_unfinished = 0;

	for (int i = 0; atomic_load(&injector->nr_tracees) && i < NR_BUCKETS; i++) {
		struct tracee *next;

		for (struct tracee *tracee = injector->buckets[i]; tracee; tracee = next) {
			next = tracee->next;
			tracee->deadline_ms += lost_ms;
			nr_unfinished += is_unfinished(tracee, now);
			if (is_late(tracee, now))
				inject_expire(injector, tracee);
		}
	}
	*checked = now;
	return nr_unfinished;
}

static int inject_seize(struct injector *injector, struct inject_job *job, struct tracee *tracee)
{
	int timeout_ms = job->timeout_ms ? job->timeout_ms : INJECT_TIMEOUT_MS;
	int error;

	*tracee = (struct tracee){
		.job = job, .tid = job->tid, .state = TRACEE_SEIZED, .restart = job->restart,
		.deadline_ms = now_ms() + (uint64_t)timeout_ms,
		.plan = {
			.tid = job->tid, .tgid = job->tgid,
			.nr_install = job->nr_install, .files = job->files,
			.nr_close = job->nr_close, .closes = job->closes,
		},
	};
	error = inject_plan_begin(&tracee->plan);
	inject_own_call_read(job->tid, &tracee->own);
	if (!error && ptrace(PTRACE_SEIZE, job->tid, 0, PTRACE_O_TRACESYSGOOD) < 0)
		error = -errno;
	if (!error && ptrace(PTRACE_INTERRUPT, job->tid, 0, 0) < 0)
		error = -errno;
	return error;
}

static void start_job(struct injector *injector, struct inject_job *job)
{
	struct tracee **slot = find_slot(injector, job->tid);
	struct tracee *tracee;
	int error = -EBUSY;

	/* a previous tracee of this tid that vanished without a report; see inject_expire() */
	if (*slot && !(*slot)->job && ptrace(PTRACE_INTERRUPT, job->tid, 0, 0) < 0) {
		end_tracee(injector, *slot, -ESRCH);
		slot = find_slot(injector, job->tid);
	}
	if (*slot) {
		job->armed(job, error);
		return;
	}
	tracee = malloc(sizeof(*tracee));
	error = tracee ? inject_seize(injector, job, tracee) : -ENOMEM;
	if (error) {
		if (tracee)
			inject_plan_end(&tracee->plan);
		free(tracee);
		job->armed(job, error);
		return;
	}
	tracee->next = NULL;
	*slot = tracee;
	atomic_fetch_add(&injector->nr_tracees, 1);
	job->armed(job, 0);
}

/* Takes the oldest queued job; NULL: none. */
static struct inject_job *take_job(struct injector *injector)
{
	struct bl_list *job;

	pthread_mutex_lock(&injector->lock);
	job = bl_pop(&injector->queue);
	pthread_mutex_unlock(&injector->lock);
	return job ? bl_entry(job, struct inject_job, in_queue) : NULL;
}

/* One read empties an eventfd, and a signalfd of one signal that is not queued. */
static bool inject_clear(const struct pollfd *fd)
{
	struct signalfd_siginfo info;

	return fd->revents && read(fd->fd, &info, sizeof(info)) > 0;
}

static void inject_wake(struct injector *injector)
{
	uint64_t one = 1;

	/* can fail only when the counter is at its maximum, and then the thread is awake */
	if (write(injector->eventfd, &one, sizeof(one)) < 0)
		return;
}

/* This injector has taken a SIGCHLD that may be for tracees of another. */
static void wake_others(const struct injector *injector)
{
	pthread_mutex_lock(&injectors_lock);
	for (struct injector *other = injectors; other; other = other->next)
		if (other != injector && atomic_load(&other->nr_tracees))
			inject_wake(other);
	pthread_mutex_unlock(&injectors_lock);
}

static void *injector_main(void *arg)
{
	struct injector *injector = arg;
	struct pollfd fds[2] = {
		{ .fd = injector->signalfd, .events = POLLIN },
		{ .fd = injector->eventfd, .events = POLLIN },
	};
	uint64_t checked_ms = now_ms();
	int nr_unfinished = 0;

	daemon_self = injector->daemon;
	for (;;) {
		struct inject_job *job;

		atomic_store(&injector->idle, !atomic_load(&injector->nr_tracees));
		poll(fds, 2, nr_unfinished ? LOST_SIGNAL_MS : -1);
		if (!nr_unfinished)
			checked_ms = now_ms();
		atomic_store(&injector->idle, false);
		if (inject_clear(&fds[0]))
			wake_others(injector);
		inject_clear(&fds[1]);
		while ((job = take_job(injector)))
			start_job(injector, job);
		handle_reports(injector);
		nr_unfinished = check_deadlines(injector, &checked_ms);
	}
	return NULL;
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
	struct injector *injector;
	pthread_t thread;
	int error;

	injector = calloc(1, sizeof(*injector));
	if (!injector)
		return -ENOMEM;
	injector->daemon = daemon_self;
	injector->eventfd = -1;
	injector->signalfd = -1;
	bl_init(&injector->queue);
	pthread_mutex_init(&injector->lock, NULL);
	error = open_descriptors(injector);
	if (!error)
		error = -pthread_create(&thread, NULL, injector_main, injector);
	if (error) {
		free_injector(injector);
		return error;
	}
	pthread_detach(thread);
	pthread_mutex_lock(&injectors_lock);
	injector->next = injectors;
	injectors = injector;
	pthread_mutex_unlock(&injectors_lock);
	*out = injector;
	return 0;
}

void inject_submit(struct injector *injector, struct inject_job *job)
{
	pthread_mutex_lock(&injector->lock);
	bl_add_tail(&injector->queue, &job->in_queue);
	pthread_mutex_unlock(&injector->lock);
	inject_wake(injector);
}

bool inject_is_idle(const struct injector *injector)
{
	return atomic_load(&injector->idle);
}
