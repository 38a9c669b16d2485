//! The stored shapes of the bank stay as they are, and those of its programs of before are still read.

use actix_persistence::ShapeLock;
use bank::{Balance, Decided, Kind};

#[test]
fn what_is_stored_keeps_its_shape() {
    let decided = |kind, cents, applied| Decided {
        id: "tx-1".to_owned(),
        kind,
        cents,
        applied,
    };
    ShapeLock::new("tests/shapes")
        .event("deposit", &decided(Kind::Deposit, 1_000, true))
        .event("withdrawal", &decided(Kind::Withdraw, 250, true))
        .event("refused", &decided(Kind::Withdraw, 9_999, false))
        .snapshot("balance", &Balance::new(750, ["tx-1".to_owned()]))
        .check();
}
