//! Storing a group by one text, with the values in it: one trip to the server where statements that are prepared take
//! one each, and more where the number of rows is no power of two.
//!
//! The text begins the transaction and does not commit it: what was not as expected is found before that.

use std::collections::HashMap;
use std::sync::Arc;

use actix_persistence_sql::{EventRow, Group, LiteralText, SqlError, get_integer};
use actix_persistence_storage_api::Payload;
use futures_util::TryStreamExt;
use sqlx::{Either, Executor, MySqlConnection};

use super::slices;
use crate::Mysql;
use crate::journal::numbering::{Wanted, missing};
use crate::queries::{JournalQueries, MANY_BYTES};

/// The most bytes of a row beside its texts and payloads.
const BYTES_BESIDE: usize = 512;

/// Returns whether [`begin_and_append`] is meant for a group: events of ids that their writers hold, and few bytes.
pub(crate) fn stores(group: &Group) -> bool {
    !group.takes_over() && !group.events.is_empty() && text_bytes(group) <= MANY_BYTES
}

/// Begins a transaction and stores all events in it; returns their numbers, or none if the group does not ask for them. `None`
/// if an id is not as expected, and the transaction must be rolled back.
pub(super) async fn begin_and_append(
    connection: &mut MySqlConnection,
    queries: &JournalQueries,
    group: &Group,
) -> Result<Option<Vec<i64>>, SqlError> {
    let Text {
        text,
        counts,
        only,
        wanted,
    } = Text::of(queries, group)?;
    let mut results = connection.fetch_many(sqlx::raw_sql(text.into_sql()));
    let mut counts = counts.into_iter();
    let mut result = Ok(true);
    let mut newest = Vec::new();
    // To the end, even after a count that is wrong: the answers would be taken for those of the next statement.
    loop {
        match results.try_next().await {
            Ok(None) => break,
            Ok(Some(Either::Right(row))) => {
                let partitions = 0..wanted.used().count();
                let numbers = partitions.map(|place| get_integer::<Mysql>(&row, place));
                newest = numbers.collect::<Result<_, _>>().unwrap_or_default();
            }
            Ok(Some(Either::Left(done))) => {
                let found = done.rows_affected();
                let expected = counts.next().flatten();
                if only.is_some()
                    && matches!(
                        expected,
                        Some(Count {
                            of: Counted::Numbered,
                            ..
                        })
                    )
                {
                    newest = i64::try_from(done.last_insert_id()).into_iter().collect();
                }
                if result.as_ref().is_ok_and(|all| *all)
                    && let Some(expected) = expected
                    && found != expected.rows
                {
                    result = expected.otherwise(found);
                }
            }
            Err(error) => {
                let error = SqlError::from(error);
                // A statement that fails because of one before it says less: rows of an id that lost may be there
                // already, and without a counter there is no number.
                let is_known = !matches!(result, Ok(true)) && error.reported().is_some();
                return if is_known {
                    result.map(|_| None)
                } else {
                    Err(error)
                };
            }
        }
    }
    if result.as_ref().is_ok_and(|all| *all) && counts.next().is_some() {
        return Err(SqlError::corrupt(
            "the server did not answer all statements",
        ));
    }
    Ok(result?.then(|| numbers_of(&wanted, &newest)))
}

/// Returns the number of each event, out of the newest of each partition that has some; none without these.
fn numbers_of(wanted: &Wanted, newest: &[i64]) -> Vec<i64> {
    let newest: HashMap<i64, i64> = wanted
        .used()
        .map(|(partition, _)| partition)
        .zip(newest.iter().copied())
        .collect();
    let numbers = wanted.places().map(|(partition, before)| {
        let newest = newest.get(&partition)?;
        Some(newest - before)
    });
    numbers.collect::<Option<_>>().unwrap_or_default()
}

/// The number of rows that a statement must count.
#[derive(Clone, Copy)]
struct Count {
    rows: u64,
    of: Counted,
}

#[derive(Clone, Copy)]
enum Counted {
    /// Ids, twice each.
    Raised,
    Numbered,
    Inserted,
}

