// SPDX-License-Identifier: Apache-2.0
//! The plugin beside a kubelet that only does what concerns plugins, and a daemon.
//!
//! ANYBINDERD is the daemon's program. The paths of the kubelet and its calls are written out here
//! once more: they are what is tested.
use prost::Message;
use std::collections::HashMap;
use std::convert::Infallible;
use std::fs::File;
use std::future::ready;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::body::Body;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::{http, BoxFuture, Service};
use tonic::server::NamedService;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;
use tower::service_fn;

/// Longer than any wait on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

#[derive(Clone, PartialEq, Message)]
struct Empty {}

#[derive(Clone, PartialEq, Message)]
struct Registered {
    #[prost(string, tag = "1")]
    version: String,
    #[prost(string, tag = "2")]
    endpoint: String,
    #[prost(string, tag = "3")]
    resource_name: String,
}

#[derive(Clone, PartialEq, Message)]
struct List {
    #[prost(map = "string, message", tag = "99")]
    none: HashMap<String, Empty>,
    #[prost(message, repeated, tag = "1")]
    devices: Vec<Pair>,
}

/// A message of two or three texts, as most of this interface are.
#[derive(Clone, PartialEq, Message)]
struct Pair {
    #[prost(string, tag = "1")]
    first: String,
    #[prost(string, tag = "2")]
    second: String,
}

#[derive(Clone, PartialEq, Message)]
struct Ask {
    #[prost(message, repeated, tag = "1")]
    containers: Vec<Ids>,
}

#[derive(Clone, PartialEq, Message)]
struct Ids {
    #[prost(string, repeated, tag = "1")]
    ids: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Given {
    #[prost(message, repeated, tag = "1")]
    containers: Vec<Binds>,
}

#[derive(Clone, PartialEq, Message)]
struct Binds {
    #[prost(message, repeated, tag = "2")]
    mounts: Vec<Pair>,
}

/// The kubelet's service, which passes on who registers.
#[derive(Clone)]
struct Registration(mpsc::UnboundedSender<Registered>);

impl NamedService for Registration {
    const NAME: &'static str = "v1beta1.Registration";
}

impl Service<http::Request<Body>> for Registration {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        assert_eq!(request.uri().path(), "/v1beta1.Registration/Register");
        let seen = self.0.clone();
        Box::pin(async move {
            let service = service_fn(|request: Request<Registered>| {
                seen.send(request.into_inner()).unwrap();
                ready(Ok::<_, Status>(Response::new(Empty {})))
            });
            let codec = ProstCodec::<Empty, Registered>::default();
            Ok(tonic::server::Grpc::new(codec)
                .unary(service, request)
                .await)
        })
    }
}

/// One life of the kubelet: all sockets are removed, then its own is made.
struct Kubelet {
    directory: PathBuf,
    registered: mpsc::UnboundedReceiver<Registered>,
    task: tokio::task::JoinHandle<()>,
}

impl Kubelet {
    fn start(directory: &Path) -> Kubelet {
        for entry in std::fs::read_dir(directory).unwrap() {
            // The plugin may remove its own first, to make a new one.
            let _ = std::fs::remove_file(entry.unwrap().path());
        }
        let listener = UnixListener::bind(directory.join("kubelet.sock")).unwrap();
        let (sender, registered) = mpsc::unbounded_channel();
        let task = tokio::spawn(async {
            let server = Server::builder().add_service(Registration(sender));
            server
                .serve_with_incoming(UnixListenerStream::new(listener))
                .await
                .unwrap();
        });
        Kubelet {
            directory: directory.into(),
            registered,
            task,
        }
    }

    fn end(self) {
        self.task.abort();
    }

    /// The plugins that register next, by resource, with connections to them.
    async fn plugins(&mut self, count: usize) -> HashMap<String, Plugin> {
        let mut plugins = HashMap::new();
        while plugins.len() < count {
            let next = timeout(LIMIT, self.registered.recv()).await;
            let one = next.expect("the plugin does not register").unwrap();
            assert_eq!(one.version, "v1beta1");
            assert!(!one.endpoint.contains('/'), "{}", one.endpoint);
            let address = format!("unix://{}", self.directory.join(&one.endpoint).display());
            let endpoint = Endpoint::from_shared(address).unwrap();
            // A socket that was removed when this kubelet began is followed by another.
            if let Ok(channel) = endpoint.connect().await {
                plugins.insert(one.resource_name, Plugin(channel));
            }
        }
        plugins
    }
}

struct Plugin(Channel);

