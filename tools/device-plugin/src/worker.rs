// SPDX-License-Identifier: Apache-2.0
//! Work on the files of a mount, whose daemon may never answer.
//!
//! One job at a time has a thread of its own, and nobody waits for it longer than LIMIT. A job that
//! does not end in time goes on as soon as the daemon does; until then no other begins, so that
//! nothing late undoes what is newer. At most one thread hangs therefore, however often the
//! kubelet asks.
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// The kubelet waits for an answer without a limit, and admits no pod of the node meanwhile.
const LIMIT: Duration = Duration::from_secs(2);

/// A job did not end in time, or did not begin.
#[derive(Debug)]
pub struct NoAnswer;

#[derive(Clone, Default)]
pub struct Worker {
    turn: Arc<Mutex<()>>,
}

impl Worker {
    /// Has a thread do `work`, and returns what that returns. Fails after LIMIT.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NoAnswer> {
        let job = async {
            let turn = self.turn.clone().lock_owned().await;
            let in_turn = move || {
                let _turn = turn;
                work()
            };
            tokio::task::spawn_blocking(in_turn).await
        };
        match tokio::time::timeout(LIMIT, job).await {
            Ok(Ok(done)) => Ok(done),
            _ => Err(NoAnswer),
        }
    }
}
