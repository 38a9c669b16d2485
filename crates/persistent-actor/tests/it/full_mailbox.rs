//! Answers of the stores do not travel through the mailbox.

use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{Overflow, StashPolicy};

use crate::scripted_journal::ScriptedJournal;
use crate::tally::{Get, Log, Run, Sum, Tally, persist};
use crate::world::{World, run};

#[test]
fn a_full_mailbox_loses_no_reply_of_a_store() {
    run(|| async {
        let storage = MemoryStorage::new();
        let journal = ScriptedJournal::held(storage.journal());
        let world = World::on(storage, journal.clone(), |environment| {
            environment.stash_policy = StashPolicy::new(1, Overflow::Wait);
        });
        let log = Log::default();
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|tally, ctx| {
                ctx.save_snapshot(&Sum(tally.sum));
                ctx.delete_messages(0);
                persist(ctx, 1)
                    .then(|tally, _, _| tally.log.add("handler"))
                    .detach();
            }))
            .await
            .unwrap();
        while journal.calls().is_empty() {
            tokio::task::yield_now().await;
        }
        let mut sent = 0;
        while tally.try_send(Run::new(|_, _| ())).is_ok() {
            sent += 1;
            assert!(sent < 1_000, "the mailbox never becomes full");
            tokio::task::yield_now().await;
        }
        // The snapshot and the delete are answered meanwhile, the write is not.
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        assert!(tally.try_send(Get).is_err(), "it is still full");
        assert_eq!(log.take(), ["recovered at 0"]);

        journal.release(1);
        assert_eq!(tally.send(Get).await.unwrap(), 1);
        let mut entries = log.take();
        assert_eq!(entries[..2], ["event 1", "handler"]);
        entries[2..].sort();
        assert_eq!(
            entries[2..],
            ["DeleteMessagesSuccess", "SaveSnapshotSuccess"],
            "neither came between the command and its handler"
        );
    });
}
