//! Selections that hold others, and the partitions that they read.

use std::ops::RangeInclusive;
use std::sync::Arc;

use actix_persistence_storage_api::{EventOffset, EventSelection, NUMBER_OF_SLICES, Partition};

/// Returns whether everything that the one selects is among what the other selects.
pub(super) fn is_part(part: &EventSelection, whole: &EventSelection) -> bool {
    let is_part =
        |part: &Option<Arc<str>>, whole: &Option<Arc<str>>| whole.is_none() || whole == part;
    is_part(&part.entity_type, &whole.entity_type)
        && is_part(&part.tag, &whole.tag)
        && is_part(&part.manifest, &whole.manifest)
        && whole.slices.contains(part.slices.start())
        && whole.slices.contains(part.slices.end())
}

/// Returns the smallest selection that holds both.
pub(super) fn union(one: EventSelection, other: &EventSelection) -> EventSelection {
    let shared = |one: Option<Arc<str>>, other: &Option<Arc<str>>| match one == *other {
        true => one,
        false => None,
    };
    let start = one.slices.start().min(other.slices.start());
    let end = one.slices.end().max(other.slices.end());
    let mut union = EventSelection::all().of_slices(*start..=*end);
    union.entity_type = shared(one.entity_type, &other.entity_type);
    union.tag = shared(one.tag, &other.tag);
    union.manifest = shared(one.manifest, &other.manifest);
    union
}

/// Returns whether a partition has some of the slices.
pub(super) fn has_any(partition: Partition, slices: &RangeInclusive<u16>) -> bool {
    let size = NUMBER_OF_SLICES / partition.of();
    let first = partition.nr() * size;
    first <= *slices.end() && *slices.start() < first + size
}

/// Returns the places of an offset in the partitions that have some of the slices.
pub(super) fn places_of_slices(offset: &EventOffset, slices: &RangeInclusive<u16>) -> EventOffset {
    let mut places = EventOffset::start();
    for (partition, position) in offset.positions() {
        if has_any(partition, slices) {
            places.advance(partition, position.clone());
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_union_holds_both_and_keeps_the_conditions_that_they_share() {
        let all = EventSelection::all;
        let posts = all().of_entity_type("Post").of_slices(3..=4);
        let red_posts = posts.clone().with_tag("red").of_slices(9..=12);
        let both = union(posts.clone(), &red_posts);
        assert_eq!(both, all().of_entity_type("Post").of_slices(3..=12));
        for (part, whole, is) in [
            (&posts, &both, true),
            (&red_posts, &both, true),
            (&both, &posts, false),
            (&red_posts, &posts, false),
            (&posts, &all(), true),
            (&posts, &posts, true),
            (&all().with_tag("red"), &all().with_tag("blue"), false),
            (&all().with_manifest("a"), &all().with_tag("a"), false),
        ] {
            assert_eq!(is_part(part, whole), is, "{part:?} of {whole:?}");
        }
        let manifests = union(all().with_manifest("a"), &all().with_manifest("a"));
        assert_eq!(manifests, all().with_manifest("a"));
    }

    #[test]
    fn places_are_those_of_partitions_that_have_some_of_the_slices() {
        let offset: EventOffset = "0/8.17.0.0:,3/8.18.4.1:a,5/8.2.0.0:".parse().unwrap();
        for (slices, text) in [
            (0..=1023, "0/8.17.0.0:,3/8.18.4.1:a,5/8.2.0.0:"),
            (127..=128, "0/8.17.0.0:"),
            (511..=640, "3/8.18.4.1:a,5/8.2.0.0:"),
            (512..=639, ""),
        ] {
            assert_eq!(places_of_slices(&offset, &slices).to_string(), text);
        }
    }
}
