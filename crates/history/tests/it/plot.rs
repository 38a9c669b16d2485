//! A valid history into which something is planted.

use actix_persistence_history::{
    Answer, Done, History, Incarnation, Operation, Record, Recovered, Row, Uid, What,
};

use crate::random::Random;

/// A valid history into which something is planted: before its rows, in its rows or in what was said.
pub(crate) struct Plot {
    pub(crate) random: Random,
    /// The records of everything before the end.
    pub(crate) records: Vec<Record>,
    /// The rows of the end.
    pub(crate) rows: Vec<Record>,
    call: u64,
    uid: u32,
}

/// Processes that no generated history has.
pub(crate) const A: u32 = 900_001;
pub(crate) const B: u32 = 900_002;

impl Plot {
    pub(crate) fn new(history: History, seed: u64) -> Self {
        let mut records = history.records;
        let is_row = |record: &Record| matches!(record.what, What::Row(_) | What::Dumped(_));
        let end = records.iter().position(is_row).unwrap_or(records.len());
        let rows = records.split_off(end);
        Self {
            random: Random(seed),
            records,
            rows,
            call: 1 << 40,
            uid: 0,
        }
    }

    pub(crate) fn history(self) -> History {
        let mut records = self.records;
        records.extend(self.rows);
        History { records }
    }

    /// The place of a random record that fits.
    pub(crate) fn any(&mut self, fits: impl Fn(&What) -> bool) -> Option<usize> {
        let places = (0..self.records.len()).filter(|place| fits(&self.records[*place].what));
        pick(&mut self.random, places.collect())
    }

    /// The place of a random row that fits.
    pub(crate) fn any_row(&mut self, fits: impl Fn(&Row) -> bool) -> Option<usize> {
        let places = (0..self.rows.len()).filter(|place| match &self.rows[*place].what {
            What::Row(row) => fits(row),
            _ => false,
        });
        pick(&mut self.random, places.collect())
    }

    pub(crate) fn row(&mut self, place: usize) -> &mut Row {
        match &mut self.rows[place].what {
            What::Row(row) => row,
            other => panic!("{other:?} is no row"),
        }
    }

    pub(crate) fn say(&mut self, process: u32, what: What) {
        let at = self.records.last().map_or(0, |record| record.at) + 1;
        self.records.push(Record { at, process, what });
    }

    pub(crate) fn add_row(&mut self, row: Row) {
        let what = What::Row(row);
        self.rows.push(Record {
            at: u64::MAX / 2,
            process: 0,
            what,
        });
    }

    pub(crate) fn ask(&mut self, process: u32, operation: Operation) -> u64 {
        self.call += 1;
        let call = self.call;
        self.say(process, What::Invoke { call, operation });
        call
    }

    pub(crate) fn answer(&mut self, process: u32, call: u64, answer: Answer) {
        self.say(process, What::Answer { call, answer });
    }

    pub(crate) fn uid(&mut self) -> Uid {
        self.uid += 1;
        Uid::of(A, self.uid)
    }

    /// The call that this answer belongs to.
    pub(crate) fn question(&self, answer: usize) -> usize {
        let What::Answer { call, .. } = self.records[answer].what else {
            panic!("this is no answer");
        };
        let process = self.records[answer].process;
        let asks = |record: &Record| {
            record.process == process
                && matches!(record.what, What::Invoke { call: asked, .. } if asked == call)
        };
        self.records
            .iter()
            .position(asks)
            .expect("every answer has a question")
    }

    pub(crate) fn operation(&self, answer: usize) -> &Operation {
        match &self.records[self.question(answer)].what {
            What::Invoke { operation, .. } => operation,
            other => panic!("{other:?} is no question"),
        }
    }

    /// The place of a random answer that fits its question.
    pub(crate) fn any_answer(
        &mut self,
        fits: impl Fn(&Operation, &Answer) -> bool,
    ) -> Option<usize> {
        let places = (0..self.records.len()).filter(|place| match &self.records[*place].what {
            What::Answer { answer, .. } => fits(self.operation(*place), answer),
            _ => false,
        });
        let places = places.collect();
        pick(&mut self.random, places)
    }

