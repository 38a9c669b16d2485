//! The state is what its events make of it, in order.

use crate::event_stream::EventStream;
use crate::uid::fold;
use crate::violation::{Invariant, Violations};

pub(super) fn check(events: &EventStream<'_>, violations: &mut Violations) {
    // An actor that recovers without the first events folds fewer of them.
    let whole_until = events.deletions.iter().filter(|deletion| !deletion.covered);
    let whole_until = whole_until
        .map(|deletion| deletion.from)
        .min()
        .unwrap_or(u64::MAX);
    let digests = digests(events);
    let mut compare = |at: u64, number: u64, digest: u64, line: usize, what: &str| {
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        let Some(expected) = digests.get(place).filter(|_| at < whole_until) else {
            return;
        };
        if digest != *expected {
            let sentence = format!(
                "{what} of {:?} at event {number} is not what the events up to it make",
                events.id
            );
            let proof = events.at(number).map_or(line, |placed| placed.line);
            violations.add(Invariant::StateIsFold, [proof, line], sentence);
        }
    };
    for look in &events.looks {
        let recovered = look.recovered;
        if let Some(digest) = recovered.digest {
            compare(
                look.until,
                recovered.highest,
                digest,
                look.line,
                "the recovered state",
            );
        }
        if let (Some(digest), Some(number)) = (recovered.snapshot_digest, recovered.snapshot) {
            compare(
                look.until,
                number,
                digest,
                look.line,
                "the snapshot that a recovery began with",
            );
        }
    }
    for save in &events.saves {
        compare(
            save.from,
            save.number,
            save.digest,
            save.line,
            "the state in a snapshot",
        );
    }
    for (number, digest, line) in &events.snapshot_rows {
        compare(
            u64::MAX - 1,
            *number,
            *digest,
            *line,
            "the state in a stored snapshot",
        );
    }
}

/// The digest of the state after 0, 1, 2 and so on events, as far as all of them are known.
fn digests(events: &EventStream<'_>) -> Vec<u64> {
    let mut digests = vec![0];
    for placed in &events.log {
        let due = digests.len() as u64;
        if placed.number == due {
            let last = digests[digests.len() - 1];
            digests.push(fold(last, placed.uid));
        } else if placed.number > due {
            break;
        }
    }
    digests
}