impl Count {
    /// Returns what another number means.
    fn otherwise(self, found: u64) -> Result<bool, SqlError> {
        match self.of {
            Counted::Raised => Ok(false),
            Counted::Numbered => Err(missing()),
            Counted::Inserted => Err(SqlError::corrupt(format!(
                "the database inserted {found} of {} rows",
                self.rows
            ))),
        }
    }
}

/// A text, and what each of its statements must count.
struct Text {
    text: LiteralText,
    counts: Vec<Option<Count>>,
    /// The partition of all events, and their number, if the newest number is at hand as the id of an insert: there is one
    /// partition and one insert. A column that an application has added may number its rows, and takes that id.
    only: Option<(i64, i64)>,
    wanted: Wanted,
}

impl Text {
    fn of(queries: &JournalQueries, group: &Group) -> Result<Self, SqlError> {
        let statements = &queries.text;
        let [begin_and_raise, _] = &statements.begin_and_raise;
        let text = LiteralText::new(begin_and_raise, text_bytes(group));
        let wanted = Wanted::by(&queries.counters, slices(group))?;
        let has_tags = group.events.iter().any(|row| !row.event.tags.is_empty());
        let mut text = Self {
            text,
            counts: vec![None],
            only: wanted.only().filter(|_| !has_tags),
            wanted,
        };
        text.add_heads(queries, group);
        text.add_numbers(queries);
        text.add_events(queries, group);
        text.add_tags(queries, group);
        if group.asks_numbers && text.only.is_none() {
            text.add_question();
        }
        Ok(text)
    }

    fn counts(&mut self, rows: usize, of: Counted) {
        self.counts.push(Some(Count {
            rows: rows as u64,
            of,
        }));
    }

    fn add_heads(&mut self, queries: &JournalQueries, group: &Group) {
        let [_, after] = &queries.text.begin_and_raise;
        let text = &mut self.text;
        for (place, head) in group.heads.iter().enumerate() {
            text.text(if place == 0 { "(" } else { ", (" });
            text.bytes(head.id.as_str().as_bytes());
            for number in [head.last, head.before, 0, head.epoch] {
                text.text(", ");
                text.integer(number);
            }
            text.text(", '')");
        }
        text.sql(after);
        self.counts(2 * group.heads.len(), Counted::Raised);
    }

    /// Numbers the events, so that the newest number of each partition is at hand: as the id of an insert, or in
    /// variables.
    fn add_numbers(&mut self, queries: &JournalQueries) {
        self.text.text("; ");
        match self.only {
            Some((partition, number)) => {
                let [before, between, after] = &queries.text.number_one;
                let text = &mut self.text;
                text.sql(before);
                text.integer(number);
                text.sql(between);
                text.integer(partition);
                text.sql(after);
                self.counts(1, Counted::Numbered);
            }
            None => self.add_numbers_of_many(queries),
        }
    }

    fn add_numbers_of_many(&mut self, queries: &JournalQueries) {
        let [before, between, after] = &queries.text.number_many;
        let (text, wanted) = (&mut self.text, &self.wanted);
        text.sql(before);
        for (partition, number) in wanted.used() {
            text.text(" WHEN ");
            text.integer(partition);
            text.text(" THEN ");
            text.integer(number);
        }
        text.sql(between);
        for (place, (partition, _)) in wanted.used().enumerate() {
            text.text(if place == 0 { "" } else { ", " });
            text.integer(partition);
        }
        text.sql(after);
        let [before, after] = &queries.text.newest;
        for (place, (partition, _)) in wanted.used().enumerate() {
            text.text(if place == 0 { "; SET " } else { ", " });
            add_variable(text, partition);
            text.text(" = ");
            text.sql(before);
            text.integer(partition);
            text.sql(after);
        }
        let partitions = wanted.used().count();
        self.counts(partitions, Counted::Numbered);
        self.counts.push(None);
    }

    /// Asks for the newest numbers, in the order of partitions.
    fn add_question(&mut self) {
        let text = &mut self.text;
        for (place, (partition, _)) in self.wanted.used().enumerate() {
            text.text(if place == 0 { "; SELECT " } else { ", " });
            add_variable(text, partition);
        }
        self.counts.push(None);
    }

