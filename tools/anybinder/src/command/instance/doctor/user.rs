// SPDX-License-Identifier: Apache-2.0
//! Questions about what this user may do: FUSE, namespaces, ptrace. Where it can be tried, it is.
use super::finding::Check;
use anybinder_mount::namespace;
use std::fs;
use std::io::ErrorKind;

fn setting(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Whether this user can serve a file system.
pub fn fuse() -> Check {
    let opened = fs::File::options().read(true).write(true).open("/dev/fuse");
    let err = match opened {
        Ok(_) => return Check::ok("fuse", "/dev/fuse can be opened"),
        Err(err) => err,
    };
    match err.kind() {
        ErrorKind::NotFound => Check::no(
            "fuse",
            "there is no /dev/fuse",
            "modprobe fuse; for a container: --device /dev/fuse; in a chroot: \
             mknod -m 666 /dev/fuse c 10 229",
        ),
        ErrorKind::PermissionDenied => Check::no(
            "fuse",
            "you have no permission to open /dev/fuse",
            "chmod 666 /dev/fuse as root, the mode that it has on most systems",
        ),
        _ => Check::no(
            "fuse",
            format!("/dev/fuse cannot be opened: {err}"),
            "use a kernel with FUSE, or a container that allows it: --device /dev/fuse",
        ),
    }
}

/// Limits that an administrator can set on FUSE.
pub fn fuse_limits() -> Check {
    let of_fuse = |which: &str| setting(&format!("/proc/sys/fs/fuse/{which}"));
    limits_check(
        of_fuse("default_request_timeout").unwrap_or(0),
        of_fuse("max_request_timeout").unwrap_or(0),
        of_fuse("max_pages_limit"),
    )
}

fn limits_check(default_s: u64, max_s: u64, pages: Option<u64>) -> Check {
    let name = "fuse-limits";
    if max_s > 0 {
        return Check::limited(
            name,
            format!("the kernel ends requests after {max_s} s"),
            "nothing to do: waiting threads return to their programs before that; without the \
             limit they need not: sysctl fs.fuse.max_request_timeout=0 and a new daemon",
        );
    }
    let limit = match default_s {
        0 => "requests have no time limit".to_string(),
        _ => format!("the default limit of {default_s} s is lifted for the daemon"),
    };
    let pages = pages.map_or(String::new(), |pages| {
        format!(", {pages} pages per request")
    });
    Check::ok(name, format!("{limit}{pages}"))
}

/// A user and a group that own nothing.
const ORDINARY_ID: libc::uid_t = 65534;

/// Calls `work` in a child process; the errno that it leaves, 0 for none.
fn try_in_child(work: fn() -> i32) -> i32 {
    // SAFETY: this process has one thread; the child makes system calls only, and leaves by _exit.
    unsafe {
        match libc::fork() {
            -1 => libc::EAGAIN,
            0 => libc::_exit(work()),
            child => {
                let mut status = 0;
                libc::waitpid(child, &raw mut status, 0);
                match libc::WIFEXITED(status) {
                    true => libc::WEXITSTATUS(status),
                    false => libc::EPERM,
                }
            }
        }
    }
}

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(1)
}

fn unshare() -> i32 {
    // SAFETY: a plain call in a process of its own.
    match unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) } {
        0 => 0,
        _ => errno(),
    }
}

fn unshare_as_ordinary_user() -> i32 {
    // SAFETY: plain calls in a process of its own.
    unsafe {
        // These fail for other users, and where a container has no such user.
        libc::setresgid(ORDINARY_ID, ORDINARY_ID, ORDINARY_ID);
        libc::setresuid(ORDINARY_ID, ORDINARY_ID, ORDINARY_ID);
    }
    unshare()
}

/// What keeps users from making user namespaces.
fn namespace_advice() -> Option<&'static str> {
    if setting("/proc/sys/user/max_user_namespaces") == Some(0) {
        Some("sysctl user.max_user_namespaces=10000")
    } else if setting("/proc/sys/kernel/unprivileged_userns_clone") == Some(0) {
        Some("sysctl kernel.unprivileged_userns_clone=1")
    } else if setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == Some(1) {
        Some("sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile for anybinderd")
    } else {
        None
    }
}

