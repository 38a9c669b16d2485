//! The promise: whatever moment a process is killed at, nothing acknowledged is lost, doubled or out of order.

use actix_persistence_test_servers::Database;

use crate::backend::{Backend, Dies, OwnServer, SharedServer, Sqlite};
use crate::rounds::{rounds, say};
use crate::workload::Workload;

/// How often something is killed in one import.
const KILLS: usize = 5;

/// Kills the import at random moments in each part of the file, and starts it again as its user would.
fn application_killed_again_and_again<B: Backend>(create: impl Fn() -> B) {
    for round in rounds() {
        let backend = create();
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
        say(
            round,
            &format!("{} answers in {KILLS} lives and one", acknowledged.len()),
        );
    }
}

/// Kills the server at random moments in each part of the file and starts it again; the import goes on by itself.
fn server_killed_again_and_again<B: Dies>(create: impl Fn() -> B) {
    for round in rounds() {
        let mut backend = create();
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
        let failed = acknowledged.iter().filter(|receipt| !receipt.is_final());
        say(
            round,
            &format!("{} calls failed and were made again", failed.count()),
        );
    }
}

mod sqlite {
    use super::*;

    #[test]
    fn an_import_killed_again_and_again_ends_with_every_balance_right() {
        application_killed_again_and_again(Sqlite::new);
    }
}

mod postgres {
    use super::*;

    #[test]
    fn an_import_killed_again_and_again_ends_with_every_balance_right() {
        application_killed_again_and_again(|| SharedServer::find(Database::Postgres));
    }

    #[test]
    fn an_import_goes_on_by_itself_when_its_server_is_killed_and_started_again() {
        server_killed_again_and_again(|| OwnServer::start(Database::Postgres));
    }
}

mod mysql {
    use super::*;

    #[test]
    fn an_import_killed_again_and_again_ends_with_every_balance_right() {
        application_killed_again_and_again(|| SharedServer::find(Database::MariaDb));
    }

    #[test]
    fn an_import_goes_on_by_itself_when_its_server_is_killed_and_started_again() {
        server_killed_again_and_again(|| OwnServer::start(Database::MariaDb));
    }
}
