//! Retention deletes no event before a snapshot of it is stored.

use crate::event_stream::EventStream;
use crate::rising::Rising;
use crate::violation::{Invariant, Violations};

pub(super) fn check(events: &EventStream<'_>, violations: &mut Violations) {
    let mut saved = Rising::default();
    for save in events.saves.iter().filter(|save| save.done_at < u64::MAX) {
        saved.add(save.done_at, save.number, save.line);
    }
    // A recovery that began with a snapshot has found it stored.
    for look in events
        .looks
        .iter()
        .filter(|look| look.recovered.snapshot.is_some())
    {
        saved.add(look.until, look.snapshot(), look.line);
    }
    saved.settle();
    for deletion in events.deletions.iter().filter(|deletion| deletion.covered) {
        let newest = saved.up_to(deletion.from);
        if newest < deletion.to {
            let sentence = format!(
                "retention deleted events of {:?} up to {}, and the newest snapshot was of event {newest}",
                events.id, deletion.to
            );
            violations.add(Invariant::DeleteIsCovered, [deletion.line], sentence);
        }
    }
}
