//! Compares what was answered with the rows that are there in the end; streams are judged by their history.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use crate::workers::handlers::{
    DELETED, Expectation, FROM_INSIDE, Mischief, Outcome, PARTS, PLAIN, Plan, Record, Slip,
    TOLD_SHELF, What,
};
use crate::writers::id_of;
use crate::{Place, block_on};

/// The rows, and what was found wrong.
pub(super) struct Judge<'a> {
    records: &'a [Record],
    /// The revision and the operation of the handler's rows of each id, in order.
    handled: BTreeMap<String, Vec<(u64, i64)>>,
    /// The last revision of each id, the column, and the state.
    states: BTreeMap<String, (u64, Option<i64>, Option<Slip>)>,
    /// The number and the payload of the events of each id whose changes have events, in order.
    events: BTreeMap<String, Vec<(u64, Value)>>,
    /// The parts of each transaction, in order.
    worked: HashMap<i64, Vec<i64>>,
    counters: Vec<(i64,)>,
    faults: Vec<String>,
}

impl<'a> Judge<'a> {
    pub(super) fn of(place: &Place, records: &'a [Record]) -> anyhow::Result<Self> {
        let id = id_of(place);
        let mut judge = Self {
            records,
            handled: BTreeMap::new(),
            states: BTreeMap::new(),
            events: BTreeMap::new(),
            worked: HashMap::new(),
            counters: block_on(place.rows("SELECT n FROM counters ORDER BY name"))?,
            faults: Vec::new(),
        };
        let handled = format!("SELECT {id}, t.revision, t.op FROM handled t ORDER BY 1, 2");
        let handled: Vec<(String, i64, i64)> = block_on(place.rows(&handled))?;
        for (id, revision, op) in handled {
            let of_id = judge.handled.entry(id).or_default();
            of_id.push((revision as u64, op));
        }
        let states = format!("SELECT {id}, t.revision, t.op, t.payload FROM durable_state t");
        type State = (String, i64, Option<i64>, Option<Vec<u8>>);
        let states: Vec<State> = block_on(place.rows(&states))?;
        for (id, revision, op, payload) in states {
            let slip = payload.map(|payload| serde_json::from_slice(&payload));
            let state = (revision as u64, op, slip.transpose()?);
            if judge.states.insert(id.clone(), state).is_some() {
                judge.faults.push(format!("there are two states of {id}"));
            }
        }
        let events = format!(
            "SELECT {id}, t.sequence_nr, t.payload FROM event_journal t \
             WHERE t.persistence_id LIKE '{TOLD_SHELF}|%' ORDER BY 1, 2"
        );
        let events: Vec<(String, i64, Vec<u8>)> = block_on(place.rows(&events))?;
        for (id, number, payload) in events {
            let of_id = judge.events.entry(id).or_default();
            of_id.push((number as u64, serde_json::from_slice(&payload)?));
        }
        let worked = "SELECT op, part FROM worked ORDER BY op, part";
        let worked: Vec<(i64, i64)> = block_on(place.rows(worked))?;
        for (op, part) in worked {
            judge.worked.entry(op).or_default().push(part);
        }
        Ok(judge)
    }

    pub(super) fn faults(mut self) -> Vec<String> {
        self.check_rows_of_handlers();
        self.check_told_events();
        self.check_states();
        self.check_transactions();
        self.check_counters();
        self.faults
    }

    /// Checks that the handler has one row for every revision, in the order in which the states followed on each other.
    fn check_rows_of_handlers(&mut self) {
        for (id, (revision, op, slip)) in &self.states {
            if id.starts_with(PLAIN) {
                continue;
            }
            let rows = self.handled.remove(id).unwrap_or_default();
            let revisions: Vec<_> = rows.iter().map(|(revision, _)| *revision).collect();
            let expected: Vec<_> = (1..=*revision).collect();
            if revisions != expected {
                let faults = differences(&revisions, &expected);
                self.faults.push(format!(
                    "{id} is at revision {revision}, its handler's rows differ: {faults}"
                ));
            }
            let (mut chain, mut last) = (0, None);
            for (_, op) in &rows {
                (chain, last) = match *op {
                    DELETED => (0, None),
                    op => (Slip::chained(chain, op), Some(op)),
                };
            }
            let stored = slip.as_ref().map(|slip| slip.op);
            if stored != last || *op != last {
                self.faults.push(format!(
                    "{id}: the state is of {stored:?}, its column of {op:?}, its handler's last row of {last:?}"
                ));
            }
            if slip.as_ref().is_some_and(|slip| slip.chain != chain) {
                self.faults.push(format!(
                    "{id}: the states followed on each other otherwise than the handler's rows"
                ));
            }
            self.handled.insert(id.clone(), rows);
        }
        for (id, rows) in &self.handled {
            if !self.states.contains_key(id) {
                self.faults.push(format!(
                    "{id} has {} rows of its handler and no state",
                    rows.len()
                ));
            }
        }
    }

