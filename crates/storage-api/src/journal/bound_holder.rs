//! A transaction that keeps readers from going on.

use std::time::Duration;

/// A transaction under way that keeps what was confirmed from readers, or other writers from storing what they would read next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BoundHolder {
    /// The session of the transaction, by the number that its database shows for it; of a prepared transaction, which belongs to
    /// no session, its name.
    pub session: String,
    /// The name that the program of the session goes by, or its user; `None` if the database does not tell.
    pub application: Option<String>,
    /// The activity of the session now, in the words of the database, such as `idle in transaction`; `None` if the
    /// database does not tell.
    pub state: Option<String>,
    /// The time since the transaction began, by the clock of the database; `None` if the database does not tell.
    pub age: Option<Duration>,
}

impl BoundHolder {
    /// Makes a holder of which only the session is known.
    pub fn new(session: impl Into<String>) -> Self {
        Self {
            session: session.into(),
            application: None,
            state: None,
            age: None,
        }
    }

    /// Returns the same of a program.
    #[must_use]
    pub fn of_application(mut self, application: Option<String>) -> Self {
        self.application = application;
        self
    }

    /// Returns the same in a state.
    #[must_use]
    pub fn in_state(mut self, state: Option<String>) -> Self {
        self.state = state;
        self
    }

    /// Returns the same that began this long ago.
    #[must_use]
    pub fn aged(mut self, age: Option<Duration>) -> Self {
        self.age = age;
        self
    }
}
