//! The work that each library does in its own way.

use crate::databases::Databases;

/// The bytes of the text in an event.
const NOTE_BYTES: usize = 200;

/// The events of one command, where a log is filled.
pub(crate) const FILLED_AT_ONCE: usize = 100;

/// An event-sourcing library with its store opened on a database of its own.
pub(crate) trait Library: Sized {
    /// The name of the library, as the arguments have it.
    const NAME: &'static str;
    /// The means to reach one entity, which counts its events.
    type Entity: 'static;

    /// Runs what the library needs around it, such as a runtime of its kind.
    fn run<T>(work: impl Future<Output = T>) -> T;

    /// Opens the store, as the documentation of the library shows it.
    async fn open(databases: &Databases) -> Self;

    /// Removes what a recovery would read in place of the events, if the library stores such without being asked to.
    async fn before_recovery(&self) {}

    /// Closes the store, so that no connection of it is busy while another library is measured.
    async fn close(self) {}

    /// Starts an entity; it may still recover.
    async fn start(&self, name: &str) -> Self::Entity;

    /// Lets an entity persist so many events in one command, and returns the number of its events when they are stored
    /// and applied; with none it returns the number once the entity is recovered.
    async fn note(entity: &Self::Entity, events: usize) -> usize;

    /// Stops an entity.
    async fn stop(entity: Self::Entity);

    /// True if a command may persist several events.
    const TAKES_SEVERAL: bool = true;
}

/// Returns the text of an event.
pub(crate) fn note() -> String {
    "x".repeat(NOTE_BYTES)
}

/// Returns a runtime for the libraries on tokio: as many threads as ours has beside the actors'.
pub(crate) fn tokio_run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}
