// SPDX-License-Identifier: Apache-2.0
//! How a command is run: for how long, and on which mount.

/// How long a command may take.
pub enum Limit {
    /// So many seconds, unless --timeout says otherwise.
    Seconds(u32),
    /// The command, which measures or shows what happens, takes what it needs, unless --timeout
    /// says otherwise.
    Long,
    /// The command lasts as long as what it starts or serves, and takes no --timeout.
    None,
}

/// Which mount a command works on, and whether it runs inside the namespaces of the daemon.
pub enum Place {
    /// A mount that is to be made: the command starts a daemon of its own.
    New,
    /// A mount that need not exist; outside.
    Any,
    /// A mount that exists; inside.
    Joined,
}

pub struct RunMode {
    pub limit: Limit,
    pub place: Place,
}

/// A command that looks at what there is, or asks for something.
pub const SHORT: RunMode = RunMode {
    limit: Limit::Seconds(60),
    place: Place::Joined,
};
/// A command that shows what happens until it is interrupted.
pub const LONG: RunMode = RunMode {
    limit: Limit::Long,
    place: Place::Joined,
};
/// A command that starts another program or serves others.
pub const ENDLESS: RunMode = RunMode {
    limit: Limit::None,
    place: Place::Joined,
};
/// A command that somebody waits for at a key; it finds its mount itself.
pub const AT_ONCE: RunMode = RunMode {
    limit: Limit::Seconds(1),
    place: Place::Any,
};
