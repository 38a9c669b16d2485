//! A read model that is made anew beside the live one, and replaces it, on every database.

use std::time::Duration;

use actix_persistence::prelude::*;
use actix_persistence::projection::{MakeLiveError, Projection};
use actix_persistence::query::EventSelection;
use actix_persistence::sql::{SessionWork, Sql};

use crate::projections::{Added, LONG, Place, ReadModel, add, newest, start};

/// Starts the second version.
fn start_second(persistence: &Persistence, model: &ReadModel) -> Projection {
    let new = persistence.projection("sums");
    let new = new.of_events::<Added>(None, EventSelection::all().of_entity_type("Sum"));
    let new = new.unwrap().version(2).with(|settings| {
        settings.lease = Duration::from_millis(400);
        settings.idle_progress = Duration::from_millis(50);
        settings.shares = 2;
    });
    new.exactly_once(model.clone()).unwrap()
}

/// Returns the work that names a version as the one to read from.
fn name_version(place: &Place, version: u32) -> SessionWork {
    let sql = format!("UPDATE {} SET version = $1", place.table("current"));
    SessionWork::new(move |session| {
        Box::pin(async move {
            let version = i64::from(version);
            session
                .execute(Sql::assert_safe(sql), [version.into()])
                .await?;
            Ok(())
        })
    })
}

/// Reads as an application does: from the tables of the version that is named, in one transaction.
async fn read(persistence: &Persistence, place: &Place, second: &Place) -> (i64, i64) {
    let current = format!("SELECT version FROM {}", place.table("current"));
    let counts = [place, second].map(|place| {
        let table = place.table("log");
        format!("SELECT COUNT(*) AS events FROM {table}")
    });
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            let row = session.select_one(Sql::assert_safe(current), []).await?;
            let version: i64 = row.ok_or("no row")?.get("version")?;
            let [first, second] = counts;
            let count = if version == 1 { first } else { second };
            let row = session.select_one(Sql::assert_safe(count), []).await?;
            Ok((version, row.ok_or("no row")?.get("events")?))
        })
    });
    persistence.transact(None, work).await.unwrap()
}

async fn make_pointer(persistence: &Persistence, place: &Place) {
    let table = place.table("current");
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            let create = format!("CREATE TABLE {table} (version BIGINT)");
            session.execute(Sql::assert_safe(create), []).await?;
            let insert = format!("INSERT INTO {table} (version) VALUES (1)");
            session.execute(Sql::assert_safe(insert), []).await?;
            Ok(())
        })
    });
    persistence.transact(None, work).await.unwrap();
}

/// While actors write, no reader ever sees less than before, whichever version it reads.
pub(crate) async fn readers_see_the_old_or_the_new_version_and_no_gap(kind: &'static str) {
    let place = Place::new(kind, "live");
    let second = place.beside("2");
    let persistence = place.open().await;
    place.make_tables(&persistence).await;
    second.make_tables(&persistence).await;
    make_pointer(&persistence, &place).await;
    let old = start(&persistence, &place.read_model(), |_| {});
    // The first version that is there is live.
    let is_there = async { while !old.is_live().await.unwrap() {} };
    tokio::time::timeout(LONG, is_there).await.unwrap();
    let writing = actix_rt::spawn({
        let persistence = persistence.clone();
        async move { add(&persistence, 5, 1..=60).await }
    });
    let reading = actix_rt::spawn({
        let (persistence, place, second) =
            (persistence.clone(), place.beside(""), place.beside("2"));
        async move {
            let (mut last, mut seen) = (0, [0, 0]);
            while seen[1] < 5 {
                let (version, count) = read(&persistence, &place, &second).await;
                assert!(count >= last, "{count} in version {version} after {last}");
                last = count;
                seen[version as usize - 1] += 1;
                tokio::task::yield_now().await;
            }
        }
    });
    let new = start_second(&persistence, &second.read_model());
    let work = name_version(&place, 2);
    new.make_live(Some(work), LONG).await.unwrap();
    assert!(new.is_live().await.unwrap() && !old.is_live().await.unwrap());
    let record = old.record().await.unwrap().unwrap();
    assert!(record.paused && !record.live);
    tokio::time::timeout(LONG, reading).await.unwrap().unwrap();
    writing.await.unwrap();
    let end = newest(&persistence).await;
    new.applied(&end, LONG).await.unwrap();
    assert_eq!(second.found(&persistence).await, (300, 300, 9_150));
    // Again, which does nothing, and back.
    let not_run = name_version(&place, 7);
    new.make_live(Some(not_run), LONG).await.unwrap();
    assert_eq!(read(&persistence, &place, &second).await.0, 2);
    old.resume().await.unwrap();
    old.make_live(Some(name_version(&place, 1)), LONG)
        .await
        .unwrap();
    assert_eq!(read(&persistence, &place, &second).await, (1, 300));
    assert_eq!(place.found(&persistence).await, (300, 300, 9_150));
    assert!(persistence.stop(LONG).await.is_complete());
}

/// A version that does not get there, and a replacement that fails, leave the old one live, and it goes on.
pub(crate) async fn a_version_that_is_not_made_live_leaves_the_old_one_going_on(
    kind: &'static str,
) {
    let place = Place::new(kind, "unlive");
    let second = place.beside("2");
    let persistence = place.open().await;
    place.make_tables(&persistence).await;
    second.make_tables(&persistence).await;
    let old = start(&persistence, &place.read_model(), |_| {});
    add(&persistence, 2, 1..=3).await;
    old.applied(&newest(&persistence).await, LONG)
        .await
        .unwrap();
    let new = start_second(&persistence, &second.read_model());
    new.applied(&newest(&persistence).await, LONG)
        .await
        .unwrap();

    let failing = SessionWork::new(|_| Box::pin(async { Err("not now".into()) }));
    let failed = new.make_live(Some(failing), LONG).await.unwrap_err();
    assert!(matches!(failed, MakeLiveError::Storage(_)), "{failed:?}");
    new.pause().await.unwrap();
    add(&persistence, 3, 1..=1).await;
    old.applied(&newest(&persistence).await, LONG)
        .await
        .unwrap();
    let paused = new.make_live(None, LONG).await.unwrap_err();
    assert!(matches!(paused, MakeLiveError::Paused), "{paused:?}");
    let record = old.record().await.unwrap().unwrap();
    assert!(record.live && !record.paused);
    add(&persistence, 4, 1..=1).await;
    old.applied(&newest(&persistence).await, LONG)
        .await
        .unwrap();
    assert!(persistence.stop(LONG).await.is_complete());
}
