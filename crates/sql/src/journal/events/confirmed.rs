//! A page of events that this journal stored itself, which the database confirms without returning them.

use std::collections::{HashMap, HashSet};

use actix_persistence_storage_api::{EventsPage, EventsQuery, Partition};

use sqlx::SqlStr;

use super::Page;
use crate::journal::recent::{Kept, Recent};
use crate::parts::{Part, numbers_of};
use crate::row::{get_integer, get_optional_integer};
use crate::values::Values;
use crate::{
    ConnectionOf, Dialect, EventQueryStatements, EventSumStatements, LiteralText, QueriedContent,
    QueriedEvent, RowOf, SqlError, SqlxDatabase,
};

/// The events of a partition that are kept, from the first number that a page may return.
struct Claim {
    partition: Partition,
    first: i64,
    /// In the order of their places.
    events: Vec<Kept>,
    /// The highest number of them.
    up_to: i64,
    /// The number up to which the page has passed the partition, once it is confirmed; `None` if it is at none that was stored.
    passed: Option<i64>,
}

/// The answer of the database to claims.
struct Answer {
    has_deleted_rows: bool,
    /// True if events that no claim has can be read now.
    more: bool,
    /// The partitions without a claim in which there are such events.
    unclaimed: HashSet<Partition>,
    /// By the numbers of partitions, what it says of each.
    of_partitions: HashMap<i64, OfPartition>,
}

/// The sums of the events of a partition, from the first number of the claim up to this number.
struct OfPartition {
    up_to: i64,
    /// The highest number up to there of what was removed, or that the partition is complete to; no offset is above what was stored.
    passed: Option<i64>,
    sums: Sums,
}

/// The number of events, and the sums of their numbers, each less a base, and of their checksums.
#[derive(Default, PartialEq, Eq)]
struct Sums {
    events: i64,
    numbers: i64,
    checksums: i64,
}

/// Returns a page of what is kept, if the database confirms that this is all there is from the start of the page on. Otherwise
/// the page is to be read as any other.
///
/// The database counts the events and adds up their numbers and checksums: an event of somebody else, one that was removed,
/// and one whose row was changed make another count or another sum. A number is never given to an event again; where a
/// database has lost what it had confirmed, and gives one again, the checksum is another one.
pub(super) async fn read<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &EventQueryStatements,
    query: &EventsQuery,
    recent: &Recent,
    max_bytes: usize,
) -> Result<Option<EventsPage>, SqlError> {
    if !recent.may_be_asked_for() {
        return Ok(None);
    }
    let (partitions, slices) = (statements.partitions.as_ref(), &query.selection.slices);
    let parts = Part::complete_to(partitions, slices, &query.after, [])?;
    // Before the claims: what is kept since was under way.
    let mut own = recent.under_way();
    let claims = parts
        .iter()
        .filter_map(|part| Claim::of(part.partition, query, recent));
    let mut claims: Vec<_> = claims.collect();
    if claims.is_empty() || !fit(&claims, query, max_bytes) {
        return Ok(None);
    }
    let answer = match &statements.sums {
        EventSumStatements::OfOneOrder(sql) => {
            ask_for_one::<D>(connection, sql.clone(), &claims[0]).await?
        }
        EventSumStatements::OfPartitions(texts) => {
            let base = claims[0].first;
            let sql = text_for(texts, base, &claims, statements);
            let rows = D::Database::fetch_unprepared(connection, sql).await?;
            Answer::of_partitions::<D>(&rows, &parts, &claims, query)?
        }
    };
    let base = claims[0].first;
    let is_confirmed = claims
        .iter_mut()
        .all(|claim| claim.is_confirmed(base, &answer));
    let count = claims.iter().map(|claim| claim.events.len()).sum();
    let is_in_vain = count == 0 && answer.more;
    // Pages that left the events of others out could follow on each other for ever. Those of this journal are claimed by a later one.
    own.extend(recent.under_way());
    let others_wait = !answer.unclaimed.is_subset(&own);
    let is_confirmed = is_confirmed && !answer.has_deleted_rows && !is_in_vain && !others_wait;
    recent.was_confirmed(is_confirmed);
    if !is_confirmed {
        return Ok(None);
    }
    let mut page = Page {
        events: Vec::with_capacity(count),
        offset: query.after.clone(),
    };
    for claim in &claims {
        for event in claim.selected(query) {
            page.add(event, claim.partition, statements);
        }
        if let Some(passed) = claim.passed {
            page.offset.pass(claim.partition, passed);
            // The tail of a journal is read once.
            recent.forget(claim.partition, passed);
        }
    }
    Ok(Some(page.into_page(answer.more)))
}

/// Returns whether events fit on one page.
fn fit(claims: &[Claim], query: &EventsQuery, max_bytes: usize) -> bool {
    let (mut events, mut bytes) = (0, 0);
    for kept in claims.iter().flat_map(|claim| &claim.events) {
        events += 1;
        bytes += kept.row.event.size();
    }
    events <= query.limit && bytes <= max_bytes
}

async fn ask_for_one<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: SqlStr,
    claim: &Claim,
) -> Result<Answer, SqlError> {
    let mut values = Values::<D>::with_capacity(3);
    values.integer(claim.first);
    values.integer(claim.first);
    values.integer(claim.up_to);
    let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
    let row = rows.first().ok_or_else(no_sums)?;
    let of_partition = OfPartition {
        up_to: get_integer::<D>(row, 0)?,
        passed: get_optional_integer::<D>(row, 6)?,
        sums: Sums::of::<D>(row, 3)?,
    };
    Ok(Answer {
        has_deleted_rows: get_integer::<D>(row, 1)? != 0,
        more: get_integer::<D>(row, 2)? != 0,
        unclaimed: HashSet::new(),
        of_partitions: HashMap::from([(i64::from(claim.partition.nr()), of_partition)]),
    })
}

