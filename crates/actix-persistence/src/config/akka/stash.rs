//! The keys of Akka for the stash in which an actor holds messages.

use actix_persistence_storage_api::{ConfigError, Item, Section};

use super::super::unknown_name::unknown_name;
use super::{mistake, put_section, take_all, take_section, warn_of_twin};

/// The section that has our keys.
const STASH: &str = "internal-stash";
pub(super) const CAPACITY: &str = "capacity";
const OVERFLOW: &str = "overflow";

/// The key of actors that are not typed, and the section of those that are.
const STRATEGY: &str = "internal-stash-overflow-strategy";
pub(super) const TYPED: &str = "typed";
pub(super) const TYPED_CAPACITY: &str = "stash-capacity";
const TYPED_OVERFLOW: &str = "stash-overflow-strategy";
const TYPED_INSTEAD: &str = "'internal-stash' has the keys about the messages that wait";

/// The classes that the key of actors that are not typed may name, and what they do.
const CLASSES: [(&str, &str); 4] = [
    ("ThrowExceptionConfigurator", "fail"),
    ("ThrowOverflowExceptionStrategy", "fail"),
    ("DiscardConfigurator", "drop"),
    ("DiscardToDeadLetterStrategy", "drop"),
];

/// The packages of these classes in Akka, Akka.NET and Pekko.
const PACKAGES: [&str; 3] = [
    "akka.persistence",
    "Akka.Persistence",
    "org.apache.pekko.persistence",
];

/// Reads Akka's keys as those of the section `internal-stash`, and returns what cannot be read.
///
/// Our key goes before one of Akka's, and one for typed actors before one for others: ours are most like the former.
pub(super) fn take_over(persistence: &mut Section, warnings: &mut Vec<String>) -> Vec<ConfigError> {
    if let Some(mut typed) = take_section(persistence, TYPED) {
        for (key, name) in [(TYPED_CAPACITY, CAPACITY), (TYPED_OVERFLOW, OVERFLOW)] {
            if let Some(item) = typed.remove(key) {
                set(persistence, name, &typed.path_of(key), item, warnings);
            }
        }
        take_all(&mut typed, TYPED_INSTEAD, warnings);
    }
    take_over_strategy(persistence, warnings)
        .into_iter()
        .collect()
}

fn take_over_strategy(
    persistence: &mut Section,
    warnings: &mut Vec<String>,
) -> Option<ConfigError> {
    let class = persistence.reader().string(STRATEGY);
    let item = persistence.remove(STRATEGY)?;
    let path = persistence.path_of(STRATEGY);
    let Some(class) = class else {
        return Some(mistake(path, item.origin, "must be the name of a class"));
    };
    let Some(overflow) = overflow_of(&class) else {
        let known = CLASSES.map(|(class, _)| class);
        let message = unknown_name("overflow configurator", &class, &known);
        let message = format!("{message}; '{STASH}.{OVERFLOW}' has more choices");
        return Some(mistake(path, item.origin, &message));
    };
    let value = overflow.into();
    set(
        persistence,
        OVERFLOW,
        &path,
        Item { value, ..item },
        warnings,
    );
    None
}

/// Returns what a class does with a message that does not fit; `None` for a class that is not known.
fn overflow_of(class: &str) -> Option<&'static str> {
    // Akka.NET writes the assembly after the class, and Scala a '$' after the name of an object.
    let class = class.split(',').next()?.trim();
    let class = class.strip_suffix('$').unwrap_or(class);
    let name = match class.rsplit_once('.') {
        Some((package, name)) => PACKAGES.contains(&package).then_some(name)?,
        None => class,
    };
    let mut known = CLASSES.iter();
    known.find_map(|(class, overflow)| (*class == name).then_some(*overflow))
}

/// Sets a key of our section to what was written at the path, unless the key is there.
pub(super) fn set(
    persistence: &mut Section,
    name: &str,
    path: &str,
    item: Item,
    warnings: &mut Vec<String>,
) {
    let mut stash = match take_section(persistence, STASH) {
        Some(stash) => stash,
        // It is no section, and the reader of that section says so.
        None if persistence.get(STASH).is_some() => return,
        None => Section::new(persistence.path_of(STASH), item.origin.clone()),
    };
    let twin = stash.path_of(name);
    if stash.get(name).is_some() {
        warn_of_twin(&item.origin, path, &twin, warnings);
    } else {
        let origin = &item.origin;
        warnings.push(format!(
            "{origin}: '{path}' is read as '{twin}'; write that instead"
        ));
        stash.insert(name, item);
    }
    put_section(persistence, STASH, stash);
}
