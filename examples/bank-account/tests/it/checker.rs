//! Compares what a bank stored with what its file says; knows nothing of the bank's own code.
//!
//! The judge of the torture knows its own applications alone, and not what a file of bookings has to lead to.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use serde::Deserialize;

/// The first line of a file of bookings.
pub(crate) const HEADER: &str = "id,account,kind,cents";

/// A line of a file of bookings.
#[derive(Clone, Debug)]
pub(crate) struct FileLine {
    pub(crate) id: String,
    pub(crate) account: String,
    pub(crate) deposit: bool,
    pub(crate) cents: u64,
}

/// Prints the line as a file has it.
impl fmt::Display for FileLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.deposit { "deposit" } else { "withdraw" };
        write!(f, "{},{},{kind},{}", self.id, self.account, self.cents)
    }
}

/// A decision that is stored.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Booking {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) cents: u64,
    pub(crate) applied: bool,
}

/// A stored decision with its number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) sequence_nr: u64,
    pub(crate) booking: Booking,
}

pub(crate) type Histories = BTreeMap<String, Vec<Entry>>;

/// Returns what the bank has to store in the end: the first decision about every id, in the file's order.
pub(crate) fn expected(lines: &[FileLine]) -> Histories {
    let mut balances = BTreeMap::<&str, u64>::new();
    let mut seen = HashSet::new();
    let mut histories = Histories::new();
    for line in lines {
        if !seen.insert((&line.account, &line.id)) {
            continue;
        }
        let balance = balances.entry(&line.account).or_default();
        let after = match line.deposit {
            true => balance.checked_add(line.cents),
            false => balance.checked_sub(line.cents),
        };
        *balance = after.unwrap_or(*balance);
        let history = histories.entry(line.account.clone()).or_default();
        history.push(Entry {
            sequence_nr: history.len() as u64 + 1,
            booking: Booking {
                id: line.id.clone(),
                kind: if line.deposit { "Deposit" } else { "Withdraw" }.to_owned(),
                cents: line.cents,
                applied: after.is_some(),
            },
        });
    }
    histories
}

/// The balance that a history adds up to.
pub(crate) fn balance(history: &[Entry]) -> u64 {
    history
        .iter()
        .filter(|entry| entry.booking.applied)
        .fold(0, |cents, entry| match entry.booking.kind.as_str() {
            "Deposit" => cents + entry.booking.cents,
            _ => cents - entry.booking.cents,
        })
}

/// The balances and the numbers of bookings that histories add up to, by account; without accounts on which nothing was
/// booked.
pub(crate) fn balances(histories: &Histories) -> BTreeMap<String, (i64, i64)> {
    let of_account = |(account, history): (&String, &Vec<Entry>)| {
        let bookings = history.iter().filter(|entry| entry.booking.applied).count();
        let cents = i64::try_from(balance(history)).unwrap();
        (account.clone(), (cents, i64::try_from(bookings).unwrap()))
    };
    let all = histories.iter().map(of_account);
    all.filter(|(_, (_, bookings))| *bookings > 0).collect()
}

/// Fails unless every stored history is the beginning of the expected one: no gap, nothing doubled, nothing out of
/// order.
pub(crate) fn check_prefix(stored: &Histories, expected: &Histories) -> Result<(), String> {
    for (account, history) in stored {
        let wanted = expected
            .get(account)
            .ok_or_else(|| format!("account {account} is not in the file"))?;
        for (index, entry) in history.iter().enumerate() {
            if wanted.get(index) != Some(entry) {
                return Err(format!(
                    "event {} of {account} is {entry:?} instead of {:?}",
                    index + 1,
                    wanted.get(index)
                ));
            }
        }
    }
    Ok(())
}

/// Fails unless the stored histories are exactly the expected ones.
pub(crate) fn check(stored: &Histories, expected: &Histories) -> Result<(), String> {
    check_prefix(stored, expected)?;
    for (account, wanted) in expected {
        let found = stored.get(account).map_or(0, Vec::len);
        if found != wanted.len() {
            return Err(format!(
                "{account} has {found} events instead of {}",
                wanted.len()
            ));
        }
    }
    Ok(())
}

/// The lines of a random file: about a third of the withdrawals ask for too much, and some lines stand there twice.
///
/// The ids begin with `prefix`.
pub(crate) fn random_file(prefix: &str, lines: usize, accounts: usize) -> Vec<FileLine> {
    let mut file: Vec<FileLine> = Vec::with_capacity(lines);
    for number in 0..lines {
        let line = if number > 10 && fastrand::u8(..) < 8 {
            file[fastrand::usize(..number)].clone()
        } else {
            FileLine {
                id: format!("{prefix}-{number}"),
                account: format!("DE-{:04}", fastrand::usize(..accounts)),
                deposit: fastrand::bool(),
                cents: fastrand::u64(1..100_000),
            }
        };
        file.push(line);
    }
    file
}

fn some_histories() -> Histories {
    expected(&random_file("tx", 500, 5))
}

#[test]
fn accepts_what_it_expects_and_every_beginning_of_it() {
    let expected = some_histories();
    assert_eq!(check(&expected, &expected), Ok(()));
    let mut shorter = expected.clone();
    for history in shorter.values_mut() {
        history.truncate(fastrand::usize(..history.len()));
    }
    assert_eq!(check_prefix(&shorter, &expected), Ok(()));
    assert!(check(&shorter, &expected).is_err());
}

#[test]
fn fails_when_an_event_is_removed_doubled_swapped_or_changed() {
    type Damage = fn(&mut Vec<Entry>, usize);
    let damages: [(&str, Damage); 6] = [
        ("removed", |history, at| drop(history.remove(at))),
        ("removed and renumbered", |history, at| {
            history.remove(at);
            for (entry, nr) in history.iter_mut().zip(1..) {
                entry.sequence_nr = nr;
            }
        }),
        ("doubled", |history, at| {
            history.insert(at, history[at].clone())
        }),
        ("doubled at the end", |history, at| {
            let mut again = history[at].clone();
            again.sequence_nr = history.len() as u64 + 1;
            history.push(again);
        }),
        ("swapped", |history, at| history.swap(at, at + 1)),
        ("decided otherwise", |history, at| {
            history[at].booking.applied = !history[at].booking.applied;
        }),
    ];
    for (name, damage) in damages {
        let expected = some_histories();
        let mut damaged = expected.clone();
        let history = damaged.values_mut().next().unwrap();
        let at = fastrand::usize(..history.len() - 2);
        damage(history, at);
        assert!(
            check(&damaged, &expected).is_err(),
            "an event was {name} at {at}"
        );
    }
}
