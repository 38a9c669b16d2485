//! Calls in which some writes take ids over and others do not: each stands or falls alone.

use actix_persistence_storage_api::{
    AtomicWrite, Journal, Payload, StorageErrorKind, WriteOutcome, WriterId,
};

use crate::bytes_like_random::bytes_like_random;
use crate::case::{Case, case};
use crate::failure::{CaseResult, expect, expect_eq};
use crate::journal_steps::{
    expect_head, expect_numbers, expect_rejected, expect_skipped, expect_stored, outcome_of,
    outcomes_of,
};
use crate::subject::Subject;
use crate::writer::{Writer, expect_conflict, fresh_id};

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        take_over_and_go_on_in_one_call,
        ["J-WRITE-11", "J-WRITE-5", "J-WRITE-1"]
    ),
    case!(
        take_over_twice_in_one_call,
        ["J-WRITE-11", "J-WRITE-5", "J-WRITE-6"]
    ),
    case!(
        store_the_neighbours_of_writes_that_do_not_take_over,
        ["J-WRITE-6", "J-WRITE-11"]
    ),
    case!(
        take_over_many_ids_in_one_call,
        ["J-WRITE-11", "J-WRITE-1", "J-WRITE-6"]
    ),
    case!(
        keep_the_epoch_if_the_write_that_takes_over_is_rejected,
        ["J-WRITE-11", "J-WRITE-8", "J-WRITE-9", "J-WRITE-6"]
    ),
];

async fn take_over_and_go_on_in_one_call(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    // One id was never seen, and another writer has the other.
    for id in [fresh_id(), subject.five_events().await?.id] {
        let mut writer = Writer::look(journal, &id).await?;
        let (first, from) = (writer.next, writer.taken.epoch);
        let claim = writer.claim(first);
        writer.has_taken_over(first);
        let held = [1, 2].map(|after| writer.single(first + after));
        expect_stored(journal, [vec![claim], held.into()].concat()).await?;
        expect_head(journal, &id, (first + 2, 0, from + 1)).await?;
        writer.next = first + 3;
        writer.store(journal, 1).await?;
        expect_numbers(journal, &id, 1..=first + 3).await?;
    }
    Ok(())
}

async fn take_over_twice_in_one_call(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let first = subject.five_events().await?;
    let mut second = Writer::look(journal, &first.id).await?;
    let mut third = Writer::stranger(&first.id, WriterId::random(), 2);
    let claim = second.claim(7);
    second.has_taken_over(7);
    // The first writes, the second takes over, the third takes over from it, and the second is refused.
    let late = second.single(9);
    let writes = vec![
        first.single(6),
        claim,
        third.claim(8),
        late.clone(),
        third.claim(9),
    ];
    let outcomes = outcomes_of(journal, writes).await?;
    third.has_taken_over(8);
    for (place, outcome) in outcomes[..3].iter().enumerate() {
        expect(
            outcome.is_stored(),
            format!("write {place} of the call to be stored, found {outcome:?}"),
        )?;
    }
    expect_conflict(&outcomes[3], &late, &third, 8)?;
    expect_skipped(&outcomes[4])?;
    expect_head(journal, &first.id, (8, 0, 3)).await?;
    third.store(journal, 1).await?;
    expect_numbers(journal, &first.id, 1..=9).await
}

async fn store_the_neighbours_of_writes_that_do_not_take_over(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let held = subject.five_events().await?;
    let zombie = subject.five_events().await?;
    let holder = Writer::holder_of(journal, &zombie.id).await?;
    let late = subject.five_events().await?;
    let holder_of_late = Writer::holder_of(journal, &late.id).await?;
    let ahead = subject.five_events().await?;
    let taken = Writer::look(journal, &subject.five_events().await?.id).await?;
    let new = Writer::look(journal, &fresh_id()).await?;
    let never = Writer::stranger(&fresh_id(), WriterId::random(), 0);
    let nobody = Writer::stranger(&never.id, WriterId::NIL, 0);
    let writes = vec![
        held.single(6),
        zombie.single(6),
        late.claim(6),
        taken.claim(6),
        ahead.claim(7),
        new.claim(1),
        never.claim(2),
        late.single(7),
        held.single(7),
    ];
    let outcomes = outcomes_of(journal, writes.clone()).await?;
    for place in [0, 3, 5, 8] {
        let found = &outcomes[place];
        expect(
            found.is_stored(),
            format!("write {place} of the call, of another id, to be stored, found {found:?}"),
        )?;
    }
    expect_conflict(&outcomes[1], &writes[1], &holder, 5)?;
    expect_conflict(&outcomes[2], &writes[2], &holder_of_late, 5)?;
    expect_conflict(&outcomes[4], &writes[4], &ahead, 5)?;
    expect_conflict(&outcomes[6], &writes[6], &nobody, 0)?;
    expect_skipped(&outcomes[7])?;
    let heads = [
        (&held, (7, 0, 1)),
        (&zombie, (5, 0, holder.taken.epoch)),
        (&late, (5, 0, holder_of_late.taken.epoch)),
        (&taken, (6, 0, 2)),
        (&ahead, (5, 0, 1)),
        (&new, (1, 0, 1)),
        (&never, (0, 0, 0)),
    ];
    for (writer, head) in heads {
        expect_head(journal, &writer.id, head).await?;
        expect_numbers(journal, &writer.id, 1..=head.0).await?;
    }
    Ok(())
}

