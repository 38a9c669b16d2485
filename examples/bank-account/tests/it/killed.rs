//! The promise: whatever moment a process is killed at, nothing acknowledged is lost, doubled or out of order.

use crate::backend::{Backend, Sqlite};
use crate::rounds::{rounds, say};
use crate::workload::Workload;

/// How often something is killed in one import.
const KILLS: usize = 5;

/// Kills the import and starts it again, as its user would.
fn application_killed_again_and_again<B: Backend>(create: impl Fn() -> B) {
    for round in rounds() {
        let backend = create();
        let work = Workload::new(&backend);
        let mut halfway = 0;
        for kill in 0..KILLS {
            let mut import = work.import();
            if !import.reaches(work.somewhere_in(kill, KILLS)) {
                break;
            }
            import.kill();
            work.check_so_far(&backend);
            halfway += 1;
        }
        assert!(halfway > 0, "no kill came before the end of the import");
        let last = work.import();
        let status = last.end();
        assert!(status.success(), "{status}");
        work.check_all(&backend);
        say(round, &format!("killed {halfway} times"));
    }
}

mod sqlite {
    use super::*;

    #[test]
    fn an_import_killed_again_and_again_ends_with_every_balance_right() {
        application_killed_again_and_again(Sqlite::new);
    }
}
