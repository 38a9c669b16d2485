//! Finds events that two writers stored at the same time, by the rules of Akka's `ReplayFilter`.

use std::collections::VecDeque;

use actix_persistence_journal_actor::{ReplayFilterMode, ReplayFilterSettings};
use actix_persistence_storage_api::{EventRecord, SequenceNr, WriterId};

use crate::{ReplayIssue, ReplayIssueKind};

/// Holds the last events back, and compares each new one with them.
///
/// An event without a writer ([`WriterId::NIL`]) says nothing about who was at work: it neither takes over nor makes
/// another writer an old one, and only its number is looked at. In Akka such an event makes the writer before it old, so that a
/// store that knows the writer of some events only loses the others.
///
/// Conflicts with events that have left the window are not seen here.
pub(crate) struct ReplayFilter {
    mode: ReplayFilterMode,
    window_size: usize,
    max_old_writers: usize,
    /// The last events, ascending as long as nothing is wrong.
    window: VecDeque<EventRecord>,
    /// The writer of the last event, as far as it is known.
    writer: Option<WriterId>,
    /// The number of the last event that was in order; 0 before the first.
    last: SequenceNr,
    old_writers: VecDeque<WriterId>,
}

/// The result for an event that was offered.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Offered {
    /// The event that left the window for it; to be applied.
    pub(crate) released: Option<EventRecord>,
    /// The contradictions that were found.
    pub(crate) issues: Vec<ReplayIssue>,
}

impl ReplayFilter {
    /// `None` for a filter that is off.
    pub(crate) fn new(settings: &ReplayFilterSettings) -> Option<Self> {
        (settings.mode != ReplayFilterMode::Off).then(|| Self {
            mode: settings.mode,
            window_size: settings.window_size.max(1),
            max_old_writers: settings.max_old_writers.max(1),
            window: VecDeque::new(),
            writer: None,
            last: 0,
            old_writers: VecDeque::new(),
        })
    }

    /// Returns whether the replay has to end with the first issue.
    pub(crate) fn fails(&self) -> bool {
        self.mode == ReplayFilterMode::Fail
    }

    /// Returns whether an event with an issue is left out.
    pub(crate) fn discards(&self) -> bool {
        self.mode == ReplayFilterMode::RepairByDiscardOld
    }

    /// Takes the next event of the journal.
    pub(crate) fn offer(&mut self, event: EventRecord) -> Offered {
        let released = if self.window.len() >= self.window_size {
            self.window.pop_front()
        } else {
            None
        };
        let issues = if event.writer == WriterId::NIL || self.writer == Some(event.writer) {
            self.same_writer(event)
        } else if self.old_writers.contains(&event.writer) {
            self.old_writer(event)
        } else {
            self.new_writer(event)
        };
        Offered { released, issues }
    }

    /// Returns the next event that is still held back, once the journal has no more.
    pub(crate) fn release(&mut self) -> Option<EventRecord> {
        self.window.pop_front()
    }

    fn same_writer(&mut self, event: EventRecord) -> Vec<ReplayIssue> {
        if event.sequence_nr < self.last {
            return self.refuse(event, ReplayIssueKind::OutOfOrder);
        }
        self.last = event.sequence_nr;
        self.window.push_back(event);
        Vec::new()
    }

    fn old_writer(&mut self, event: EventRecord) -> Vec<ReplayIssue> {
        self.refuse(event, ReplayIssueKind::OldWriter)
    }

    fn new_writer(&mut self, event: EventRecord) -> Vec<ReplayIssue> {
        if let Some(old) = self.writer.replace(event.writer) {
            if self.old_writers.len() >= self.max_old_writers {
                self.old_writers.pop_front();
            }
            self.old_writers.push_back(old);
        }
        self.last = event.sequence_nr;
        let issues = self
            .window
            .iter()
            .filter(|held| held.sequence_nr >= event.sequence_nr)
            .map(|held| ReplayIssue {
                kind: ReplayIssueKind::Overtaken,
                sequence_nr: held.sequence_nr,
                writer: held.writer,
                other_writer: event.writer,
            })
            .collect();
        if self.discards() {
            self.window
                .retain(|held| held.sequence_nr < event.sequence_nr);
        }
        self.window.push_back(event);
        issues
    }

    /// Leaves the event out or lets it pass, as the mode says. Either way it does not count as the last event.
    fn refuse(&mut self, event: EventRecord, kind: ReplayIssueKind) -> Vec<ReplayIssue> {
        let issue = ReplayIssue {
            kind,
            sequence_nr: event.sequence_nr,
            writer: event.writer,
            other_writer: self.writer.unwrap_or(WriterId::NIL),
        };
        if !self.discards() {
            self.window.push_back(event);
        }
        vec![issue]
    }
}

#[cfg(test)]
mod tests;
