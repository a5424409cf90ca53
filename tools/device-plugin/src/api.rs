// SPDX-License-Identifier: Apache-2.0
//! The kubelet's interface for device plugins, v1beta1: its messages, and both ends of its calls.
use std::collections::HashMap;

/// The version that is registered.
pub const VERSION: &str = "v1beta1";
pub const KUBELET_SOCKET: &str = "kubelet.sock";
pub const REGISTER: &str = "/v1beta1.Registration/Register";
pub const OPTIONS: &str = "/v1beta1.DevicePlugin/GetDevicePluginOptions";
pub const WATCH: &str = "/v1beta1.DevicePlugin/ListAndWatch";
pub const ALLOCATE: &str = "/v1beta1.DevicePlugin/Allocate";
pub const BEFORE_START: &str = "/v1beta1.DevicePlugin/PreStartContainer";

pub const HEALTHY: &str = "Healthy";
pub const UNHEALTHY: &str = "Unhealthy";

#[derive(Clone, PartialEq, prost::Message)]
pub struct Empty {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Options {
    /// BEFORE_START is called before each start of a container.
    #[prost(bool, tag = "1")]
    pub pre_start_required: bool,
    #[prost(bool, tag = "2")]
    pub get_preferred_allocation_available: bool,
}

/// What this plugin answers to OPTIONS, and registers with.
pub const OURS: Options = Options {
    pre_start_required: true,
    get_preferred_allocation_available: false,
};

#[derive(Clone, PartialEq, prost::Message)]
pub struct BeforeStart {
    #[prost(string, repeated, tag = "1")]
    pub ids: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RegisterRequest {
    #[prost(string, tag = "1")]
    pub version: String,
    /// The name of the plugin's socket, in the directory of the kubelet's.
    #[prost(string, tag = "2")]
    pub endpoint: String,
    #[prost(string, tag = "3")]
    pub resource_name: String,
    #[prost(message, optional, tag = "4")]
    pub options: Option<Options>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DeviceList {
    #[prost(message, repeated, tag = "1")]
    pub devices: Vec<Device>,
}

impl DeviceList {
    /// Whether one of them may be given to a container: all are of one mount.
    pub fn is_healthy(&self) -> bool {
        let first = self.devices.first();
        first.is_some_and(|device| device.health == HEALTHY)
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Device {
    #[prost(string, tag = "1")]
    pub id: String,
    /// HEALTHY or UNHEALTHY
    #[prost(string, tag = "2")]
    pub health: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct AllocateRequest {
    #[prost(message, repeated, tag = "1")]
    pub containers: Vec<ContainerRequest>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerRequest {
    #[prost(string, repeated, tag = "1")]
    pub ids: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct AllocateResponse {
    #[prost(message, repeated, tag = "1")]
    pub containers: Vec<ContainerResponse>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerResponse {
    #[prost(map = "string, string", tag = "1")]
    pub environment: HashMap<String, String>,
    #[prost(message, repeated, tag = "2")]
    pub mounts: Vec<Bind>,
    #[prost(message, repeated, tag = "3")]
    pub devices: Vec<Node>,
    #[prost(message, repeated, tag = "5")]
    pub names: Vec<CdiName>,
}

/// A device of a specification of CDI: `VENDOR/CLASS=NAME`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CdiName {
    #[prost(string, tag = "1")]
    pub name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Bind {
    #[prost(string, tag = "1")]
    pub container_path: String,
    #[prost(string, tag = "2")]
    pub host_path: String,
    #[prost(bool, tag = "3")]
    pub read_only: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Node {
    #[prost(string, tag = "1")]
    pub container_path: String,
    #[prost(string, tag = "2")]
    pub host_path: String,
    /// Letters of `r`, `w`, `m`.
    #[prost(string, tag = "3")]
    pub permissions: String,
}