async fn take_over_many_ids_in_one_call(subject: Subject<dyn Journal>) -> CaseResult {
    const IDS: usize = 300;
    let journal = subject.store();
    let mut writers = Vec::with_capacity(IDS);
    for place in 0..IDS {
        let id = fresh_id();
        writers.push(match place % 3 {
            0 => Writer::holder_of(journal, &id).await?,
            _ => Writer::look(journal, &id).await?,
        });
    }
    // First all of them win; then every seventh comes again with what it came with before.
    let first = |(place, writer): (usize, &Writer)| match place % 3 {
        0 => writer.single(1),
        _ => writer.claim(1),
    };
    let writes: Vec<_> = writers.iter().enumerate().map(first).collect();
    expect_stored(journal, writes.clone()).await?;
    let second: Vec<AtomicWrite> = writes
        .into_iter()
        .zip(&mut writers)
        .enumerate()
        .map(|(place, (first, writer))| {
            writer.taken.epoch = 1;
            match place % 7 {
                0 => first,
                1 => writer.claim(2),
                _ => writer.single(2),
            }
        })
        .collect();
    let outcomes = outcomes_of(journal, second.clone()).await?;
    for (place, (outcome, writer)) in outcomes.iter().zip(&writers).enumerate() {
        let head = match place % 7 {
            0 => (1, 0, 1),
            1 => (2, 0, 2),
            _ => (2, 0, 1),
        };
        if head.0 == 1 {
            expect_conflict(outcome, &second[place], writer, 1)?;
        } else {
            expect(
                outcome.is_stored(),
                format!("write {place} of the call to be stored, found {outcome:?}"),
            )?;
        }
        expect_head(journal, &writer.id, head).await?;
        writer.expect_events(journal, 1..=head.0).await?;
    }
    Ok(())
}

async fn keep_the_epoch_if_the_write_that_takes_over_is_rejected(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let capabilities = journal.capabilities();
    for id in [fresh_id(), subject.five_events().await?.id] {
        let mut writer = Writer::look(journal, &id).await?;
        let (first, epoch) = (writer.next, writer.taken.epoch);
        let mut refused: Vec<(AtomicWrite, Option<StorageErrorKind>)> = Vec::new();
        if !capabilities.atomic_batches {
            let several = writer.claim_of(writer.events(first..=first + 1));
            refused.push((several, Some(StorageErrorKind::Unsupported)));
        }
        if let Some(limit) = capabilities
            .max_event_bytes
            .filter(|&limit| limit < 1 << 26)
        {
            let mut event = writer.event(first);
            event.payload = Payload::new(1_000, "tck.bytes:v1", bytes_like_random(limit + 1));
            refused.push((
                writer.claim_of(vec![event]),
                Some(StorageErrorKind::TooLarge),
            ));
        }
        // A journal may have no reason to reject anything; then the first write of the call is one that loses.
        if refused.is_empty() {
            refused.push((writer.claim(first + 1), None));
        }
        for (write, kind) in refused {
            let neighbour = Writer::look(journal, &fresh_id()).await?;
            let mut after = Writer::stranger(&id, writer.writer, epoch);
            after.has_taken_over(first);
            let writes = vec![write, after.single(first + 1), neighbour.claim(1)];
            let outcomes = outcomes_of(journal, writes).await?;
            match kind {
                Some(kind) => expect_rejected(&outcomes[0], kind)?,
                None => expect_eq("stored", outcomes[0].is_stored(), false)?,
            }
            expect_skipped(&outcomes[1])?;
            expect(
                outcomes[2].is_stored(),
                "the write of another id to be stored",
            )?;
            expect_head(journal, &id, (first - 1, 0, epoch)).await?;
            expect_head(journal, &neighbour.id, (1, 0, 1)).await?;
        }
        let outcome: WriteOutcome = outcome_of(journal, writer.claim(first)).await?;
        expect(outcome.is_stored(), "the next write to take over")?;
        writer.has_taken_over(first);
        expect_head(journal, &id, (first, 0, epoch + 1)).await?;
        writer.store(journal, 1).await?;
        expect_numbers(journal, &id, 1..=first + 1).await?;
    }
    Ok(())
}
