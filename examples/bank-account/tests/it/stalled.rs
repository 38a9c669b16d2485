//! A database that does not answer for a while: the breaker opens, and everything goes on by itself afterwards.

use crate::backend::{Sqlite, Stalls};
use crate::rounds::{rounds, say};
use crate::workload::Workload;

/// How often the database is silent in one import.
const STALLS: usize = 2;

fn import_survives_stalls<B: Stalls>(create: impl Fn() -> B, is_late: &str) {
    for round in rounds() {
        let mut backend = create();
        let work = Workload::new(&backend);
        let mut import = work.import();
        let mut stalls = 0;
        for stall in 0..STALLS {
            if !import.reaches(work.somewhere_in(stall, STALLS + 1)) {
                break;
            }
            let before = import.log().len();
            backend.stall();
            if !import.logs("circuit breaker opened", before) {
                // Everything had been stored.
                backend.go_on();
                break;
            }
            assert!(import.log()[before..].contains(is_late), "{}", import.log());
            backend.go_on();
            stalls += 1;
        }
        assert!(
            stalls > 0,
            "the import ended before the database was silent"
        );
        let status = import.end();
        assert!(status.success(), "{status}");
        work.check_all(&backend);
        say(round, &format!("silent {stalls} times"));
    }
}

mod sqlite {
    use super::*;

    #[test]
    fn an_import_goes_on_by_itself_when_another_program_releases_the_lock() {
        import_survives_stalls(Sqlite::new, "the store is not available");
    }
}
