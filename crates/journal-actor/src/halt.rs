//! A halt of every lane, for a call beside which nothing else may change anything.

use std::sync::Arc;

use actix_persistence_store_actor::{Refusal, Refuse};
use futures_util::future::join_all;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::plugin_calls::PluginCalls;
use crate::single::Single;

/// The end of a halt that belongs to the lane, which comes to it after everything before.
pub(crate) struct Halt(oneshot::Sender<Halted>);

/// The end of a halt that belongs to the call; dropped, the lane does not halt, or goes on.
pub(crate) struct Halting(oneshot::Receiver<Halted>);

/// A lane that has halted, and goes on when this is dropped.
struct Halted {
    _lane: oneshot::Sender<()>,
}

impl Halt {
    /// Returns both ends of a halt.
    pub(crate) fn new() -> (Self, Halting) {
        let (sender, receiver) = oneshot::channel();
        (Self(sender), Halting(receiver))
    }

    /// Reports that the lane has halted, and ends when it is to go on; at once if the call is gone.
    pub(crate) async fn keep(self) {
        let (lane, go_on) = oneshot::channel();
        if self.0.send(Halted { _lane: lane }).is_ok() {
            // Nothing is ever sent: the end of the sender is the sign.
            let _ = go_on.await;
        }
    }
}

/// Makes a call once every lane has halted, and lets them go on when it has ended, or can hardly change anything any more.
///
/// Whatever becomes of this future, the lanes go on when it is dropped.
pub(crate) async fn call_still(single: Single, halts: Vec<Halting>, calls: Arc<PluginCalls>) {
    let all_halted = join_all(halts.into_iter().map(|Halting(receiver)| receiver));
    let halted = timeout_at(single.waiter().deadline(), all_halted).await;
    if halted.is_err() || single.waiter().is_dead(Instant::now()) {
        return single.refuse(&Refusal::too_late());
    }
    if let Some(late) = single.change(&calls).await {
        late.await;
    }
    drop(halted);
}
