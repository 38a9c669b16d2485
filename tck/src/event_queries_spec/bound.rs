//! The transactions that hold readers back, and the hints of other processes.

use std::time::{Duration, Instant};

use actix_persistence_storage_api::{BoundHolder, Journal, StorageErrorKind};
use tokio::time::{sleep, timeout};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::event_query_steps::{event_queries, store_in_turns};
use crate::failure::{CaseResult, Failure, expect};
use crate::query_steps::tck_id;
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        name_no_transaction_that_has_ended_as_a_holder,
        ["E-HOLDERS-1"]
    )
    .needing(Capability::EventQueries),
    case!(return_no_number_of_hints_that_was_seen, ["E-HINTS-1"]).needing(Capability::EventQueries),
];

/// The time after which what has ended is shown no more.
const SOON: Duration = Duration::from_secs(2);
/// The time in which a hint comes that is there already.
const AT_ONCE: Duration = Duration::from_millis(20);

/// Stores of other cases may write to the same server: their transactions are younger.
async fn name_no_transaction_that_has_ended_as_a_holder(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let queries = event_queries(journal)?;
    store_in_turns(journal, &[1, 2, 3].map(tck_id), 4).await?;
    let ended = Instant::now();
    loop {
        let holders = match queries.bound_holders().await {
            // The user may not see other transactions.
            Err(error) if error.kind() == StorageErrorKind::AccessDenied => return Ok(()),
            holders => holders?,
        };
        let since = ended.elapsed();
        let is_older = |holder: &&BoundHolder| holder.age.is_none_or(|age| age > since);
        let Some(holder) = holders.iter().find(is_older) else {
            return Ok(());
        };
        if since > SOON {
            return Err(Failure::new(format!(
                "expected no holder after all writes have ended, found {holder:?}"
            )));
        }
        // MariaDB looks again only for somebody who has not asked for a tenth of a second.
        sleep(Duration::from_millis(150)).await;
    }
}

async fn return_no_number_of_hints_that_was_seen(subject: Subject<dyn Journal>) -> CaseResult {
    let (journal, elsewhere) = (subject.store(), subject.another().await?);
    let queries = event_queries(journal)?;
    let mut seen = 0;
    for number in 1..=4 {
        store_in_turns(&*elsewhere, &[tck_id(number)], 1).await?;
        if let Ok(hints) = timeout(AT_ONCE, queries.hints(seen)).await {
            expect(hints != seen, format!("another number than {seen}"))?;
            seen = hints;
        }
    }
    Ok(())
}
