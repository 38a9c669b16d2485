//! An import whose process or server is killed: the same import again, or the one under way, ends with every balance right.
//!
//! It shows what the torture does not: an application that does its work again, from the same file, does none of it twice.
//! That nothing acknowledged is lost, whichever process is killed, is shown by `cargo xtask torture` on every database.

use actix_persistence_test_servers::Database;

use crate::backend::{OwnServer, Sqlite};
use crate::workload::Workload;

/// The number of kills in one import.
const KILLS: usize = 3;

#[test]
fn an_import_killed_again_and_again_ends_with_every_balance_right() {
    let backend = Sqlite::new();
    let mut work = Workload::new(&backend);
    let mut acknowledged = Vec::new();
    for kill in 0..KILLS {
        let mut import = work.import();
        let part = work.part(kill, KILLS);
        import.feed(work.lines(0..part.end));
        import.decides(fastrand::usize(part));
        acknowledged.extend(import.kill());
        work.check_so_far(&acknowledged, &backend);
    }
    let mut last = work.import();
    last.feed(work.lines(work.part(0, 1)));
    acknowledged.extend(last.end());
    work.check_all(&acknowledged, &backend);
}

#[test]
fn an_import_goes_on_by_itself_after_its_server_was_killed() {
    let mut backend = OwnServer::start(Database::Postgres);
    let mut work = Workload::new(&backend);
    let mut import = work.import();
    import.feed(work.lines(work.part(0, KILLS + 1)));
    for kill in 0..KILLS {
        import.decides(fastrand::usize(work.part(kill, KILLS + 1)));
        backend.kill();
        let acknowledged = import.receipts().to_vec();
        import.feed(work.lines(work.part(kill + 1, KILLS + 1)));
        backend.restart();
        work.check_so_far(&acknowledged, &backend);
    }
    let acknowledged = import.end();
    work.check_all(&acknowledged, &backend);
}
