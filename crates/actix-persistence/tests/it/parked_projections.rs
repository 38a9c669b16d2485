//! Ids that a projection parks, on every database.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_persistence::prelude::*;
use actix_persistence::projection::{
    AppliedError, ExactlyOnceHandler, ExtensionError, OnFailure, Session,
};
use actix_persistence::query::Changed;
use actix_persistence::sql::{SessionWork, Sql};
use async_trait::async_trait;

use crate::note::{Note, Write, Written};
use crate::projections::{LONG, Place, add, newest, start};

/// Nothing of a parked id is in the read model from the bad event on, until a retry hands over what waits, each event once.
pub(crate) async fn what_is_parked_waits_and_is_handled_once_when_retried(kind: &'static str) {
    let place = Place::new(kind, "parked");
    let persistence = place.open().await;
    place.make_tables(&persistence).await;
    let model = place.read_model();
    model.fails_for.store(5, Ordering::SeqCst);
    let projection = start(&persistence, &model, |settings| {
        settings.on_failure = OnFailure::Park;
        settings.max_attempts = 2;
        settings.shares = 2;
    });
    add(&persistence, 3, 1..=9).await;
    let end = newest(&persistence).await;
    projection.applied(&end, LONG).await.unwrap();
    assert_eq!(place.found(&persistence).await, (12, 12, 30));
    let parked = projection.parked(None, 10).await.unwrap();
    assert_eq!(parked.len(), 3);
    for id in &parked {
        assert_eq!((id.number, id.waiting), (5, 5), "{id:?}");
        assert!(id.reason.contains("5 is too much"), "{id:?}");
    }
    model.fails.store(false, Ordering::SeqCst);
    projection.divide(3).await.unwrap();
    projection.retry(None).await.unwrap();
    let retried = async { while !projection.parked(None, 1).await.unwrap().is_empty() {} };
    tokio::time::timeout(LONG, retried).await.unwrap();
    assert_eq!(place.found(&persistence).await, (27, 27, 135));
    let record = projection.record().await.unwrap().unwrap();
    let handled: u64 = record.shares.iter().map(|share| share.handled).sum();
    assert_eq!((handled, record.parked), (27, 0));
    assert!(persistence.stop(LONG).await.is_complete());
}

/// Logs the revisions of notes, and refuses those of the bad one for a while.
struct Revisions {
    log: String,
    refuses: Arc<AtomicBool>,
}

#[async_trait]
impl ExactlyOnceHandler<Changed<Written>> for Revisions {
    async fn handle(
        &self,
        session: &mut dyn Session,
        item: &Changed<Written>,
    ) -> Result<(), ExtensionError> {
        let id = item.persistence_id().as_str();
        let insert = format!("INSERT INTO {} (id, seq) VALUES ($1, $2)", self.log);
        let values = [id.into(), (item.revision() as i64).into()];
        session.execute(Sql::assert_safe(insert), values).await?;
        match id.ends_with("bad") && self.refuses.load(Ordering::SeqCst) {
            true => Err(format!("revision {} is bad", item.revision()).into()),
            false => Ok(()),
        }
    }
}

/// Returns the revisions of the bad note that were handled.
async fn revisions_of_bad(place: &Place, persistence: &Persistence) -> Vec<i64> {
    let log = place.table("log");
    let select = format!("SELECT seq FROM {log} WHERE id = $1 ORDER BY seq");
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            let rows = session.select(Sql::assert_safe(select), ["Note|bad".into()]);
            let rows = rows.await?;
            rows.iter().map(|row| Ok(row.get("seq")?)).collect()
        })
    });
    persistence.transact(None, work).await.unwrap()
}

/// Of the changes of a parked state that wait, the last one is handled, with the state as it is then.
pub(crate) async fn a_parked_change_is_handled_as_the_state_is_then(kind: &'static str) {
    let place = Place::new(kind, "parked_changes");
    let persistence = place.open().await;
    place.make_tables(&persistence).await;
    let refuses = Arc::new(AtomicBool::new(true));
    let new = persistence.projection("notes");
    let new = new.of_changes::<Written>(None, "Note").unwrap();
    let new = new.with(|settings| {
        settings.lease = Duration::from_millis(400);
        settings.idle_progress = Duration::from_millis(50);
        settings.on_failure = OnFailure::Park;
        settings.max_attempts = 1;
    });
    let handler = Revisions {
        log: place.table("log"),
        refuses: Arc::clone(&refuses),
    };
    let projection = new.exactly_once(handler).unwrap();
    let bad = persistence.start(|| Note::named("bad")).unwrap();
    let good = persistence.start(|| Note::named("good")).unwrap();
    let [bad_id, good_id] = ["bad", "good"].map(|name| PersistenceId::of("Note", name));
    for revision in 1..=3 {
        bad.send(Write('a')).await.unwrap().unwrap();
        let waits = projection.applied_event(&bad_id, revision, LONG).await;
        assert!(
            matches!(waits, Err(AppliedError::Parked { .. })),
            "{waits:?}"
        );
        good.send(Write('a')).await.unwrap().unwrap();
        let applied = projection.applied_event(&good_id, revision, LONG).await;
        applied.unwrap();
    }
    // A retry that is refused leaves what a later change has not replaced.
    projection.retry(&bad_id).await.unwrap();
    let is_refused = async {
        loop {
            let parked = projection.parked(None, 1).await.unwrap();
            if parked[0].reason.contains("revision 3 is bad") {
                return (parked[0].number, parked[0].waiting);
            }
        }
    };
    let left = tokio::time::timeout(LONG, is_refused).await.unwrap();
    assert_eq!(left, (3, 1));
    assert_eq!(revisions_of_bad(&place, &persistence).await, [0; 0]);
    refuses.store(false, Ordering::SeqCst);
    projection.retry(&bad_id).await.unwrap();
    let is_handled = async { while !projection.parked(None, 1).await.unwrap().is_empty() {} };
    tokio::time::timeout(LONG, is_handled).await.unwrap();
    assert_eq!(revisions_of_bad(&place, &persistence).await, [3]);
    bad.send(Write('a')).await.unwrap().unwrap();
    let applied = projection.applied_event(&bad_id, 4, LONG).await;
    applied.unwrap();
    assert_eq!(revisions_of_bad(&place, &persistence).await, [3, 4]);
    assert_eq!(projection.skipped(1).await.unwrap(), []);
    assert!(persistence.stop(LONG).await.is_complete());
}
