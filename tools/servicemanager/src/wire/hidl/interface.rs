// SPDX-License-Identifier: Apache-2.0
//! The methods of `android.hidl.manager::IServiceManager`, and of every interface.

/// More interfaces than any service has.
pub const MAX_CHAIN: usize = 64;

pub const fn base_code(letters: [u8; 3]) -> u32 {
    u32::from_be_bytes([0x0f, letters[0], letters[1], letters[2]])
}

/// `IBase::interfaceChain`, which is asked of services, too.
pub const INTERFACE_CHAIN: u32 = base_code(*b"CHN");

/// The methods by their code, which is their place here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Add,
    GetTransport,
    List,
    ListByInterface,
    RegisterForNotifications,
    DebugDump,
    RegisterPassthroughClient,
    UnregisterForNotifications,
    RegisterClientCallback,
    UnregisterClientCallback,
    AddWithChain,
    ListManifestByInterface,
    TryUnregister,
}

impl Method {
    /// Whether it only asks, for one name or for a list.
    pub fn is_question(self) -> bool {
        matches!(
            self,
            Method::Get
                | Method::GetTransport
                | Method::List
                | Method::ListByInterface
                | Method::ListManifestByInterface
                | Method::DebugDump
        )
    }
}

pub const METHODS: [Method; 14] = [
    Method::Get,
    Method::Add,
    Method::GetTransport,
    Method::List,
    Method::ListByInterface,
    Method::RegisterForNotifications,
    Method::DebugDump,
    Method::RegisterPassthroughClient,
    Method::UnregisterForNotifications,
    Method::RegisterClientCallback,
    Method::UnregisterClientCallback,
    Method::AddWithChain,
    Method::ListManifestByInterface,
    Method::TryUnregister,
];
