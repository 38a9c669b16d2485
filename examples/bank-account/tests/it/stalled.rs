//! A database that does not answer for a while: that is said, and everything goes on by itself afterwards.

use actix_persistence_test_servers::Database;

use crate::backend::{OwnServer, Sqlite, Stalls};
use crate::import::OUTAGE;
use crate::workload::Workload;

/// The database is silent this many times in one import.
const STALLS: usize = 2;

/// `is_late` is how the log calls a call that the database did not serve.
fn import_survives_stalls<B: Stalls>(mut backend: B, is_late: &str) {
    let mut work = Workload::new(&backend);
    let mut import = work.import();
    import.feed(work.lines(work.part(0, STALLS + 1)));
    for stall in 0..STALLS {
        import.decides(fastrand::usize(work.part(stall, STALLS + 1)));
        backend.stall();
        let before = import.log().len();
        import.feed(work.lines(work.part(stall + 1, STALLS + 1)));
        import.logs(OUTAGE, before);
        assert!(import.log()[before..].contains(is_late));
        backend.go_on();
    }
    let acknowledged = import.end();
    work.check_all(&acknowledged, &backend);
}

#[test]
fn an_import_goes_on_by_itself_when_another_program_releases_the_lock() {
    import_survives_stalls(Sqlite::new(), "the store is not available");
}

#[test]
fn an_import_goes_on_by_itself_when_a_stopped_server_goes_on() {
    import_survives_stalls(OwnServer::start(Database::Postgres), "no answer in time");
}
