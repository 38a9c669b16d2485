//! The receipts of an import: its bookings, answer by answer.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use serde::Deserialize;

use crate::checker::{Entry, Histories};

/// An answer that the import has noted.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) account: String,
    pub(crate) id: String,
    pub(crate) outcome: String,
    pub(crate) reason: String,
}

impl Receipt {
    /// Returns the decision, if that is what it says.
    pub(crate) fn applied(&self) -> Option<bool> {
        match self.outcome.as_str() {
            "applied" => Some(true),
            "refused" => Some(false),
            _ => None,
        }
    }

    /// Returns whether it is the last answer to a line: not one after which the booking is tried again.
    pub(crate) fn is_final(&self) -> bool {
        self.applied().is_some() || self.outcome == "duplicate"
    }
}

/// Reads the receipts of an import, even while it adds to them.
pub(crate) struct Receipts {
    file: PathBuf,
    /// The number of bytes read.
    bytes: u64,
    read: Vec<Receipt>,
}

impl Receipts {
    /// Returns the receipts in a file that may not exist yet.
    pub(crate) fn of(file: PathBuf) -> Self {
        Self {
            file,
            bytes: 0,
            read: Vec::new(),
        }
    }

    /// Returns all receipts there are by now.
    pub(crate) fn so_far(&mut self) -> &[Receipt] {
        if let Ok(mut file) = File::open(&self.file) {
            let mut text = Vec::new();
            file.seek(SeekFrom::Start(self.bytes)).unwrap();
            file.read_to_end(&mut text).unwrap();
            // A line may be half there while it is written.
            let whole = text
                .iter()
                .rposition(|&byte| byte == b'\n')
                .map_or(0, |end| end + 1);
            self.bytes += whole as u64;
            let mut lines = csv::ReaderBuilder::new()
                .has_headers(false)
                .from_reader(&text[..whole]);
            self.read
                .extend(lines.deserialize::<Receipt>().map(Result::unwrap));
        }
        &self.read
    }
}

/// Fails unless every booking that was acknowledged is stored, once, as it was answered.
pub(crate) fn check_acknowledged(receipts: &[Receipt], stored: &Histories) -> Result<(), String> {
    let mut decisions = BTreeMap::<(&str, &str), Vec<&Entry>>::new();
    for (account, history) in stored {
        for entry in history {
            let key = (account.as_str(), entry.booking.id.as_str());
            decisions.entry(key).or_default().push(entry);
        }
    }
    for receipt in receipts.iter().filter(|receipt| receipt.is_final()) {
        let key = (receipt.account.as_str(), receipt.id.as_str());
        let found = decisions.get(&key).map_or(&[][..], Vec::as_slice);
        let [entry] = found else {
            return Err(format!(
                "{receipt:?} was told, and {} events are stored: {found:?}",
                found.len()
            ));
        };
        if receipt
            .applied()
            .is_some_and(|told| told != entry.booking.applied)
        {
            return Err(format!("{receipt:?} was told, but stored is {entry:?}"));
        }
    }
    Ok(())
}

#[test]
fn a_lost_doubled_or_changed_acknowledgement_is_found() {
    let lines = crate::checker::random_file("tx", 200, 4);
    let stored = crate::checker::expected(&lines);
    let receipts: Vec<_> = stored
        .iter()
        .flat_map(|(account, history)| history.iter().map(move |entry| (account, entry)))
        .map(|(account, entry)| Receipt {
            account: account.clone(),
            id: entry.booking.id.clone(),
            outcome: if entry.booking.applied {
                "applied"
            } else {
                "refused"
            }
            .to_owned(),
            reason: String::new(),
        })
        .collect();
    assert_eq!(check_acknowledged(&receipts, &stored), Ok(()));

    type Damage = fn(&mut Vec<Entry>, usize);
    let damages: [Damage; 3] = [
        |history, at| drop(history.remove(at)),
        |history, at| history.push(history[at].clone()),
        |history, at| history[at].booking.applied = !history[at].booking.applied,
    ];
    for damage in damages {
        let mut damaged = stored.clone();
        let history = damaged.values_mut().next().unwrap();
        let at = fastrand::usize(..history.len());
        damage(history, at);
        assert!(check_acknowledged(&receipts, &damaged).is_err());
    }
    // Bookings that were not acknowledged may be missing.
    let mut fewer = receipts;
    let lost = fewer.pop().unwrap();
    let mut shorter = stored;
    shorter.get_mut(&lost.account).unwrap().pop();
    assert_eq!(check_acknowledged(&fewer, &shorter), Ok(()));
}