    pub(crate) fn recovered(&mut self, answer: usize) -> &mut Recovered {
        match &mut self.records[answer].what {
            What::Answer {
                answer: Answer::Ok(Done::Recovered(recovered)),
                ..
            } => recovered,
            other => panic!("{other:?} is no recovery"),
        }
    }

    /// Returns the highest number of an id in the end, and the last deleted one.
    pub(crate) fn head(&self, name: &str) -> (u64, u64) {
        let heads = self.rows.iter().find_map(|row| match &row.what {
            What::Row(Row::Head {
                id,
                highest,
                deleted_to,
            }) if id == name => Some((*highest, *deleted_to)),
            _ => None,
        });
        heads.unwrap_or_default()
    }

    /// Adds events behind the others of an id, in the end.
    pub(crate) fn store(&mut self, name: &str, uids: &[Uid]) {
        let highest = self.head(name).0;
        for (number, uid) in (highest + 1..).zip(uids) {
            self.add_row(Row::Event {
                id: name.into(),
                number,
                uid: *uid,
            });
        }
        for row in &mut self.rows {
            if let What::Row(Row::Head { id, highest, .. }) = &mut row.what
                && id == name
            {
                *highest += uids.len() as u64;
            }
        }
    }

    /// An id with events of which some are stored in the end.
    pub(crate) fn id_with_events(&mut self) -> Option<String> {
        let place = self.any_row(|row| matches!(row, Row::Event { .. }))?;
        match self.row(place) {
            Row::Event { id, .. } => Some(id.clone()),
            _ => None,
        }
    }

    /// A recovery, behind everything else, that sees all there is.
    pub(crate) fn recover(
        &mut self,
        process: u32,
        name: &str,
        incarnation: Incarnation,
        fences: bool,
    ) {
        let (highest, deleted_to) = self.head(name);
        let recover = Operation::Recover {
            id: name.into(),
            incarnation,
            fences,
        };
        let call = self.ask(process, recover);
        let recovered = Recovered {
            highest,
            deleted_to: Some(deleted_to),
            ..Recovered::default()
        };
        self.answer(process, call, Answer::Ok(Done::Recovered(recovered)));
    }

    pub(crate) fn persist(
        &mut self,
        process: u32,
        name: &str,
        incarnation: Incarnation,
        uids: &[Uid],
    ) -> u64 {
        let persist = Operation::Persist {
            id: name.into(),
            incarnation,
            uids: uids.to_vec(),
        };
        self.ask(process, persist)
    }

    /// An id with a state in the end, its revision and its state.
    pub(crate) fn state(&mut self) -> Option<(String, u64, Option<Uid>)> {
        let place = self.any_row(|row| matches!(row, Row::State { uid: Some(_), .. }))?;
        match self.row(place) {
            Row::State { id, revision, uid } => Some((id.clone(), *revision, *uid)),
            _ => None,
        }
    }

    /// Replaces the state of an id in the end, with the row of the change.
    pub(crate) fn store_state(&mut self, name: &str, to: u64, new: Option<Uid>, change: Uid) {
        for row in &mut self.rows {
            if let What::Row(Row::State { id, revision, uid }) = &mut row.what
                && id == name
            {
                (*revision, *uid) = (to, new);
            }
        }
        self.add_row(Row::Change {
            table: "counts".into(),
            id: name.into(),
            revision: to,
            uid: Some(change),
        });
    }

    pub(crate) fn load(
        &mut self,
        process: u32,
        name: &str,
        incarnation: Incarnation,
        seen: (u64, Option<Uid>),
    ) {
        let load = Operation::Load {
            id: name.into(),
            incarnation: Some(incarnation),
        };
        let call = self.ask(process, load);
        let (revision, uid) = seen;
        self.answer(process, call, Answer::Ok(Done::Loaded { revision, uid }));
    }

    pub(crate) fn upsert(
        &mut self,
        process: u32,
        name: &str,
        incarnation: Incarnation,
        uid: Uid,
    ) -> u64 {
        let upsert = Operation::Upsert {
            id: name.into(),
            incarnation,
            revision: None,
            uid,
        };
        self.ask(process, upsert)
    }
}

fn pick(random: &mut Random, places: Vec<usize>) -> Option<usize> {
    (!places.is_empty()).then(|| places[random.below(places.len())])
}
