// SPDX-License-Identifier: Apache-2.0
//! Work on the files of a mount, whose daemon may never answer.
//!
//! One job at a time has a thread of its own, and nobody waits for it longer than LIMIT. A job that
//! does not end in time goes on as soon as the daemon does; until then no other begins, so that
//! nothing late undoes what is newer. At most one thread hangs therefore, however often the
//! kubelet asks.
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::timeout;

/// The kubelet waits for an answer without a limit, and admits no pod of the node meanwhile.
const LIMIT: Duration = Duration::from_secs(2);

/// A job did not end in time, or did not begin.
#[derive(Debug)]
pub struct NoAnswer;

#[derive(Clone, Default)]
pub struct Worker {
    turn: Arc<Mutex<()>>,
    /// How many jobs have ended.
    done: Arc<AtomicU64>,
}

impl Worker {
    /// Has a thread do `work`, and returns what that returns. Fails if it, or each job before it,
    /// takes longer than LIMIT: many pods that start at once wait for each other.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NoAnswer> {
        let turn = self.turn().await?;
        let count = self.done.clone();
        let in_turn = move || {
            let _turn = turn;
            let done = work();
            count.fetch_add(1, Ordering::Relaxed);
            done
        };
        match timeout(LIMIT, tokio::task::spawn_blocking(in_turn)).await {
            Ok(Ok(done)) => Ok(done),
            _ => Err(NoAnswer),
        }
    }

    /// Waits as long as jobs end.
    async fn turn(&self) -> Result<OwnedMutexGuard<()>, NoAnswer> {
        let mut waiting = pin!(self.turn.clone().lock_owned());
        loop {
            let before = self.done.load(Ordering::Relaxed);
            match timeout(LIMIT, &mut waiting).await {
                Ok(turn) => return Ok(turn),
                Err(_) if self.done.load(Ordering::Relaxed) == before => return Err(NoAnswer),
                Err(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_waits_longer_than_a_job_may_take_is_answered() {
        let worker = Worker::default();
        let mut jobs = tokio::task::JoinSet::new();
        for _ in 0..12 {
            let worker = worker.clone();
            jobs.spawn(async move { worker.run(|| std::thread::sleep(LIMIT / 8)).await });
        }
        assert!(jobs.join_all().await.iter().all(Result::is_ok));
    }
}
