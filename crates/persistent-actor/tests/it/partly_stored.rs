//! The certainty about a command that leads to several writes, of which one fails.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use actix::{Handler, MailboxError, Message};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    NamedStash, Overflow, OverflowReplies, PersistError, Reply, ReplyTo, StashPolicy,
};

use crate::scripted_journal::Next;
use crate::tally::{Answer, Get, Log, Tally, persist};
use crate::world::{World, run};

/// Persists one number, and when that is stored another one, whose handler answers.
#[derive(Message)]
#[rtype(result = "Answer")]
struct AddNested(i64, i64);

impl Handler<AddNested> for Tally {
    type Result = Reply<AddNested>;

    fn handle(
        &mut self,
        AddNested(first, second): AddNested,
        ctx: &mut Self::Context,
    ) -> Reply<AddNested> {
        let to = ctx.reply_to::<AddNested>();
        persist(ctx, first)
            .on_complete(move |_, ctx| {
                persist(ctx, second)
                    .on_complete(move |tally, _| {
                        let _ = to.send(Ok(tally.sum));
                    })
                    .detach();
            })
            .detach();
        Reply::deferred()
    }
}

/// Persists two numbers one after the other; the second answers.
#[derive(Message)]
#[rtype(result = "Answer")]
struct AddTwice(i64, i64);

impl Handler<AddTwice> for Tally {
    type Result = Reply<AddTwice>;

    fn handle(
        &mut self,
        AddTwice(first, second): AddTwice,
        ctx: &mut Self::Context,
    ) -> Reply<AddTwice> {
        drop(persist(ctx, first));
        persist(ctx, second).reply(|tally| Ok(tally.sum))
    }
}

#[test]
fn a_command_of_which_something_is_stored_is_not_told_that_nothing_is() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(AddTwice(1, 1)).await.unwrap().unwrap();
        // The first write of the nested one is stored, the second is not.
        journal.next(Next::RejectWritesOf(2));
        journal.next(Next::FailNotStored);
        let error = tally.send(AddNested(1, 1)).await.unwrap().unwrap_err();
        let PersistError::PartlyStored(rest) = &error else {
            panic!("{error:?}");
        };
        assert!(matches!(**rest, PersistError::NotStored(_)), "{rest:?}");
        assert!(!error.is_not_stored());
    });
}

#[test]
fn a_command_of_which_nothing_is_stored_may_be_sent_again() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        journal.next(Next::FailNotStored);
        let error = tally.send(AddTwice(1, 1)).await.unwrap().unwrap_err();
        assert!(error.is_not_stored(), "{error:?}");
        assert_eq!(tally.send(AddTwice(1, 1)).await.unwrap().unwrap(), 2);
    });
}

#[test]
fn an_unsent_write_is_unknown_if_another_of_its_command_is_unknown() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        journal.next(Next::StoreButFailUnknown);
        let error = tally.send(AddTwice(1, 1)).await.unwrap().unwrap_err();
        assert!(matches!(error, PersistError::Unknown(_)), "{error:?}");
    });
}

/// Persists two numbers one after the other; the first answers.
#[derive(Message)]
#[rtype(result = "Answer")]
struct AddAndMore(i64, i64);

impl Handler<AddAndMore> for Tally {
    type Result = Reply<AddAndMore>;

    fn handle(
        &mut self,
        AddAndMore(first, second): AddAndMore,
        ctx: &mut Self::Context,
    ) -> Reply<AddAndMore> {
        let reply = persist(ctx, first).reply(|tally| Ok(tally.sum));
        drop(persist(ctx, second));
        reply
    }
}

#[test]
fn a_rejected_command_learns_that_a_later_write_of_it_is_stored() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        journal.next(Next::RejectWritesOf(1));
        let error = tally.send(AddAndMore(1, 2)).await.unwrap().unwrap_err();
        assert_eq!(tally.send(Get).await.unwrap(), 2);
        assert!(!error.is_not_stored(), "{error:?}");
        assert!(matches!(error, PersistError::PartlyStored(_)), "{error:?}");
    });
}

/// Persists a number, and puts itself aside until that is stored; then it persists the number once more and answers.
#[derive(Message)]
#[rtype(result = "Answer")]
struct AddAndWait(i64);

impl Handler<AddAndWait> for Tally {
    type Result = Reply<AddAndWait>;

    fn handle(&mut self, add: AddAndWait, ctx: &mut Self::Context) -> Reply<AddAndWait> {
        let AddAndWait(n) = add;
        if self.sum >= n {
            return persist(ctx, n).reply(|tally| Ok(tally.sum));
        }
        let put_aside = ctx.stash(add);
        persist(ctx, n)
            .on_complete(|_, ctx| {
                ctx.unstash_all();
            })
            .detach();
        put_aside
    }
}

