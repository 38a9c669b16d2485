//! The checker accepts what may happen in a fight, and finds every fault that is planted in one.

use super::*;
use crate::checker::Booking;

/// How many events each account has.
const EVENTS: u64 = 40;
/// How many of them one incarnation writes before it loses the account.
const REIGN: u64 = 4;

fn writer(account: &str, reign: u64) -> String {
    format!("{account}-writer-{reign}")
}

fn receipt(event: &StoredEvent, outcome: &str, reason: String) -> Receipt {
    Receipt {
        account: event.account.clone(),
        id: event.booking.id.clone(),
        outcome: outcome.to_owned(),
        reason,
    }
}

/// Two who take an account from each other; whoever loses is told at its next booking, which is decided later.
fn fought(account: &str, fight: &mut Fight) {
    let mut cents = 0;
    for nr in 1..=EVENTS {
        let reign = (nr - 1) / REIGN;
        let owner = (reign % 2) as usize;
        let amount = nr * 7 % 11 + 1;
        let deposit = nr % 3 != 0;
        let after = if deposit {
            Some(cents + amount)
        } else {
            u64::checked_sub(cents, 2 * amount)
        };
        let event = StoredEvent {
            account: account.to_owned(),
            sequence_nr: nr,
            writer: writer(account, reign),
            booking: Booking {
                id: format!("{owner}-{nr}"),
                kind: if deposit { "Deposit" } else { "Withdraw" }.to_owned(),
                cents: if deposit { amount } else { 2 * amount },
                applied: after.is_some(),
            },
        };
        cents = after.unwrap_or(cents);
        let fighter = &mut fight.fighters[owner];
        fighter
            .asked
            .insert((account.to_owned(), event.booking.id.clone()));
        if reign >= 2 && (nr - 1) % REIGN == 0 {
            let reason = format!(
                "not stored: could not write events: another writer was there first: writer {} with epoch 1 \
                 wanted to write sequence number {nr}, but the store is at {} by writer {} with epoch 2",
                writer(account, reign - 2),
                nr - 1,
                writer(account, reign - 1),
            );
            fighter.receipts.push(receipt(&event, "conflict", reason));
        }
        let outcome = if event.booking.applied {
            "applied"
        } else {
            "refused"
        };
        fighter
            .receipts
            .push(receipt(&event, outcome, String::new()));
        fight.events.push(event);
    }
}

fn fair_fight() -> Fight {
    let nobody = || Fighter {
        asked: BTreeSet::new(),
        receipts: Vec::new(),
    };
    let mut fight = Fight {
        fighters: vec![nobody(), nobody()],
        events: Vec::new(),
    };
    for account in ["DE-1", "DE-2", "DE-3"] {
        fought(account, &mut fight);
    }
    fight
}

/// Where an account's last events begin.
fn end_of(fight: &Fight, account: &str) -> usize {
    let is_last = |event: &StoredEvent| event.account == account && event.sequence_nr == EVENTS;
    fight.events.iter().position(is_last).unwrap()
}

fn conflict(fight: &mut Fight) -> (&mut Fighter, usize) {
    let fighter = &mut fight.fighters[1];
    let at = fighter
        .receipts
        .iter()
        .position(|receipt| receipt.outcome == "conflict");
    (fighter, at.unwrap())
}

/// An answer to a booking that was decided, changed together with what is stored or not.
fn answer_to<'a>(fight: &'a mut Fight, event: &StoredEvent) -> &'a mut Receipt {
    let mut all = fight
        .fighters
        .iter_mut()
        .flat_map(|fighter| &mut fighter.receipts);
    all.find(|receipt| {
        receipt.is_final() && receipt.account == event.account && receipt.id == event.booking.id
    })
    .unwrap()
}

#[test]
fn a_fair_fight_passes_and_is_counted() {
    let reigns = EVENTS / REIGN;
    let expected = Tally {
        conflicts: 3 * (reigns as usize - 2),
        changes_of_hands: 3 * (reigns as usize - 1),
    };
    assert_eq!(fair_fight().check(), Ok(expected));
}

