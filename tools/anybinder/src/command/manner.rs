// SPDX-License-Identifier: Apache-2.0
//! How a command is run: for how long, and on which mount.

/// How long a command may take.
pub enum Limit {
    /// So many seconds, unless --timeout says otherwise.
    Seconds(u32),
    /// As long as it needs, unless --timeout says otherwise: it measures, or shows what happens.
    Long,
    /// As long as what it starts or serves; it takes no --timeout.
    None,
}

/// The mount of a command, and whether the command runs inside the namespaces of its daemon.
pub enum Place {
    /// One that is to be made: it starts a daemon of its own.
    New,
    /// One that need not exist; outside.
    Any,
    /// One that exists; inside.
    Joined,
}

pub struct Manner {
    pub limit: Limit,
    pub place: Place,
}

/// Of a command that looks at what there is, or asks for something.
pub const SHORT: Manner = Manner {
    limit: Limit::Seconds(60),
    place: Place::Joined,
};
/// Of one that shows what happens until it is interrupted.
pub const LONG: Manner = Manner {
    limit: Limit::Long,
    place: Place::Joined,
};
/// Of one that starts another program or serves others.
pub const ENDLESS: Manner = Manner {
    limit: Limit::None,
    place: Place::Joined,
};
/// Of one that somebody waits for at a key; it finds its mount itself.
pub const AT_ONCE: Manner = Manner {
    limit: Limit::Seconds(1),
    place: Place::Any,
};
