//! The capacity of Akka's stash, which is a key of mailboxes there.

use actix_persistence_storage_api::{ConfigError, Item, Section, Value};

use super::stash::{self, CAPACITY, TYPED, TYPED_CAPACITY};
use super::{mistake, warn_of_twin};

/// Reads the `stash-capacity` of the default mailbox as the capacity of our stash; returns why, if that cannot be read.
///
/// In Akka a number below 1 means that there is no bound; the largest number that our key takes stands for that.
pub(in super::super) fn take_over_mailbox(
    path: &str,
    item: Item,
    persistence: &mut Section,
    warnings: &mut Vec<String>,
) -> Option<ConfigError> {
    let text = match &item.value {
        Value::Untyped(text) => text.as_str().trim(),
        _ => "",
    };
    let Ok(capacity) = text.parse::<i64>() else {
        let message = "must be a number of messages, or -1 for no bound";
        return Some(mistake(path.to_owned(), item.origin, message));
    };
    let value = if capacity < 1 {
        i64::from(u32::MAX)
    } else {
        capacity
    };
    let item = Item {
        value: value.into(),
        origin: item.origin,
    };
    // The key for typed actors, which is read later, says more of actors like ours.
    if let Some(Value::Section(typed)) = persistence.get(TYPED).map(|item| &item.value)
        && typed.get(TYPED_CAPACITY).is_some()
    {
        let twin = typed.path_of(TYPED_CAPACITY);
        warn_of_twin(&item.origin, path, &twin, warnings);
        return None;
    }
    stash::set(persistence, CAPACITY, path, item, warnings);
    None
}
