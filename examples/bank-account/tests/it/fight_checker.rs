//! Checks what several processes that fought over the same accounts were told against what they left in the database.
//!
//! Knows nothing of how the fight went: only the events, and the receipts of each process in the order of its answers.

use std::collections::{BTreeMap, BTreeSet};

use crate::backend::StoredEvent;
use crate::receipts::Receipt;

/// How a writer is called that is not known.
const NOBODY: &str = "00000000-0000-0000-0000-000000000000";

/// What one of them was asked for and what it was told.
#[derive(Clone, Debug)]
pub(crate) struct Fighter {
    /// Account and id of every line of its file; the ids are no other fighter's.
    pub(crate) asked: BTreeSet<(String, String)>,
    pub(crate) receipts: Vec<Receipt>,
}

/// What a fight has left, with the events of each account in the order of the database.
pub(crate) struct Fight {
    pub(crate) fighters: Vec<Fighter>,
    pub(crate) events: Vec<StoredEvent>,
}

/// How hard it was.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Tally {
    /// How many conflicts were reported.
    pub(crate) conflicts: usize,
    /// How often an event of one fighter follows on an event of another.
    pub(crate) changes_of_hands: usize,
}

/// The writers of an account: who they belong to, and the highest number of each, in the order of the journal.
type Reigns<'a> = Vec<(&'a str, usize, u64)>;

/// The events of one account.
type Events<'a> = Vec<&'a StoredEvent>;

impl Fight {
    /// Whether nothing is wrong; the first fault otherwise.
    pub(crate) fn check(&self) -> Result<Tally, String> {
        let mut accounts = BTreeMap::<&str, Events>::new();
        for event in &self.events {
            accounts.entry(&event.account).or_default().push(event);
        }
        let owners = self.owners()?;
        let mut tally = Tally::default();
        for (account, events) in &accounts {
            check_numbers(account, events)?;
            check_decisions(account, events)?;
            let reigns = reigns(account, events, &owners)?;
            let changes = reigns.windows(2).filter(|pair| pair[0].1 != pair[1].1);
            tally.changes_of_hands += changes.count();
            for (number, fighter) in self.fighters.iter().enumerate() {
                fighter.check_conflicts(account, &reigns, number)?;
            }
        }
        for fighter in &self.fighters {
            fighter.check_answers(&accounts)?;
            tally.conflicts += fighter.conflicts().count();
        }
        Ok(tally)
    }

    /// Whose booking is whose.
    fn owners(&self) -> Result<BTreeMap<(&str, &str), usize>, String> {
        let mut owners = BTreeMap::new();
        for (number, fighter) in self.fighters.iter().enumerate() {
            for (account, id) in &fighter.asked {
                if owners
                    .insert((account.as_str(), id.as_str()), number)
                    .is_some()
                {
                    return Err(format!("{id} of {account} was asked for by two fighters"));
                }
            }
        }
        Ok(owners)
    }
}

/// No gap, no number twice.
fn check_numbers(account: &str, events: &Events) -> Result<(), String> {
    for (event, expected) in events.iter().zip(1..) {
        if event.sequence_nr != expected {
            let found = event.sequence_nr;
            return Err(format!(
                "{account} has the number {found} in place of {expected}"
            ));
        }
    }
    Ok(())
}

/// Everything was decided with all earlier events in mind, those of other writers too, and once.
fn check_decisions(account: &str, events: &Events) -> Result<(), String> {
    let mut cents = 0_u64;
    let mut ids = BTreeSet::new();
    for event in events {
        let booking = &event.booking;
        if !ids.insert(&booking.id) {
            return Err(format!("{} was decided twice on {account}", booking.id));
        }
        let after = match booking.kind.as_str() {
            "Deposit" => cents.checked_add(booking.cents),
            _ => cents.checked_sub(booking.cents),
        };
        if after.is_some() != booking.applied {
            return Err(format!(
                "event {} of {account} does not know the events before it: {booking:?} with a balance of {cents}",
                event.sequence_nr
            ));
        }
        cents = after.unwrap_or(cents);
    }
    Ok(())
}

