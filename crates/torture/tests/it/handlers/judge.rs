//! Compares what was answered with the rows that are there in the end.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use actix_persistence_torture::Book;
use actix_persistence_torture::handlers::{
    DELETED, Expectation, FROM_INSIDE, Kind, Mischief, Outcome, PARTS, PLAIN, Plan, Record, Slip,
    TOLD_SHELF, What,
};
use serde_json::Value;

use crate::database::Place;

/// The rows, and what was found wrong.
pub(super) struct Judge<'a> {
    records: &'a [Record],
    /// Of each id, the revision and the operation of its handler's rows, in order.
    handled: BTreeMap<String, Vec<(u64, i64)>>,
    /// Of each id, its last revision, the column, and the state.
    states: BTreeMap<String, (u64, Option<i64>, Option<Slip>)>,
    /// Of each id, the number and the payload of its events, in order.
    events: BTreeMap<String, Vec<(u64, Value)>>,
    /// Of each id, the number of its snapshots, and the book in them, in order.
    snapshots: BTreeMap<String, Vec<(u64, Book)>>,
    /// The parts of each transaction.
    worked: HashMap<i64, Vec<i64>>,
    counters: Vec<u64>,
    faults: Vec<String>,
}

/// Columns as one text; the last one may be a payload.
fn columns(kind: Kind, columns: &[&str], payload: Option<&str>) -> String {
    let mut parts: Vec<String> = columns
        .iter()
        .map(|column| match kind {
            Kind::MariaDb => format!("CONVERT({column} USING utf8mb4)"),
            _ => format!("CAST({column} AS TEXT)"),
        })
        .collect();
    if let Some(payload) = payload {
        parts.push(match kind {
            Kind::Sqlite => format!("COALESCE(CAST({payload} AS TEXT), '')"),
            Kind::Postgres => format!("COALESCE(convert_from({payload}, 'UTF8'), '')"),
            Kind::MariaDb => format!("COALESCE(CONVERT({payload} USING utf8mb4), '')"),
        });
    }
    format!("CONCAT_WS(' ', {})", parts.join(", "))
}

async fn rows(place: &Place, columns: String, from: &str) -> Vec<Vec<String>> {
    let sql = format!("SELECT {columns} FROM {from}");
    let rows = place.texts(&sql).await;
    rows.into_iter()
        .map(|row| row.splitn(4, ' ').map(str::to_owned).collect())
        .collect()
}

impl<'a> Judge<'a> {
    pub(super) async fn of(place: &Place, records: &'a [Record]) -> Self {
        let kind = place.kind();
        let mut judge = Self {
            records,
            handled: BTreeMap::new(),
            states: BTreeMap::new(),
            events: BTreeMap::new(),
            snapshots: BTreeMap::new(),
            worked: HashMap::new(),
            counters: Vec::new(),
            faults: Vec::new(),
        };
        let named = columns(kind, &["persistence_id", "revision", "op"], None);
        for row in rows(place, named, "handled ORDER BY persistence_id, revision").await {
            let of_id = judge.handled.entry(row[0].clone()).or_default();
            of_id.push((row[1].parse().unwrap(), row[2].parse().unwrap()));
        }
        let named = columns(
            kind,
            &["persistence_id", "revision", "COALESCE(op, 0)"],
            Some("payload"),
        );
        for row in rows(place, named, "durable_state").await {
            let op: i64 = row[2].parse().unwrap();
            let slip = (!row[3].is_empty()).then(|| serde_json::from_str(&row[3]).unwrap());
            let state = (
                row[1].parse().unwrap(),
                Some(op).filter(|op| *op != 0),
                slip,
            );
            let other = judge.states.insert(row[0].clone(), state);
            assert!(other.is_none(), "two states of {}", row[0]);
        }
        for table in ["event_journal", "snapshot"] {
            let named = columns(
                kind,
                &["persistence_id", "sequence_nr", "1"],
                Some("payload"),
            );
            let from = format!("{table} ORDER BY persistence_id, sequence_nr");
            for row in rows(place, named, &from).await {
                let number = row[1].parse().unwrap();
                if table == "snapshot" {
                    let book = serde_json::from_str(&row[3]).unwrap();
                    let of_id = judge.snapshots.entry(row[0].clone()).or_default();
                    of_id.push((number, book));
                } else {
                    let event = serde_json::from_str(&row[3]).unwrap();
                    let of_id = judge.events.entry(row[0].clone()).or_default();
                    of_id.push((number, event));
                }
            }
        }
        let named = columns(kind, &["op", "part"], None);
        for row in rows(place, named, "worked ORDER BY op, part").await {
            let parts = judge.worked.entry(row[0].parse().unwrap()).or_default();
            parts.push(row[1].parse().unwrap());
        }
        let named = columns(kind, &["n"], None);
        for row in rows(place, named, "counters ORDER BY name").await {
            judge.counters.push(row[0].parse().unwrap());
        }
        judge
    }