#[test]
fn what_a_command_stored_before_it_was_put_aside_belongs_to_its_answer() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        assert_eq!(tally.send(AddAndWait(1)).await.unwrap().unwrap(), 2);
        // Its first write is stored, the one that answers is not.
        journal.next(Next::RejectWritesOf(2));
        journal.next(Next::FailNotStored);
        let error = tally.send(AddAndWait(3)).await.unwrap().unwrap_err();
        assert!(matches!(error, PersistError::PartlyStored(_)), "{error:?}");
        assert_eq!(tally.send(Get).await.unwrap(), 5);
        // Of its first write it is not known; it runs once more in the next incarnation, and that write is not stored.
        journal.next(Next::StoreButFailUnknown);
        journal.next(Next::FailNotStored);
        let error = tally.send(AddAndWait(9)).await.unwrap().unwrap_err();
        assert!(!error.is_not_stored(), "{error:?}");
    });
}

#[test]
fn a_full_stash_does_not_say_that_a_command_with_a_write_did_nothing() {
    run(|| async {
        let storage = MemoryStorage::new();
        let journal = Arc::new(storage.journal());
        let world = World::on(storage, journal, |environment| {
            let busy = OverflowReplies::new()
                .with::<AddAndWait>(|| Err(PersistError::ActorFailed))
                .with::<WaitOnly>(|| Err(PersistError::ActorFailed));
            environment.stash_policy = StashPolicy::new(0, Overflow::Reply(busy));
        });
        let tally = world.start(Tally::factory("1", &Log::default())).unwrap();
        // While it recovers there is no room for a command either. The clock is paused.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let answer = tally.send(AddAndWait(1)).await;
        assert!(matches!(answer, Err(MailboxError::Closed)), "{answer:?}");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(tally.send(Get).await.unwrap(), 1, "its write is stored");
        let answer = tally.send(WaitOnly).await.unwrap();
        assert!(
            matches!(answer, Err(PersistError::ActorFailed)),
            "{answer:?}"
        );
    });
}

/// Puts itself aside, and does nothing else.
#[derive(Message)]
#[rtype(result = "Answer")]
struct WaitOnly;

impl Handler<WaitOnly> for Tally {
    type Result = Reply<WaitOnly>;

    fn handle(&mut self, wait: WaitOnly, ctx: &mut Self::Context) -> Reply<WaitOnly> {
        ctx.stash(wait)
    }
}

/// The part of the turns of [`Hold`] and [`PutAside`] that the actor keeps.
#[derive(Default)]
struct Kept {
    stash: Option<NamedStash<Tally>>,
    hold: Option<ReplyTo<Hold>>,
    put_aside: Option<ReplyTo<PutAside>>,
    is_open: bool,
}

thread_local! {
    static KEPT: RefCell<Kept> = RefCell::default();
}

/// Keeps a stash for all later turns; [`Settle`] answers it with 1.
#[derive(Message)]
#[rtype(result = "Answer")]
struct Hold;

impl Handler<Hold> for Tally {
    type Result = Reply<Hold>;

    fn handle(&mut self, _: Hold, ctx: &mut Self::Context) -> Reply<Hold> {
        KEPT.with_borrow_mut(|kept| {
            kept.stash = Some(ctx.named_stash("kept"));
            kept.hold = Some(ctx.reply_to());
        });
        Reply::deferred()
    }
}

/// Waits in the stash that is kept, until it is open; [`Settle`] answers it with 2.
#[derive(Message)]
#[rtype(result = "Answer")]
struct PutAside;

impl Handler<PutAside> for Tally {
    type Result = Reply<PutAside>;

    fn handle(&mut self, command: PutAside, ctx: &mut Self::Context) -> Reply<PutAside> {
        KEPT.with_borrow_mut(|kept| match &kept.stash {
            Some(stash) if !kept.is_open => stash.stash(command),
            _ => {
                kept.put_aside = Some(ctx.reply_to());
                Reply::deferred()
            }
        })
    }
}

/// Opens the stash that is kept.
#[derive(Message)]
#[rtype(result = "usize")]
struct Open;

impl Handler<Open> for Tally {
    type Result = usize;

    fn handle(&mut self, _: Open, _: &mut Self::Context) -> usize {
        KEPT.with_borrow_mut(|kept| {
            kept.is_open = true;
            kept.stash.as_ref().map_or(0, NamedStash::unstash_all)
        })
    }
}

/// Answers both.
#[derive(Message)]
#[rtype(result = "()")]
struct Settle;

impl Handler<Settle> for Tally {
    type Result = ();

    fn handle(&mut self, _: Settle, _: &mut Self::Context) {
        let Kept {
            hold, put_aside, ..
        } = KEPT.take();
        let _ = hold.map(|hold| hold.send(Ok(1)));
        let _ = put_aside.map(|put_aside| put_aside.send(Ok(2)));
    }
}

#[test]
fn a_stash_that_an_actor_keeps_mixes_up_no_askers() {
    run(|| async {
        let (world, log) = (World::scripted().0, Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let (hold, put_aside) = (tally.send(Hold), tally.send(PutAside));
        assert_eq!(tally.send(Open).await.unwrap(), 1);
        tally.send(Settle).await.unwrap();
        assert_eq!(hold.await.unwrap().unwrap(), 1);
        assert_eq!(put_aside.await.unwrap().unwrap(), 2);
    });
}
