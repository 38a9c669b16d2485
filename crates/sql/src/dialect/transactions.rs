//! The part of a dialect that begins and ends transactions.

use super::Driver;

/// The statements that begin and end transactions, and what a database does with one meanwhile.
pub trait TransactionDialect: Driver {
    /// The number of attempts at work that certainly stored nothing, if a [`ErrorClass`](crate::ErrorClass) allows it.
    const ATTEMPTS: u32;

    /// Begins a transaction that writes.
    const BEGIN: &'static str;

    /// Begins a transaction in which the store writes rows of several tables that have places in the order of commits, where
    /// readers of each must know of it before it writes anything.
    ///
    /// Elsewhere it is [`BEGIN`](Self::BEGIN). Not used where [work begins](crate::JournalDialect::WORK_BEGINS) transactions.
    const BEGIN_STORING: &'static str = Self::BEGIN;

    /// Begins a transaction that reads at one moment, or as near to that as initialising needs.
    const BEGIN_READING: &'static str;

    /// Begins a transaction that only looks for what a condition of the application finds, where such conditions need other
    /// plans than the statements of the store; none where a statement by itself will do.
    const BEGIN_FINDING: Option<&'static str> = None;

    /// Commits any of these transactions.
    const COMMIT: &'static str;

    /// True if [`COMMIT`](Self::COMMIT) is prepared once for a connection, where its text takes longer to compile than to
    /// run.
    const PREPARES_COMMIT: bool = false;

    /// Ends the transaction that makes tables ready, which every start has, even one that then fails.
    const COMMIT_SET_UP: &'static str = Self::COMMIT;

    /// Rolls back any of these transactions, as if nothing had been done.
    const ROLLBACK: &'static str;

    /// True if a transaction can go on after a statement of it that failed.
    const TRANSACTIONS_SURVIVE_ERRORS: bool = true;

    /// True if statements that define tables commit what came before them.
    const DEFINITIONS_COMMIT: bool = false;

    /// True if a statement that reads or changes rows may end the transaction and report no error, as far as is known: code in
    /// the server may catch the error.
    const ROWS_MAY_END_TRANSACTIONS: bool = true;

    /// The text after that which begins the application's part of a transaction: it sets for its statements the
    /// settings of the server where those of the store are others.
    const BEFORE_APPLICATION: &'static str = "";

    /// The text after that which ends that part: it takes back what [`BEFORE_APPLICATION`](Self::BEFORE_APPLICATION)
    /// set.
    const AFTER_APPLICATION: &'static str = "";
}