#[test]
fn an_unknown_outcome_that_was_stored_passes() {
    let mut fight = fair_fight();
    let event = fight.events[7].clone();
    let answer = answer_to(&mut fight, &event);
    answer.outcome = "duplicate".to_owned();
    let unknown = Receipt {
        outcome: "unknown".to_owned(),
        ..answer.clone()
    };
    fight.fighters[1].receipts.insert(0, unknown);
    assert!(fight.check().is_ok(), "{:?}", fight.check());
}

#[test]
fn an_incarnation_that_failed_otherwise_needs_no_conflict() {
    let mut fight = fair_fight();
    let (fighter, at) = conflict(&mut fight);
    let receipt = &mut fighter.receipts[at];
    receipt.outcome = "unknown".to_owned();
    receipt.reason = "no answer in time".to_owned();
    assert!(fight.check().is_ok(), "{:?}", fight.check());
}

#[test]
fn a_conflict_with_a_writer_that_could_not_be_told_passes() {
    let mut fight = fair_fight();
    let (fighter, at) = conflict(&mut fight);
    let reason = &mut fighter.receipts[at].reason;
    let (before, _) = reason.split_once("is at").unwrap();
    *reason = format!("{before}is at 0 by writer {NOBODY} with epoch 0");
    assert!(fight.check().is_ok(), "{:?}", fight.check());
}

#[test]
fn every_planted_fault_is_found() {
    type Fault = fn(&mut Fight);
    let faults: [(&str, Fault); 14] = [
        ("nobody was told", |fight| {
            let (fighter, at) = conflict(fight);
            fighter.receipts.remove(at);
        }),
        ("does not name both", |fight| {
            let (fighter, at) = conflict(fight);
            fighter.receipts[at].reason = "another writer was there first".to_owned();
        }),
        ("with itself", |fight| {
            let (fighter, at) = conflict(fight);
            let reason = &mut fighter.receipts[at].reason;
            *reason = reason.replace("writer-2", "writer-1");
        }),
        ("written behind it", |fight| {
            let (fighter, at) = conflict(fight);
            let reason = &mut fighter.receipts[at].reason;
            *reason = reason.replace("is at 12", "is at 6");
        }),
        ("no event is stored", |fight| {
            let at = end_of(fight, "DE-2");
            fight.events.remove(at);
        }),
        ("has the number", |fight| {
            let at = end_of(fight, "DE-2");
            fight.events.remove(at - 5);
        }),
        ("has the number", |fight| {
            let at = end_of(fight, "DE-2");
            let again = fight.events[at].clone();
            fight.events.insert(at, again);
        }),
        ("decided twice", |fight| {
            let at = end_of(fight, "DE-2");
            let mut again = fight.events[at].clone();
            again.sequence_nr += 1;
            fight.events.insert(at + 1, again);
        }),
        ("does not know", |fight| {
            let at = end_of(fight, "DE-2");
            let event = &mut fight.events[at];
            event.booking.applied = !event.booking.applied;
            let event = event.clone();
            let told = if event.booking.applied {
                "applied"
            } else {
                "refused"
            };
            answer_to(fight, &event).outcome = told.to_owned();
        }),
        ("but stored is", |fight| {
            let at = end_of(fight, "DE-2");
            let event = fight.events[at].clone();
            let told = if event.booking.applied {
                "refused"
            } else {
                "applied"
            };
            answer_to(fight, &event).outcome = told.to_owned();
        }),
        ("had lost it", |fight| {
            let late = end_of(fight, "DE-2");
            fight.events[late].writer = writer("DE-2", EVENTS / REIGN - 3);
        }),
        ("nobody asked for", |fight| {
            let at = end_of(fight, "DE-2");
            fight.events[at].booking.id = "stranger".to_owned();
        }),
        ("was never decided", |fight| {
            let event = fight.events[3].clone();
            let at = fight.fighters[0]
                .receipts
                .iter()
                .position(|receipt| receipt.id == event.booking.id);
            fight.fighters[0].receipts.remove(at.unwrap());
        }),
        ("follows on a decision", |fight| {
            let event = fight.events[3].clone();
            let again = answer_to(fight, &event).clone();
            fight.fighters[0].receipts.push(again);
        }),
    ];
    for (expected, plant) in faults {
        let mut fight = fair_fight();
        plant(&mut fight);
        let found = fight.check().expect_err(expected);
        assert!(found.contains(expected), "{expected:?} is not in {found:?}");
    }
}