impl Plugin {
    async fn call<Q, R>(&self, method: &'static str, message: Q) -> Result<R, Status>
    where
        Q: Message + 'static,
        R: Message + Default + 'static,
    {
        let mut grpc = tonic::client::Grpc::new(self.0.clone());
        grpc.ready().await.unwrap();
        let codec = ProstCodec::<Q, R>::default();
        let path = PathAndQuery::from_static(method);
        let reply = grpc.unary(Request::new(message), path, codec).await?;
        Ok(reply.into_inner())
    }

    async fn watch(&self) -> Streaming<List> {
        let mut grpc = tonic::client::Grpc::new(self.0.clone());
        grpc.ready().await.unwrap();
        let path = PathAndQuery::from_static("/v1beta1.DevicePlugin/ListAndWatch");
        let codec = ProstCodec::<Empty, List>::default();
        let reply = grpc
            .server_streaming(Request::new(Empty {}), path, codec)
            .await;
        reply.unwrap().into_inner()
    }

    /// What each of these containers finds where; the device file of the node, by its path inside.
    async fn allocate(
        &self,
        containers: &[&[&str]],
    ) -> Result<Vec<HashMap<String, String>>, Status> {
        let ids = |ids: &&[&str]| Ids {
            ids: ids.iter().map(|id| id.to_string()).collect(),
        };
        let ask = Ask {
            containers: containers.iter().map(ids).collect(),
        };
        let given: Given = self.call("/v1beta1.DevicePlugin/Allocate", ask).await?;
        let paths = |one: Binds| {
            one.mounts
                .into_iter()
                .map(|it| (it.first, it.second))
                .collect()
        };
        Ok(given.containers.into_iter().map(paths).collect())
    }
}

async fn next_list(stream: &mut Streaming<List>) -> List {
    let next = timeout(LIMIT, stream.message()).await;
    next.expect("no list").unwrap().unwrap()
}

async fn list_until(stream: &mut Streaming<List>, health: &str) {
    while next_list(stream)
        .await
        .devices
        .iter()
        .any(|device| device.second != health)
    {}
}

/// Programs that end with the test, and its directory.
struct Scene {
    directory: PathBuf,
    mount: PathBuf,
    programs: Vec<Child>,
}

impl Scene {
    fn new() -> Scene {
        let name = format!("anybinder-kubelet-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let mount = directory.join("mount");
        std::fs::create_dir_all(directory.join("plugins")).unwrap();
        std::fs::create_dir(&mount).unwrap();
        Scene {
            directory,
            mount,
            programs: Vec::new(),
        }
    }

    fn start_daemon(&self) {
        let program = std::env::var("ANYBINDERD").expect("ANYBINDERD names the daemon");
        let mut command = Command::new(program);
        command
            .arg(&self.mount)
            .arg("--mode=0666")
            .arg("--pid-file")
            .arg(self.pid_file());
        assert!(command.status().unwrap().success());
    }

    fn pid_file(&self) -> PathBuf {
        self.directory.join("daemon.pid")
    }

    /// The daemon unmounts and ends, and removes the file.
    async fn stop_daemon(&self) {
        let Ok(pid) = std::fs::read_to_string(self.pid_file()) else {
            return;
        };
        assert!(Command::new("kill")
            .arg(pid.trim())
            .status()
            .unwrap()
            .success());
        let gone = async {
            while self.pid_file().exists() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(LIMIT, gone).await.expect("the daemon does not end");
    }

    fn start_plugin(&mut self) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_anybinder-device-plugin"));
        command
            .arg("--mount")
            .arg(&self.mount)
            .arg("--kubelet")
            .arg(self.plugins());
        command
            .args(["--contexts=3", "--shared=2"])
            .stdin(Stdio::null());
        self.programs.push(command.spawn().unwrap());
    }

    fn plugins(&self) -> PathBuf {
        self.directory.join("plugins")
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for program in &mut self.programs {
            let _ = program.kill();
            let _ = program.wait();
        }
        if let Ok(pid) = std::fs::read_to_string(self.pid_file()) {
            let _ = Command::new("kill").arg(pid.trim()).status();
            for _ in 0..3000 {
                if !self.pid_file().exists() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Becomes context manager of the device as long as the file is open; None if there is one.
fn manager_of(path: &str) -> Option<File> {
    const BINDER_SET_CONTEXT_MGR: u32 = 0x4004_6207;
    let device = File::options().read(true).write(true).open(path).unwrap();
    let zero = 0;
    // SAFETY: the call reads one number.
    let failed = unsafe {
        libc::ioctl(
            device.as_raw_fd(),
            BINDER_SET_CONTEXT_MGR as _,
            &raw const zero,
        )
    };
    (failed == 0).then_some(device)
}

async fn contexts_are_apart(own: &Plugin) {
    let given = own.allocate(&[&["pod0"], &["pod2"]]).await.unwrap();
    let [one, other] = given.as_slice() else {
        panic!("two containers: {given:?}");
    };
    for name in ["binder", "hwbinder", "vndbinder"] {
        let path = format!("/dev/{name}");
        assert_eq!(one[&path], one[&format!("/dev/binderfs/{name}")]);
        let first = manager_of(&one[&path]);
        let second = manager_of(&other[&path]);
        assert!(first.is_some() && second.is_some(), "{name} is shared");
        assert!(manager_of(&one[&path]).is_none(), "{name} has two managers");
    }
    assert!(one.contains_key("/dev/binderfs/features"));
    assert!(!one.contains_key("/dev/binderfs"), "all devices: {one:?}");
}

/// Who has the context still open has no part in what the next pod gets under the same name.
async fn a_context_is_made_anew(own: &Plugin) {
    let first = own.allocate(&[&["pod1"]]).await.unwrap().remove(0);
    let before = manager_of(&first["/dev/binder"]);
    let second = own.allocate(&[&["pod1"]]).await.unwrap().remove(0);
    assert_eq!(first, second);
    let after = manager_of(&second["/dev/binder"]);
    assert!(before.is_some() && after.is_some());
}

async fn wrong_requests_are_refused(own: &Plugin) {
    let wrong: [&[&str]; 6] = [
        &[],
        &["pod0", "pod1"],
        &["pod3"],
        &["pod01"],
        &["pod+1"],
        &["../x"],
    ];
    for ids in wrong {
        let refused = own.allocate(&[ids]).await.unwrap_err();
        assert_eq!(
            refused.code(),
            Code::FailedPrecondition,
            "{ids:?}: {refused}"
        );
    }
    let unannounced: Result<Empty, Status> = own
        .call("/v1beta1.DevicePlugin/PreStartContainer", Empty {})
        .await;
    assert_eq!(unannounced.unwrap_err().code(), Code::Unimplemented);
    let options: Pair = own
        .call("/v1beta1.DevicePlugin/GetDevicePluginOptions", Empty {})
        .await
        .unwrap();
    assert_eq!(options, Pair::default());
}

/// Shared devices are those of the machine, and none of a pod's.
async fn shared_devices_are_the_machines(scene: &Scene, shared: &Plugin) {
    let given = shared
        .allocate(&[&["shared0"], &["shared1"]])
        .await
        .unwrap();
    assert_eq!(given[0], given[1]);
    let binder = scene.mount.join("binder").display().to_string();
    assert_eq!(given[0]["/dev/binder"], binder);
    assert_eq!(given[0]["/dev/binderfs/binder"], binder);
    assert!(
        given[0].keys().all(|path| !path.contains("pod")),
        "{given:?}"
    );
    assert!(
        !given[0].contains_key("/dev/binderfs"),
        "all devices: {given:?}"
    );
}

/// The daemon of the machine crashes, and its devices end with it.
async fn a_daemon_that_returns_has_the_devices(scene: &Scene, own: &Plugin) {
    let mut lists = own.watch().await;
    let list = next_list(&mut lists).await;
    let ids: Vec<&str> = list
        .devices
        .iter()
        .map(|device| device.first.as_str())
        .collect();
    assert_eq!(ids, ["pod0", "pod1", "pod2"]);
    assert!(list.devices.iter().all(|device| device.second == "Healthy"));
    scene.stop_daemon().await;
    list_until(&mut lists, "Unhealthy").await;
    assert!(own.allocate(&[&["pod0"]]).await.is_err());
    scene.start_daemon();
    list_until(&mut lists, "Healthy").await;
    assert!(manager_of(&scene.mount.join("pod0-vndbinder").display().to_string()).is_some());
}

async fn all_steps() {
    let mut scene = Scene::new();
    scene.start_daemon();
    scene.start_plugin();
    // Comes up later than the plugin, as on a node that starts.
    let mut kubelet = Kubelet::start(&scene.plugins());
    let plugins = kubelet.plugins(2).await;
    let (own, shared) = (
        &plugins["anybinder.dev/binder"],
        &plugins["anybinder.dev/binder-shared"],
    );
    contexts_are_apart(own).await;
    a_context_is_made_anew(own).await;
    wrong_requests_are_refused(own).await;
    shared_devices_are_the_machines(&scene, shared).await;
    a_daemon_that_returns_has_the_devices(&scene, own).await;

    kubelet.end();
    let mut kubelet = Kubelet::start(&scene.plugins());
    let plugins = kubelet.plugins(2).await;
    contexts_are_apart(&plugins["anybinder.dev/binder"]).await;
    kubelet.end();
}

#[test]
fn pods_get_contexts_of_their_own() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(all_steps());
}
