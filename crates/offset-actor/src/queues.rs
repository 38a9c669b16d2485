//! The queues in which requests wait for each other.

use actix_persistence_storage_api::{PersistenceId, ProjectionKey};

/// Returns the queue of a share, in which its commits wait for those that are late.
pub(crate) fn of_share(projection: &ProjectionKey, share: u16) -> PersistenceId {
    of(projection, &share.to_string())
}

/// Returns the queue of the members of a projection and their leases.
pub(crate) fn of_members(projection: &ProjectionKey) -> PersistenceId {
    of(projection, "members")
}

/// Returns the queue of what concerns a projection as a whole.
pub(crate) fn of_projection(projection: &ProjectionKey) -> PersistenceId {
    of(projection, "projection")
}

/// Returns the queue of what concerns all versions of a projection.
pub(crate) fn of_name(name: &str) -> PersistenceId {
    PersistenceId::of(name, "versions")
}

/// Returns the queue of what concerns all projections.
pub(crate) fn of_all() -> PersistenceId {
    // No projection has an empty name.
    PersistenceId::of_unique("all")
}

fn of(projection: &ProjectionKey, queue: &str) -> PersistenceId {
    PersistenceId::of(&projection.to_string(), queue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_projection_and_every_share_has_a_queue_of_its_own() {
        let longest = "a".repeat(ProjectionKey::MAX_BYTES);
        let keys = ["balances", &longest].map(|name| ProjectionKey::new(name).unwrap());
        let [key, longest] = keys;
        let longest = longest.with_version(u32::MAX);
        let mut queues = vec![of_all(), of_name("balances")];
        for key in [&key, &key.clone().with_version(2), &longest] {
            queues.extend([
                of_projection(key),
                of_members(key),
                of_share(key, 0),
                of_share(key, u16::MAX),
            ]);
        }
        for queue in &queues {
            assert_eq!(queue.validate(), Ok(()), "{queue:?}");
        }
        let count = queues.len();
        queues.sort();
        queues.dedup();
        assert_eq!(queues.len(), count);
    }
}
