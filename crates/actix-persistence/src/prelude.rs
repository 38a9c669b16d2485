//! The names that a file with persistent actors needs: `use actix_persistence::prelude::*;`.

pub use actix_persistence_persistent_actor::{
    BackOffSettings, Chain, DurableState, Event, EventMeta, FromPersistError, ManyEvents, Metadata,
    NamedStash, NoEvent, NoSnapshot, OnConflict, OneEvent, Overflow, Persist, PersistError,
    PersistentActor, PersistentContext, Recovery, RecoveryError, RecoveryReplies, RejectionCause,
    Reply, ReplyTo, Retention, Serializer, Snapshot, SnapshotOffer, StartError, StashPolicy, State,
    StateUpcasters, StoreResponse, Stored, TakeOver, Upcasters,
};
pub use actix_persistence_storage_api::{PersistenceId, Revision, SequenceNr, SnapshotCriteria};

pub use crate::Persistence;

#[cfg(test)]
mod tests {
    /// The modules that export the types of other crates.
    const MODULES: [&str; 3] = [
        include_str!("lib.rs"),
        include_str!("error.rs"),
        include_str!("stash.rs"),
    ];

    /// Returns the names that a module takes from other crates.
    fn exports(module: &str) -> impl Iterator<Item = &str> {
        let statements = module.split("pub use actix_persistence_").skip(1);
        let lists = statements.filter_map(|statement| statement.split(';').next());
        let names = lists.flat_map(|list| list.split(|letter: char| !letter.is_alphanumeric()));
        names.filter(|name| name.starts_with(char::is_uppercase))
    }

    #[test]
    fn what_the_prelude_exports_can_be_imported_by_its_name_too() {
        let elsewhere: Vec<_> = MODULES.into_iter().flat_map(exports).collect();
        let own: Vec<_> = exports(
            include_str!("prelude.rs")
                .split("#[cfg(test)]")
                .next()
                .unwrap_or_default(),
        )
        .collect();
        assert!(own.len() > 30, "{own:?}");
        let mut missing = own;
        missing.retain(|name| !elsewhere.contains(name));
        assert_eq!(missing, [""; 0]);
    }
}
