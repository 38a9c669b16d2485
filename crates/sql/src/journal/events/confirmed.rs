//! A page of events that this journal stored itself, which the database confirms without returning them.

use actix_persistence_storage_api::{EventsPage, EventsQuery, Partition};

use super::{Page, Range};
use crate::journal::recent::{Kept, Recent};
use crate::row::get_integer;
use crate::values::Values;
use crate::{
    ConnectionOf, Dialect, EventQueryStatements, QueriedContent, QueriedEvent, RowOf, SqlError,
    SqlxDatabase,
};

/// The events of a range that are kept.
struct Claim<'r, 'q> {
    range: &'r Range<'q>,
    /// In the order of their places; there is one.
    events: Vec<Kept>,
}

/// The number of events between two numbers, and the sums of their numbers, less the first, and of their checksums.
#[derive(Default, PartialEq, Eq)]
struct Sums {
    events: i64,
    numbers: i64,
    checksums: i64,
}

/// Returns a page of what is kept, if the database confirms that this is all there is from the start of the page on; for a
/// database that says in the same statement how far events are complete. Otherwise the page is to be read as any other.
///
/// The database counts the events and adds up their numbers and checksums: an event of somebody else, one that was removed,
/// and one whose row was changed make another count or another sum. A number is never given to an event again; where a
/// database has lost what it had confirmed, and gives one again, the checksum is another one.
pub(super) async fn read_at_once<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &EventQueryStatements,
    query: &EventsQuery,
    recent: &Recent,
    max_bytes: usize,
) -> Result<Option<EventsPage>, SqlError> {
    let Some(sql) = &statements.complete_sums else {
        return Ok(None);
    };
    let range = Range {
        after: query.after.position(Partition::ONLY),
        up_to: i64::MAX,
        complete_to: i64::MAX,
        ..Range::EMPTY
    };
    let is_of_this_store = query.after.check(Partition::ONLY.of()).is_ok();
    if !is_of_this_store || !recent.may_be_asked_for() {
        return Ok(None);
    }
    let Some(mut claim) = Claim::of(&range, recent) else {
        return Ok(None);
    };
    if !fit([&claim], query, max_bytes) {
        return Ok(None);
    }
    let mut values = Values::<D>::with_capacity(3);
    for number in [claim.first(), claim.first(), claim.last()] {
        values.integer(number);
    }
    let rows = D::Database::fetch_all(connection, sql.clone(), values.into_arguments()).await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let up_to = get_integer::<D>(row, 0)?;
    let has_deleted_rows = get_integer::<D>(row, 1)? != 0;
    let more = get_integer::<D>(row, 2)? != 0;
    claim.events.retain(|kept| kept.ordering <= up_to);
    if has_deleted_rows || claim.sums() != Sums::of::<D>(row, 3)? {
        recent.was_not_confirmed();
        return Ok(None);
    }
    if claim.events.is_empty() {
        // Writers that are under way hold back what was stored after them.
        let none = EventsPage::new(Vec::new(), query.after.clone(), false);
        return Ok((!more).then_some(none));
    }
    Ok(Some(page(&[claim], statements, query, recent, more)))
}

/// Does the same where it is known how far events are complete, and that no rows of deleted events are left.
pub(super) async fn read<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &EventQueryStatements,
    query: &EventsQuery,
    ranges: &[Range<'_>],
    recent: &Recent,
    max_bytes: usize,
) -> Result<Option<EventsPage>, SqlError> {
    if statements.complete_sums.is_some() || !recent.may_be_asked_for() {
        return Ok(None);
    }
    let claims = ranges.iter().filter_map(|range| Claim::of(range, recent));
    let claims: Vec<_> = claims.collect();
    // Others have stored what waits in a partition without any: pages that left it out could follow on each other for ever.
    let are_all = claims.len() == ranges.len();
    if claims.is_empty() || !are_all || !fit(&claims, query, max_bytes) {
        return Ok(None);
    }
    if !are_confirmed::<D>(connection, statements, &claims).await? {
        recent.was_not_confirmed();
        return Ok(None);
    }
    let more = claims
        .iter()
        .any(|claim| claim.last() < claim.range.complete_to);
    Ok(Some(page(&claims, statements, query, recent, more)))
}

/// Returns whether events fit on one page.
fn fit<'c, 'r: 'c, 'q: 'r>(
    claims: impl IntoIterator<Item = &'c Claim<'r, 'q>>,
    query: &EventsQuery,
    max_bytes: usize,
) -> bool {
    let (mut events, mut bytes) = (0, 0);
    for kept in claims.into_iter().flat_map(|claim| &claim.events) {
        events += 1;
        bytes += kept.row.event.size();
    }
    events <= query.limit && bytes <= max_bytes
}

async fn are_confirmed<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &EventQueryStatements,
    claims: &[Claim<'_, '_>],
) -> Result<bool, SqlError> {
    let Some((sql, places)) = statements.sums.of(claims.len()) else {
        return Ok(false);
    };
    let mut values = Values::<D>::with_capacity(places * 4);
    for place in 0..places {
        let claim = claims.get(place);
        let [first, last] =
            claim.map_or([i64::MAX, i64::MIN], |claim| [claim.first(), claim.last()]);
        values.integer(first);
        if statements.partitions.is_some() {
            values.integer(claim.map_or(-1, |claim| i64::from(claim.range.partition.nr())));
        }
        values.integer(first);
        values.integer(last);
    }
    let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
    let mut left: Vec<_> = claims.iter().collect();
    for row in &rows {
        let partition = get_integer::<D>(row, 0)?;
        let sums = Sums::of::<D>(row, 1)?;
        left.retain(|claim| {
            i64::from(claim.range.partition.nr()) != partition || claim.sums() != sums
        });
    }
    Ok(left.is_empty())
}

/// Makes a page of events that are confirmed, and forgets them: the tail of a journal is read once.
fn page(
    claims: &[Claim<'_, '_>],
    statements: &EventQueryStatements,
    query: &EventsQuery,
    recent: &Recent,
    more: bool,
) -> EventsPage {
    let mut page = Page {
        events: Vec::with_capacity(claims.iter().map(|claim| claim.events.len()).sum()),
        offset: query.after.clone(),
    };
    for claim in claims {
        for event in claim.selected(query) {
            page.add(event, claim.range.partition, statements);
        }
        page.offset.pass(claim.range.partition, claim.last());
        recent.forget(claim.range.partition, claim.last());
    }
    page.into_page(more)
}

impl<'r, 'q> Claim<'r, 'q> {
    /// Returns the events of a range that are kept; `None` if there are none, or the range begins within those of one number.
    fn of(range: &'r Range<'q>, recent: &Recent) -> Option<Self> {
        let after = range.after.filter(|after| after.event.is_none())?;
        let events = recent.of(range.partition, [after.ordering, range.complete_to]);
        (!events.is_empty()).then_some(Self { range, events })
    }

    /// Returns the number from which on there are no other events, up to the last.
    fn first(&self) -> i64 {
        self.range.first_number()
    }

    fn last(&self) -> i64 {
        self.events.last().map_or(i64::MIN, |last| last.ordering)
    }

    fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        for kept in &self.events {
            sums.events += 1;
            sums.numbers = sums.numbers.wrapping_add(kept.ordering - self.first());
            sums.checksums = sums.checksums.wrapping_add(kept.row.checksum);
        }
        sums
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
