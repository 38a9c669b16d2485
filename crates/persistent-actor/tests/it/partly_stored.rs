//! The certainty about a command that leads to several writes, of which one fails.

use actix::{Handler, Message};
use actix_persistence_persistent_actor::{PersistError, Reply};

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
        Reply::by_handler()
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
        assert!(!error.is_certainly_not_stored());
    });
}

#[test]
fn a_command_of_which_nothing_is_stored_may_be_sent_again() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        journal.next(Next::FailNotStored);
        let error = tally.send(AddTwice(1, 1)).await.unwrap().unwrap_err();
        assert!(error.is_certainly_not_stored(), "{error:?}");
        assert_eq!(tally.send(AddTwice(1, 1)).await.unwrap().unwrap(), 2);
    });
}

#[test]
fn a_write_that_was_not_sent_is_not_certain_of_a_command_whose_other_write_is_unknown() {
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
fn a_command_whose_answering_write_is_rejected_learns_that_a_later_one_is_stored() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        journal.next(Next::RejectWritesOf(1));
        let error = tally.send(AddAndMore(1, 2)).await.unwrap().unwrap_err();
        assert_eq!(tally.send(Get).await.unwrap(), 2);
        assert!(!error.is_certainly_not_stored(), "{error:?}");
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
        assert!(!error.is_certainly_not_stored(), "{error:?}");
    });
}