/// Who wrote when; a writer that lost the account never writes again.
fn reigns<'a>(
    account: &str,
    events: &[&'a StoredEvent],
    owners: &BTreeMap<(&str, &str), usize>,
) -> Result<Reigns<'a>, String> {
    let mut reigns = Reigns::new();
    for event in events {
        let id = event.booking.id.as_str();
        let Some(&owner) = owners.get(&(account, id)) else {
            return Err(format!("nobody asked for {id} of {account}"));
        };
        match reigns
            .iter_mut()
            .find(|(writer, ..)| *writer == event.writer)
        {
            None => reigns.push((&event.writer, owner, event.sequence_nr)),
            Some((_, of, to)) if *of == owner && *to + 1 == event.sequence_nr => *to += 1,
            Some(_) => {
                return Err(format!(
                    "event {} of {account} is by writer {}, who had lost it",
                    event.sequence_nr, event.writer
                ));
            }
        }
    }
    Ok(reigns)
}

impl Fighter {
    fn of<'a>(&'a self, account: &'a str) -> impl Iterator<Item = &'a Receipt> {
        self.receipts
            .iter()
            .filter(move |receipt| receipt.account == account)
    }

    fn conflicts(&self) -> impl Iterator<Item = &Receipt> {
        self.receipts
            .iter()
            .filter(|receipt| receipt.outcome == "conflict")
    }

    /// Each line has a last answer, which is stored as it says; nothing follows on a last answer but duplicates.
    fn check_answers(&self, accounts: &BTreeMap<&str, Events>) -> Result<(), String> {
        let mut decided = BTreeMap::new();
        for receipt in &self.receipts {
            let line = (receipt.account.clone(), receipt.id.clone());
            let is_new = !decided.contains_key(&line);
            if receipt.is_final() && is_new {
                decided.insert(line, receipt);
            } else if !is_new && receipt.outcome != "duplicate" {
                return Err(format!("{receipt:?} follows on a decision"));
            }
        }
        for (account, id) in &self.asked {
            let Some(receipt) = decided.get(&(account.clone(), id.clone())) else {
                return Err(format!("{id} of {account} was never decided"));
            };
            let events = accounts
                .get(account.as_str())
                .map_or(&[][..], Vec::as_slice);
            let Some(event) = events.iter().find(|event| event.booking.id == *id) else {
                return Err(format!("{receipt:?} was told, and no event is stored"));
            };
            if receipt
                .applied()
                .is_some_and(|told| told != event.booking.applied)
            {
                return Err(format!("{receipt:?} was told, but stored is {event:?}"));
            }
        }
        Ok(())
    }

    /// Every incarnation that another took over from was told so, and wrote nothing behind that.
    fn check_conflicts(&self, account: &str, reigns: &Reigns, own: usize) -> Result<(), String> {
        let conflicts: Vec<_> = self
            .of(account)
            .filter(|receipt| receipt.outcome == "conflict")
            .collect();
        for conflict in &conflicts {
            let Some(refused) = Refused::parse(&conflict.reason) else {
                return Err(format!("{conflict:?} does not name both writers"));
            };
            if refused.writer == refused.winner {
                return Err(format!("{conflict:?} is one of a writer with itself"));
            }
            // A store may be unable to tell who was first, and where it stands then.
            let reign = reigns
                .iter()
                .filter(|_| refused.winner != NOBODY)
                .find(|(writer, ..)| *writer == refused.writer);
            if reign.is_some_and(|(.., to)| *to > refused.stored) {
                return Err(format!("the writer of {conflict:?} has written behind it"));
            }
        }
        // An incarnation may have ended by a failure of another kind, which names no writer.
        let failures = self.of(account).filter(|receipt| !receipt.is_final());
        let others = failures.count() - conflicts.len();
        let mut succeeded: Vec<_> = reigns
            .iter()
            .filter(|(_, owner, _)| *owner == own)
            .collect();
        succeeded.pop();
        let untold: Vec<_> = succeeded
            .into_iter()
            .filter(|(writer, ..)| {
                !conflicts
                    .iter()
                    .any(|conflict| conflict.reason.contains(*writer))
            })
            .collect();
        if untold.len() > others {
            return Err(format!(
                "{untold:?} of {account} ended, and nobody was told"
            ));
        }
        Ok(())
    }
}

/// What the text of a conflict says.
struct Refused<'a> {
    writer: &'a str,
    winner: &'a str,
    /// The highest number stored when it was refused.
    stored: u64,
}

impl<'a> Refused<'a> {
    fn parse(reason: &'a str) -> Option<Self> {
        let (_, text) = reason.split_once(": writer ")?;
        let (writer, text) = text.split_once(" with epoch ")?;
        let (_, text) = text.split_once("the store is at ")?;
        let (stored, text) = text.split_once(" by writer ")?;
        let (winner, _) = text.split_once(" with epoch ")?;
        Some(Self {
            writer,
            winner,
            stored: stored.parse().ok()?,
        })
    }
}

mod tests;