    /// Checks that there is an event for every revision if events are stored with changes.
    fn check_told_events(&mut self) {
        for (id, (revision, ..)) in &self.states {
            if !id.starts_with(TOLD_SHELF) {
                continue;
            }
            let events = self.events.get(id).map_or(&[][..], Vec::as_slice);
            let numbers: Vec<_> = events.iter().map(|(number, _)| *number).collect();
            let expected: Vec<_> = (1..=*revision).collect();
            if numbers != expected {
                let faults = differences(&numbers, &expected);
                self.faults.push(format!(
                    "{id} is at revision {revision}, its events differ: {faults}"
                ));
            }
            for ((number, event), (_, op)) in events
                .iter()
                .zip(self.handled.get(id).into_iter().flatten())
            {
                if *op != DELETED && event["op"] != *op {
                    self.faults.push(format!(
                        "{id}: the event {number} is of {event}, the state of {op}"
                    ));
                }
            }
        }
        for id in self.events.keys() {
            if !self.states.contains_key(id) {
                self.faults.push(format!("{id} has events and no state"));
            }
        }
    }

    /// Checks what is stored at the revision at which an operation was acknowledged.
    fn check_revision(&self, record: &Record, id: &str, revision: u64) -> Option<&'static str> {
        let (last, _, slip) = self.states.get(id)?;
        let op = match record.what {
            What::Put { .. } => Some(record.op),
            What::Delete { .. } | What::Transaction { .. } => None,
        };
        if revision == *last && slip.as_ref().map(|slip| slip.op) != op {
            return Some("there is another state in the place of an acknowledged one");
        }
        let mut events = self.events.get(id)?.iter();
        let (_, event) = events.find(|(number, _)| *number == revision)?;
        (event["op"] != record.op)
            .then_some("there is another event in the place of an acknowledged one")
    }

    fn check_states(&mut self) {
        let mut handled = HashMap::new();
        for (id, rows) in &self.handled {
            for (revision, op) in rows {
                let other = (*op != DELETED).then(|| handled.insert(*op, (id, *revision)));
                if other.flatten().is_some() {
                    self.faults
                        .push(format!("the operation {op} is stored twice"));
                }
            }
        }
        for record in self.records {
            let (What::Put { id, .. } | What::Delete { id }) = &record.what else {
                continue;
            };
            let plan = match &record.what {
                What::Put { plan, .. } => Some(plan),
                _ => None,
            };
            let last = self.states.get(id).map_or(0, |(revision, ..)| *revision);
            let displaced = match record.outcome {
                Outcome::Stored(Some(revision)) => self.check_revision(record, id, revision),
                _ => None,
            };
            let mut fault = |what: &str| {
                self.faults.push(format!(
                    "{what}: {:?} ({}): {:?}",
                    record.what, record.op, record.outcome
                ));
            };
            if let Outcome::Stored(Some(revision)) = record.outcome
                && revision > last
            {
                fault("an acknowledged state is not there");
            }
            if let Some(what) = displaced {
                fault(what);
            }
            if id.starts_with(PLAIN) {
                continue;
            }
            match (&record.outcome, plan) {
                (Outcome::Stored(revision), Some(_)) => match handled.get(&record.op) {
                    Some((_, stored)) if revision.is_none_or(|revision| revision == *stored) => {}
                    _ => fault("an acknowledged change has no row of its handler"),
                },
                (Outcome::Stored(Some(revision)), None)
                    if !self
                        .handled
                        .get(id)
                        .is_some_and(|rows| rows.contains(&(*revision, DELETED))) =>
                {
                    fault("an acknowledged delete has no row of its handler");
                }
                (Outcome::NotStored(_), Some(_)) if handled.contains_key(&record.op) => {
                    fault("a refused change is there");
                }
                _ => {}
            }
            if let Some(plan) = plan {
                let is_stored = handled.contains_key(&record.op);
                check_expectation(plan, &record.outcome, is_stored, &mut fault);
            }
        }
    }

    /// Every transaction is there whole or not at all.
    fn check_transactions(&mut self) {
        let all: Vec<_> = (1..=PARTS).collect();
        let records: HashMap<_, _> = self
            .records
            .iter()
            .map(|record| (record.op, record))
            .collect();
        for (op, parts) in &self.worked {
            let record = records.get(op);
            let may_be_partial = record.is_some_and(|record| match &record.what {
                What::Transaction { plan } => {
                    use Expectation::{AnythingInPart, NeverAcknowledged};
                    matches!(plan.expected, AnythingInPart | NeverAcknowledged)
                        && matches!(record.outcome, Outcome::Unknown(_))
                }
                _ => false,
            });
            let parts_are_single = parts.iter().collect::<BTreeSet<_>>().len() == parts.len();
            let is_known = record.is_some() || *op <= FROM_INSIDE;
            if !is_known || !parts_are_single || (*parts != all && !may_be_partial) {
                self.faults.push(format!(
                    "the transaction {op} has left {parts:?}: {record:?}"
                ));
            }
        }
        for record in self.records {
            let What::Transaction { plan } = &record.what else {
                continue;
            };
            let is_stored = self.worked.contains_key(&record.op);
            let mut fault = |what: &str| {
                self.faults.push(format!(
                    "{what}: {plan:?} ({}): {:?}",
                    record.op, record.outcome
                ));
            };
            match &record.outcome {
                Outcome::Stored(_) if !is_stored => {
                    fault("an acknowledged transaction is not there")
                }
                Outcome::NotStored(_) if is_stored => fault("a refused transaction is there"),
                _ => {}
            }
            check_expectation(plan, &record.outcome, is_stored, &mut fault);
        }
    }

    /// Checks that the rows that all handlers want count each stored change once.
    fn check_counters(&mut self) {
        let handled: BTreeSet<_> = self.handled.values().flatten().map(|(_, op)| *op).collect();
        let crossed = self.records.iter().filter(|record| {
            let (What::Put { plan, .. } | What::Transaction { plan }) = &record.what else {
                return false;
            };
            matches!(plan.mischief, Mischief::Crosses { .. })
                && (handled.contains(&record.op) || self.worked.contains_key(&record.op))
        });
        let expected = crossed.count() as i64;
        if self.counters != [(expected,); 2] {
            self.faults.push(format!(
                "{expected} changes that count are stored, and the counts are {:?}",
                self.counters
            ));
        }
    }
}

