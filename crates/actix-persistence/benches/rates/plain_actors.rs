//! Actors without codecs and contracts, which store their rows by the minimal group commit: no manifests, no encoding, no
//! sequence numbers of their own, no stash.

use std::rc::Rc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use futures_util::future::join_all;
use tokio::sync::oneshot;

use crate::group_commit::GroupCommit;
use crate::series::rate;

pub(crate) struct PlainActor {
    number: usize,
    group_commit: Rc<GroupCommit>,
}

impl PlainActor {
    pub(crate) fn start_many(group_commit: &Rc<GroupCommit>, count: usize) -> Vec<Addr<Self>> {
        let numbers = 0..count;
        let actors = numbers.map(|number| Self {
            number,
            group_commit: Rc::clone(group_commit),
        });
        actors.map(Actor::start).collect()
    }

    /// Stores one row after the other; the actor takes no message meanwhile, as after `persist`.
    fn store(&mut self, mut stored: StoreRows, ctx: &mut Context<Self>) {
        let reply = self.group_commit.store(self.number).into_actor(self);
        ctx.wait(reply.map(move |reply, actor, ctx| {
            reply.unwrap();
            stored.count += 1;
            if Instant::now() < stored.until {
                actor.store(stored, ctx);
            } else {
                let _ = stored.end.send(stored.count);
            }
        }));
    }
}

impl Actor for PlainActor {
    type Context = Context<Self>;
}

/// Asks the actor to store rows until this time, at least one.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct StoreRows {
    until: Instant,
    /// Receives the number of rows.
    end: oneshot::Sender<usize>,
    count: usize,
}

impl Handler<StoreRows> for PlainActor {
    type Result = ();

    fn handle(&mut self, stored: StoreRows, ctx: &mut Self::Context) {
        self.store(stored, ctx);
    }
}

/// Lets every actor store one row after the other for this time: rows per second.
pub(crate) async fn stored(actors: &[Addr<PlainActor>], time: Duration) -> f64 {
    let start = Instant::now();
    let counts = actors.iter().map(|actor| {
        let (end, count) = oneshot::channel();
        actor.do_send(StoreRows {
            until: start + time,
            end,
            count: 0,
        });
        count
    });
    let counts = join_all(counts.collect::<Vec<_>>()).await;
    let count = counts.into_iter().map(Result::unwrap).sum();
    rate(count, start.elapsed())
}
