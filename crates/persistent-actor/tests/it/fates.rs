//! The answer to the asker of a command that led to several calls, by the contract: what is certain of all of them.

/// The fates of the calls of one command.
#[derive(Default)]
pub(crate) struct Fates {
    stored: bool,
    unanswered: bool,
    refused: Option<&'static str>,
    unknown: Option<&'static str>,
}

impl Fates {
    pub(crate) fn note_stored(&mut self) {
        self.stored = true;
    }

    /// Notes the fate of a call that failed.
    pub(crate) fn note(&mut self, kind: &'static str) {
        match kind {
            "StoredUnanswered" => (self.stored, self.unanswered) = (true, true),
            "Unknown" => self.unknown = self.unknown.or(Some(kind)),
            _ => self.refused = self.refused.or(Some(kind)),
        }
    }

    /// Returns the error for the asker now; `None` if nothing has failed.
    pub(crate) fn take(&mut self) -> Option<&'static str> {
        let fates = std::mem::take(self);
        if fates.unknown.is_some() {
            return fates.unknown;
        }
        match fates.refused {
            Some(_) if fates.stored => Some("PartlyStored"),
            None if fates.unanswered => Some("StoredUnanswered"),
            refused => refused,
        }
    }
}