    fn add_events(&mut self, queries: &JournalQueries, group: &Group) {
        let with_metadata = group.events.iter().any(|row| row.event.metadata.is_some());
        let (text, only, wanted) = (&mut self.text, self.only, &self.wanted);
        text.text("; ");
        text.sql(if with_metadata {
            &queries.text.insert_events_with_metadata
        } else {
            &queries.text.insert_events
        });
        for (place, (row, (partition, before))) in
            group.events.iter().zip(wanted.places()).enumerate()
        {
            let event = &row.event;
            text.text(if place == 0 { "(" } else { ", (" });
            text.bytes(row.id.as_str().as_bytes());
            text.text(", ");
            text.integer(row.sequence_nr());
            text.text(", ");
            add_ordering(text, only, partition, before);
            let bytes = event.payload.len() + event.metadata.as_ref().map_or(0, Payload::len);
            add_integers(
                text,
                &[i64::from(row.slice), partition, event.timestamp.as_micros()],
            );
            text.text(", ");
            text.bytes(event.writer.as_bytes());
            add_integers(text, &[i64::from(event.payload.serializer_id)]);
            add_text(text, &event.payload.manifest);
            add_text(text, &event.adapter_manifest);
            let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
            add_integers(
                text,
                &[number(event.tags.len()), number(bytes), row.checksum],
            );
            text.text(", ");
            text.bytes(&event.payload.bytes);
            if with_metadata {
                add_metadata(text, event.metadata.as_ref());
            }
            text.text(")");
        }
        self.counts(group.events.len(), Counted::Inserted);
    }

    fn add_tags(&mut self, queries: &JournalQueries, group: &Group) {
        let (text, only, wanted) = (&mut self.text, self.only, &self.wanted);
        let mut number = 0;
        for (row, (partition, before)) in group.events.iter().zip(wanted.places()) {
            for tag in &row.event.tags {
                if number == 0 {
                    text.text("; ");
                    text.sql(&queries.text.insert_tags);
                }
                text.text(if number == 0 { "(" } else { ", (" });
                number += 1;
                text.bytes(tag.as_bytes());
                add_integers(text, &[partition]);
                text.text(", ");
                add_ordering(text, only, partition, before);
                add_integers(text, &[i64::from(row.slice)]);
                text.text(")");
            }
        }
        if number > 0 {
            self.counts(number, Counted::Inserted);
        }
    }
}

fn add_variable(text: &mut LiteralText, partition: i64) {
    text.text("@actix_newest_");
    text.integer(partition);
}

/// Adds the number of an event, which is so many before the newest of its partition.
fn add_ordering(text: &mut LiteralText, only: Option<(i64, i64)>, partition: i64, before: i64) {
    match only {
        Some(_) => text.text("LAST_INSERT_ID()"),
        None => add_variable(text, partition),
    }
    text.text(" - ");
    text.integer(before);
}

fn add_integers(text: &mut LiteralText, values: &[i64]) {
    for value in values {
        text.text(", ");
        text.integer(*value);
    }
}

fn add_text(text: &mut LiteralText, value: &Arc<str>) {
    text.text(", _utf8mb4 ");
    text.bytes(value.as_bytes());
}

fn add_metadata(text: &mut LiteralText, metadata: Option<&Payload>) {
    let Some(metadata) = metadata else {
        return text.text(", NULL, NULL, NULL");
    };
    add_integers(text, &[i64::from(metadata.serializer_id)]);
    add_text(text, &metadata.manifest);
    text.text(", ");
    text.bytes(&metadata.bytes);
}

/// Returns the size of the text of a group, at most.
fn text_bytes(group: &Group) -> usize {
    let of_rows = group.events.iter().map(text_bytes_of);
    of_rows.sum::<usize>() + BYTES_BESIDE
}

/// Returns the same of an event: two digits for each byte of what it holds, its id once more for its head, and numbers.
fn text_bytes_of(row: &EventRow) -> usize {
    let event = &row.event;
    let tags = event
        .tags
        .iter()
        .map(|tag| 2 * tag.len() + BYTES_BESIDE / 2);
    let metadata = event.metadata.as_ref();
    let metadata = metadata.map_or(0, |metadata| metadata.len() + metadata.manifest.len());
    let texts = event.payload.manifest.len() + event.adapter_manifest.len();
    let bytes = 2 * row.id.as_str().len() + texts + event.payload.len() + metadata;
    2 * bytes + BYTES_BESIDE + tags.sum::<usize>()
}