fn no_sums() -> SqlError {
    SqlError::corrupt("the database returned no sums of events")
}

/// Returns the text that asks how far partitions are complete, and then for the sums of claims.
fn text_for(
    [before_base, before_ranges, after_ranges]: &[SqlStr; 3],
    base: i64,
    claims: &[Claim],
    statements: &EventQueryStatements,
) -> SqlStr {
    const OF_A_RANGE: usize = 120;
    let bytes = before_base.as_str().len() + before_ranges.as_str().len();
    let bytes = statements.complete_to.as_str().len() + bytes + OF_A_RANGE * (claims.len() + 1);
    let mut text = LiteralText::new(&statements.complete_to, bytes);
    text.text("; ");
    text.sql(before_base);
    text.integer(base);
    text.sql(before_ranges);
    for (place, claim) in claims.iter().enumerate() {
        text.text(if place == 0 { "" } else { " OR " });
        text.text("(e.partition_nr = ");
        text.integer(i64::from(claim.partition.nr()));
        text.text(" AND e.ordering BETWEEN ");
        text.integer(claim.first);
        text.text(" AND ");
        text.integer(claim.up_to);
        text.text(")");
    }
    text.sql(after_ranges);
    text.into_sql()
}

impl Answer {
    /// Takes the answer out of a row for each partition of the store, and one for each with events of a claim.
    fn of_partitions<D: Dialect>(
        rows: &[RowOf<D>],
        parts: &[Part],
        claims: &[Claim],
        query: &EventsQuery,
    ) -> Result<Self, SqlError> {
        let partitions = parts.first().map_or(0, |part| part.partition.of());
        let (complete_to, sums) = rows
            .split_at_checked(usize::from(partitions))
            .ok_or_else(no_sums)?;
        let mut answer = Self {
            has_deleted_rows: false,
            more: false,
            unclaimed: HashSet::new(),
            of_partitions: HashMap::new(),
        };
        if let Some(row) = complete_to.first() {
            answer.has_deleted_rows = get_integer::<D>(row, 2)? != 0;
        }
        let complete_to: HashMap<_, _> = numbers_of::<D>(complete_to)?.into_iter().collect();
        for row in sums {
            let partition = get_integer::<D>(row, 0)?;
            let up_to = complete_to.get(&partition).copied();
            let of_partition = OfPartition {
                up_to: up_to.unwrap_or(i64::MIN),
                passed: up_to,
                sums: Sums::of::<D>(row, 1)?,
            };
            answer.of_partitions.insert(partition, of_partition);
        }
        for part in parts {
            let claim = claims
                .iter()
                .find(|claim| claim.partition == part.partition);
            let last = match claim {
                Some(claim) => Some(claim.up_to),
                None => query
                    .after
                    .position(part.partition)
                    .map(|after| after.ordering - 1),
            };
            if complete_to.get(&i64::from(part.partition.nr())).copied() > last {
                answer.more = true;
                if claim.is_none() {
                    answer.unclaimed.insert(part.partition);
                }
            }
        }
        Ok(answer)
    }
}

impl Claim {
    /// Returns the events of a partition that are kept; `None` if there are none, or the page begins within those of one number.
    fn of(partition: Partition, query: &EventsQuery, recent: &Recent) -> Option<Self> {
        let after = query.after.position(partition);
        let first = after.filter(|after| after.event.is_none())?.ordering;
        let events = recent.of(partition, first);
        let up_to = events.last()?.ordering;
        Some(Self {
            partition,
            first,
            events,
            up_to,
            passed: None,
        })
    }

    /// Gives up what is not complete yet, because of writers that are under way; returns whether what is left is all there is.
    ///
    /// The page passes by what was removed up to there, too.
    fn is_confirmed(&mut self, base: i64, answer: &Answer) -> bool {
        let Some(found) = answer.of_partitions.get(&i64::from(self.partition.nr())) else {
            return false;
        };
        self.events.retain(|kept| kept.ordering <= found.up_to);
        let last = self.events.last().map(|kept| kept.ordering);
        let passed = found.passed.map(|passed| passed.min(self.up_to));
        self.passed = last.max(passed);
        let mut sums = Sums::default();
        for kept in &self.events {
            sums.events += 1;
            sums.numbers = sums.numbers.wrapping_add(kept.ordering - base);
            sums.checksums = sums.checksums.wrapping_add(kept.row.checksum);
        }
        sums == found.sums
    }

    /// Returns the events that the query selects.
    fn selected(&self, query: &EventsQuery) -> impl Iterator<Item = QueriedEvent> {
        let selected = self.events.iter().filter(|kept| {
            let row = &kept.row;
            query.selection.selects(&row.id, &row.event)
        });
        selected.map(|kept| QueriedEvent {
            ordering: kept.ordering,
            persistence_id: kept.row.id.clone(),
            sequence_nr: kept.row.event.sequence_nr,
            content: QueriedContent::Event(kept.row.event.clone()),
        })
    }
}

impl Sums {
    /// Takes the sums out of a row, from this column on.
    fn of<D: Dialect>(row: &RowOf<D>, column: usize) -> Result<Self, SqlError> {
        Ok(Self {
            events: get_integer::<D>(row, column)?,
            numbers: get_integer::<D>(row, column + 1)?,
            checksums: get_integer::<D>(row, column + 2)?,
        })
    }
}