/// Whether users without root can have a daemon of their own.
pub fn user_namespaces() -> Check {
    let name = "namespaces";
    let error = try_in_child(unshare_as_ordinary_user);
    if error == 0 {
        return Check::ok(name, "users without root can make a user namespace");
    }
    let error = std::io::Error::from_raw_os_error(error);
    Check::limited(
        name,
        format!("users without root cannot make a user namespace ({error})"),
        namespace_advice().unwrap_or("start the daemon as root, for all users"),
    )
}

/// Whether this user may mount, or can make a user namespace to mount in.
pub fn mounting() -> Check {
    let name = "mounting";
    if namespace::can_mount() {
        return Check::ok(
            name,
            "you may mount; the mount is visible to the whole system",
        );
    }
    let error = try_in_child(unshare);
    if error == 0 {
        return Check::ok(
            name,
            "in a user namespace of your own: programs see the mount by `anybinder run`",
        );
    }
    let error = std::io::Error::from_raw_os_error(error);
    let advice = namespace_advice()
        .unwrap_or("run the daemon as root; a container may need --cap-add SYS_ADMIN");
    let text = format!("you may neither mount nor make a user namespace ({error})");
    Check::no(name, text, advice)
}

/// In a child: whether its own child can be traced.
fn trace() -> i32 {
    // SAFETY: plain calls in a process of its own; the traced process only waits.
    unsafe {
        let child = libc::fork();
        match child {
            -1 => return errno(),
            0 => loop {
                libc::pause();
            },
            _ => {}
        }
        let seized = libc::ptrace(libc::PTRACE_SEIZE, child, 0, 0);
        let error = if seized == 0 { 0 } else { errno() };
        libc::kill(child, libc::SIGKILL);
        error
    }
}

/// Whether the daemon can put files into processes that receive them.
pub fn ptrace() -> Check {
    let name = "ptrace";
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return Check::limited(
            name,
            "file descriptors cannot be passed by the daemon on this processor",
            "use the module",
        );
    }
    let error = try_in_child(trace);
    if error != 0 {
        let error = std::io::Error::from_raw_os_error(error);
        return Check::limited(
            name,
            format!("processes cannot be traced ({error}): calls that pass files fail"),
            "for a container: --cap-add SYS_PTRACE, or a seccomp profile that allows ptrace",
        );
    }
    let is_root = rustix::process::geteuid().is_root();
    match setting("/proc/sys/kernel/yama/ptrace_scope").unwrap_or(0) {
        3 => Check::limited(
            name,
            "tracing is off (Yama, scope 3): calls that pass files fail",
            "it can be changed at boot only: kernel.yama.ptrace_scope=1",
        ),
        2 if !is_root => Check::limited(
            name,
            "only root may trace (Yama, scope 2): calls that pass files fail",
            "run the daemon as root, or sysctl kernel.yama.ptrace_scope=1",
        ),
        _ => Check::ok(name, "files can be passed to unmodified programs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_child_reports_its_errno() {
        assert_eq!(try_in_child(|| 0), 0);
        assert_eq!(try_in_child(|| libc::EPERM), libc::EPERM);
    }

    #[test]
    fn the_default_limit_is_lifted_and_the_maximum_is_not() {
        use super::super::finding::State;
        assert_eq!(limits_check(0, 0, Some(256)).state, State::Ok);
        assert!(limits_check(20, 0, None).text.contains("20 s is lifted"));
        let limited = limits_check(0, 20, None);
        assert_eq!(limited.state, State::Limited);
        assert!(limited.text.contains("after 20 s"));
    }

    #[test]
    fn the_advice_for_a_limit_is_never_missing() {
        for check in [
            fuse(),
            fuse_limits(),
            mounting(),
            user_namespaces(),
            ptrace(),
        ] {
            assert_eq!(
                check.advice.is_none(),
                check.state == super::super::finding::State::Ok
            );
        }
    }
}