fn check_expectation(
    plan: &Plan,
    outcome: &Outcome,
    is_stored: bool,
    fault: &mut impl FnMut(&str),
) {
    let is_acknowledged = matches!(outcome, Outcome::Stored(_));
    match plan.expected {
        Expectation::NeverStored if is_stored => fault("what can only be refused is there"),
        Expectation::NeverStored | Expectation::NeverAcknowledged if is_acknowledged => {
            fault("what can only be refused is acknowledged");
        }
        _ => {}
    }
}

/// Says which numbers are missing and which are too many, of numbers in order.
fn differences(found: &[u64], expected: &[u64]) -> String {
    let mut doubled = found.to_vec();
    doubled.dedup();
    let [there, wanted] = [found, expected].map(|numbers| numbers.iter().collect::<BTreeSet<_>>());
    format!(
        "{:?} lack, {:?} are too much, {} are there twice",
        wanted.difference(&there).take(10).collect::<Vec<_>>(),
        there.difference(&wanted).take(10).collect::<Vec<_>>(),
        found.len() - doubled.len()
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    const OP: i64 = 7;

    /// Judges an operation that was acknowledged at revision 1, and what is stored of its id.
    fn faults(id: &str, stored: i64, event: Option<i64>) -> Vec<String> {
        let plan = Plan::plain();
        let id = id.to_owned();
        let record = Record {
            op: OP,
            what: What::Put {
                id: id.clone(),
                plan: plan.clone(),
            },
            outcome: Outcome::Stored(Some(1)),
            took: Duration::ZERO,
        };
        let chain = Slip::chained(0, stored);
        let slip = Slip {
            op: stored,
            chain,
            plan,
        };
        let has_handler = !id.starts_with(PLAIN);
        let handled = has_handler.then(|| (id.clone(), vec![(1, stored)]));
        let event = event.map(|op| (id.clone(), vec![(1, json!({ "op": op }))]));
        let judge = Judge {
            records: &[record],
            handled: handled.into_iter().collect(),
            states: BTreeMap::from([(id, (1, has_handler.then_some(stored), Some(slip)))]),
            events: event.into_iter().collect(),
            worked: HashMap::new(),
            counters: vec![(0,); 2],
            faults: Vec::new(),
        };
        judge.faults()
    }

    #[test]
    fn what_was_acknowledged_is_what_is_stored_at_its_revision() {
        let none: [String; 0] = [];
        assert_eq!(faults("Plain|1", OP, None), none);
        assert_eq!(faults("ToldShelf|1", OP, Some(OP)), none);
        let other = faults("Plain|1", OP + 1, None);
        assert!(other[0].starts_with("there is another state"), "{other:?}");
        let other = faults("ToldShelf|1", OP, Some(OP + 1));
        assert!(
            other
                .iter()
                .any(|says| says.starts_with("there is another event")),
            "{other:?}"
        );
    }

    #[test]
    fn an_event_without_its_state_is_found() {
        let judge = Judge {
            records: &[],
            handled: BTreeMap::new(),
            states: BTreeMap::new(),
            events: BTreeMap::from([("ToldShelf|1".to_owned(), vec![(1, json!({ "op": OP }))])]),
            worked: HashMap::new(),
            counters: vec![(0,); 2],
            faults: Vec::new(),
        };
        assert_eq!(judge.faults(), ["ToldShelf|1 has events and no state"]);
    }
}
