//! Processes with a projection that are killed at random.

use std::io;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use actix_rt::task::spawn_blocking;

use crate::projections::{LONG, Place, add, newest, start};

/// Names the place of the projection that this program is to run until it is killed.
const PLACE: &str = "ACTIX_PERSISTENCE_KILLED_PROJECTION";
const IDS: usize = 30;
const AMOUNTS: u64 = 40;
const KILLS: usize = 12;

/// Runs this test program again, as a process that projects; it ends with the input that its owner holds.
fn projecting(place: &Place) -> Child {
    let program = std::env::current_exe().unwrap();
    Command::new(program)
        .args([
            "--exact",
            "killed_projections::projects_until_it_is_killed",
            "--nocapture",
        ])
        .env(PLACE, place.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Does nothing unless it is told the place.
#[actix::test]
async fn projects_until_it_is_killed() {
    let Ok(place) = std::env::var(PLACE) else {
        return;
    };
    let place: Place = place.parse().unwrap();
    let persistence = place.open().await;
    let _projection = start(&persistence, &place.read_model(), |settings| {
        settings.shares = 4
    });
    // A test that failed kills nothing, and neither does one that was killed itself.
    let ended = spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink()));
    ended.await.unwrap().unwrap();
    std::process::exit(0);
}

/// Kills one of two processes after another while actors write; what is left projects the rest.
pub(crate) async fn each_event_is_projected_once_over_kills(kind: &'static str) {
    let place = Place::new(kind, "kills");
    let persistence = place.open().await;
    place.make_tables(&persistence).await;
    let writing = actix_rt::spawn({
        let persistence = persistence.clone();
        async move { add(&persistence, IDS, 1..=AMOUNTS).await }
    });
    let mut processes = [projecting(&place), projecting(&place)];
    let mut left = KILLS;
    let all = (IDS as u64 * AMOUNTS) as i64;
    let kills = async {
        while left > 0 {
            // Each kill comes after some more was projected, at a place in the middle of something.
            let before = place.found(&persistence).await.0;
            while place.found(&persistence).await.0 == before && before < all {}
            let process = &mut processes[left % 2];
            process.kill().unwrap();
            process.wait().unwrap();
            *process = projecting(&place);
            left -= 1;
        }
    };
    tokio::time::timeout(LONG * 2, kills).await.unwrap();
    writing.await.unwrap();
    let end = newest(&persistence).await;
    let projection = start(&persistence, &place.read_model(), |_| {});
    if let Err(error) = projection.applied(&end, LONG).await {
        panic!(
            "{error}: {:?} {:?}",
            projection.status(),
            projection.record().await
        );
    }
    for process in &mut processes {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    let total = IDS as i64 * (AMOUNTS * (AMOUNTS + 1) / 2) as i64;
    assert_eq!(place.found(&persistence).await, (all, all, total));
    assert!(
        persistence
            .stop(Duration::from_secs(30))
            .await
            .is_complete()
    );
}