    pub(super) fn faults(mut self) -> Vec<String> {
        self.check_rows_of_handlers();
        self.check_told_events();
        self.check_states();
        self.check_transactions();
        self.check_counters();
        self.check_entries();
        self.faults
    }

    /// There is a row of the handler for every revision, once, in the order in which the states followed on each other.
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

    /// Where events are stored with changes, there is one for every revision.
    fn check_told_events(&mut self) {
        for (id, (revision, ..)) in &self.states {
            if !id.starts_with(TOLD_SHELF) {
                continue;
            }
            let events = self.events.remove(id).unwrap_or_default();
            let numbers: Vec<_> = events.iter().map(|(number, _)| *number).collect();
            let expected: Vec<_> = (1..=*revision).collect();
            if numbers != expected {
                let faults = differences(&numbers, &expected);
                self.faults.push(format!(
                    "{id} is at revision {revision}, its events differ: {faults}"
                ));
            }
            for ((number, event), (_, op)) in events.iter().zip(&self.handled[id]) {
                if *op != DELETED && event["op"] != *op {
                    self.faults.push(format!(
                        "{id}: the event {number} is of {event}, the state of {op}"
                    ));
                }
            }
            self.events.insert(id.clone(), events);
        }
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
            if id.starts_with(PLAIN) {
                continue;
            }
            match (&record.outcome, plan) {
                (Outcome::Stored(revision), Some(_)) => match handled.get(&record.op) {
                    Some((_, stored)) if revision.is_none_or(|revision| revision == *stored) => {}
                    _ => fault("an acknowledged change has no row of its handler"),
                },
                (Outcome::Stored(Some(revision)), None) => {
                    if self.handled[id].get(*revision as usize - 1) != Some(&(*revision, DELETED)) {
                        fault("an acknowledged delete has no row of its handler");
                    }
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

    /// What handlers counted in rows that all of them want is counted once for each change that is stored.
    fn check_counters(&mut self) {
        let handled: BTreeSet<_> = self.handled.values().flatten().map(|(_, op)| *op).collect();
        let crossed = self.records.iter().filter(|record| {
            let (What::Put { plan, .. } | What::Transaction { plan }) = &record.what else {
                return false;
            };
            matches!(plan.mischief, Mischief::Crosses { .. })
                && (handled.contains(&record.op) || self.worked.contains_key(&record.op))
        });
        let expected = crossed.count() as u64;
        if self.counters != [expected; 2] {
            self.faults.push(format!(
                "{expected} changes that count are stored, and the counts are {:?}",
                self.counters
            ));
        }
    }

    /// Events are there once and in order, or in a snapshot that covers them.
    fn check_entries(&mut self) {
        for (id, events) in &self.events {
            let first = events.first().map_or(1, |(number, _)| *number);
            let numbers: Vec<_> = events.iter().map(|(number, _)| *number).collect();
            let expected: Vec<_> = (first..first + events.len() as u64).collect();
            let covered = self.snapshots.get(id).and_then(|all| all.last());
            let covered = covered.map_or(0, |(number, _)| *number);
            if numbers != expected || first > covered + 1 {
                let faults = differences(&numbers, &expected);
                self.faults
                    .push(format!("the events of {id} from {first} on: {faults}"));
            }
        }
        for (id, snapshots) in &self.snapshots {
            for (number, book) in snapshots {
                if let Err(fault) = book.check(*number) {
                    self.faults.push(format!("the snapshot of {id}: {fault}"));
                }
            }
        }
        let mut stored = HashMap::new();
        for (id, events) in &self.events {
            for (number, event) in events {
                let entry = (event["client"].as_u64(), event["number"].as_u64());
                if stored.insert((id.clone(), entry), *number).is_some()
                    && !id.starts_with(TOLD_SHELF)
                {
                    self.faults.push(format!("{id}: {event} is there twice"));
                }
            }
        }
        for record in self.records {
            let What::Entry { id, client, number } = &record.what else {
                continue;
            };
            let entry = (id.clone(), (Some(u64::from(*client)), Some(*number)));
            let found = stored.get(&entry).copied();
            let covered = self.snapshots.get(id).and_then(|all| all.last());
            let is_covered = covered.is_some_and(|(_, book)| book.has(*client, *number));
            let is_true = match &record.outcome {
                Outcome::Stored(Some(event)) => match found {
                    Some(found) => found == *event,
                    None => is_covered && covered.is_some_and(|(covered, _)| covered >= event),
                },
                Outcome::Stored(None) => found.is_some() || is_covered,
                Outcome::NotStored(_) => found.is_none() && !is_covered,
                Outcome::Unknown(_) => true,
            };
            if !is_true {
                self.faults.push(format!(
                    "{:?}: {:?}, and it is {found:?}, covered {is_covered}",
                    record.what, record.outcome
                ));
            }
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

/// What is missing and what is too much, of numbers in order.
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
