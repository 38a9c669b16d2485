//! A page of events, put together from rows of one event each.

use actix_persistence_storage_api::{
    EventRecord, PageLimit, Payload, PersistenceId, ReplayPage, ReplayRange, SequenceNr, Timestamp,
};
use futures_util::TryStreamExt;
use sqlx::SqlStr;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use crate::checksum::check_event;
use crate::options::MAX_PAYLOAD_BYTES;
use crate::row::{
    get_bytes, get_integer, get_key, get_number, get_optional_integer, get_payload,
    get_shared_text, get_writer, to_serializer_id,
};
use crate::values::{Values, to_bound};
use crate::{ConnectionOf, Dialect, RowOf, SqlError, SqlxDatabase};

/// The largest number of bytes of payload and metadata that a row may have.
///
/// No store writes a larger row, whatever limits it is opened with, so a larger one is damaged. Statements have this
/// number in the place of `{most_bytes}`, and do not read the contents of larger rows.
pub const MOST_BYTES: usize = 2 * MAX_PAYLOAD_BYTES;

/// The largest number of bytes of the manifests and the other short texts of a row; `{most_text_bytes}` in statements.
pub const MOST_TEXT_BYTES: usize = 64 * 1024;

/// Returns the error about a row that has more bytes than it may have, which were not read.
pub fn too_large(bytes: u64) -> SqlError {
    SqlError::corrupt(format!(
        "it has {bytes} bytes, which is more than was ever stored: at most {MOST_BYTES} in payload and metadata, and \
         {MOST_TEXT_BYTES} in manifests"
    ))
}

/// The statements that read a page, and their values, which are asked for each time.
pub struct PageStatements<'q, D: Dialect> {
    /// Reads a page of small events, if the database has such a statement.
    pub small: Option<SmallPageStatement<'q, D>>,
    /// Reads a page that is within its limit of bytes as a whole, which most are: then nothing need be added up row by row.
    /// No rows if it is not, and if there is no event; several at once would be of more than one moment.
    pub whole: &'q SqlStr,
    /// The values of `whole`.
    pub whole_values: &'q (dyn Fn() -> Values<D> + Sync),
    /// Reads any page. It returns at least one row for an id with metadata, and, if the database holds more events of the
    /// range than the limit allows, at least one of those beyond it.
    pub any: &'q SqlStr,
    /// The values of `any`.
    pub any_values: &'q (dyn Fn() -> Values<D> + Sync),
    /// Reads the tags of events of an id. Values: id, lowest and highest number. Returns: number and tag of each.
    pub tags: &'q SqlStr,
}

/// A statement that reads a page, but not the contents of large events.
pub struct SmallPageStatement<'q, D: Dialect> {
    /// The text, which returns any size in the place of the contents of a large event. No rows if there is no event.
    pub sql: &'q SqlStr,
    /// Its values.
    pub values: &'q (dyn Fn() -> Values<D> + Sync),
    /// The large events that were met lately.
    pub large_events: &'q LargeEvents,
}

/// The large events that pages of a journal met lately: while there are some, a statement for small ones is rarely tried.
#[derive(Debug, Default)]
pub struct LargeEvents {
    /// The number of pages that are still read without a try.
    pages: AtomicU32,
}

impl LargeEvents {
    /// The number of pages after a vain try that are read without another one.
    const PAGES: u32 = 15;

    /// Returns whether there are likely to be others, and counts a page that is read.
    fn are_expected(&self) -> bool {
        let one_less = |pages: u32| pages.checked_sub(1);
        let counted = self.pages.fetch_update(Relaxed, Relaxed, one_less);
        counted.is_ok()
    }

    /// Returns whether some were met lately.
    pub fn were_met_lately(&self) -> bool {
        self.pages.load(Relaxed) > 0
    }

    fn were_met(&self) {
        self.pages.store(Self::PAGES, Relaxed);
    }
}

/// Reads a page with statements that return a row for each event, ascending by number, and with another one its tags.
///
/// They return: deleted_to, number, timestamp, writer, adapter manifest, number of tags; serializer,
/// manifest and payload; serializer, manifest and payload of metadata; checksum or NULL; the size of the event in bytes
/// if that is more than it may have, and NULL otherwise. A number of NULL if there is no event.
///
/// The page is read again if events were removed in between.
pub async fn read_page_of_rows<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &PageStatements<'_, D>,
    id: &PersistenceId,
    limit: PageLimit,
) -> Result<ReplayPage, SqlError> {
    let mut deleted_before = None;
    let mut is_first = true;
    loop {
        let mut draft = read_some_draft::<D>(connection, statements, limit).await?;
        let tags = statements.tags;
        let Some(incomplete) = draft.fill_in_tags::<D>(connection, tags, id).await? else {
            match draft.check(id) {
                // The tags may be those of later events with the same numbers, if these were reset in between.
                Err(_) if std::mem::take(&mut is_first) && draft.has_tags() => continue,
                checked => return checked.map(|()| draft.into_page()),
            }
        };
        // Tags are removed only after what is deleted was raised, which the next reading shows.
        if deleted_before == Some(draft.deleted_to) {
            return Err(SqlError::corrupt(format!(
                "sequence number {incomplete}: it has more or fewer tags than when it was stored"
            )));
        }
        deleted_before = Some(draft.deleted_to);
    }
}

/// Reads a page without its tags by the quickest statement that can read it.
async fn read_some_draft<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &PageStatements<'_, D>,
    limit: PageLimit,
) -> Result<Draft, SqlError> {
    if let Some(small) = &statements.small
        && !small.large_events.are_expected()
    {
        match read_draft::<D>(connection, small.sql, (small.values)(), limit).await {
            Ok(draft) if draft.rows > 0 => return Ok(draft),
            Ok(_) => {}
            // If a row is wrong otherwise, the others say so.
            Err(SqlError::Refused { .. }) => small.large_events.were_met(),
            Err(error) => return Err(error),
        }
    }
    let values = (statements.whole_values)();
    let draft = read_draft::<D>(connection, statements.whole, values, limit).await?;
    if draft.rows > 0 {
        return Ok(draft);
    }
    let values = (statements.any_values)();
    read_draft::<D>(connection, statements.any, values, limit).await
}

/// Reads a page without its tags; each row is made an event, and dropped, while the database sends the next ones.
async fn read_draft<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: &SqlStr,
    values: Values<D>,
    limit: PageLimit,
) -> Result<Draft, SqlError> {
    let mut draft = Draft::new(limit);
    let mut taken = Ok(());
    let mut rows = D::Database::fetch(connection, sql.clone(), values.into_arguments());
    // The statement bounds what there is. The connection is free only after the last row.
    while let Some(row) = rows.try_next().await? {
        if taken.is_ok() {
            taken = draft.take_if_there_is_room::<D>(&row);
        }
    }
    drop(rows);
    taken.map(|()| draft)
}

/// A wish for a page of events.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// The id of the events.
    pub id: PersistenceId,
    /// The numbers of the events.
    pub range: ReplayRange,
    /// The most that the page holds.
    pub limit: PageLimit,
}

/// The statements that read pages of several ids, and their values.
pub struct SharedPageStatements<'q, D: Dialect> {
    /// Reads all events of each range, and at least one row for each request. The rows of a request are ascending by number;
    /// they have the columns of [`read_page_of_rows`], with any size of an event that is too large to be read with others,
    /// and after them the place of their request, from 1.
    pub pages: &'q SqlStr,
    /// The values of `pages`.
    pub values: Values<D>,
    /// Reads the tags of events of several requests. Returns: number and tag of each, and the place of the request.
    pub tags: &'q SqlStr,
    /// Makes the values of `tags` out of the requests with the numbers that have tags, and their places.
    pub tag_values: fn(&[TaggedEvents<'_>]) -> Values<D>,
    /// The large events that were met lately.
    pub large_events: &'q LargeEvents,
}

/// The id of some events, the lowest and the highest number of those that may have tags, and the place of their request.
pub type TaggedEvents<'q> = (&'q PersistenceId, [SequenceNr; 2], usize);

/// The most tags of a page that is read with others.
const MOST_SHARED_TAGS: usize = 1024;

/// Reads a page for each of several requests with short ranges, by one statement, as of one moment.
///
/// `None` for a request that has to be read by itself: one of its events is large, or something is wrong with a row.
pub async fn read_shared_pages<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: SharedPageStatements<'_, D>,
    requests: &[PageRequest],
) -> Result<Vec<Option<ReplayPage>>, SqlError> {
    let SharedPageStatements {
        pages,
        values,
        tags,
        tag_values,
        large_events,
    } = statements;
    let drafts = requests.iter().map(|request| Draft::new(request.limit));
    let mut drafts: Vec<_> = drafts.map(Some).collect();
    let mut rows = D::Database::fetch(connection, pages.clone(), values.into_arguments());
    while let Some(row) = rows.try_next().await? {
        let place = usize::try_from(get_number::<D>(&row, PLACE)?).unwrap_or(0);
        let Some(draft) = drafts.get_mut(place.wrapping_sub(1)) else {
            return Err(SqlError::corrupt("an event is of no request".to_owned()));
        };
        if let Some(taking) = draft
            && taking.take_if_there_is_room::<D>(&row).is_err()
        {
            if get_optional_integer::<D>(&row, SIZE)?.is_some() {
                large_events.were_met();
            }
            *draft = None;
        }
    }
    drop(rows);
    for draft in &mut drafts {
        *draft = draft
            .take()
            .filter(|draft| draft.rows > 0 && draft.tags.iter().sum::<usize>() <= MOST_SHARED_TAGS);
    }
    let mut tags = read_shared_tags::<D>(connection, tags, tag_values, requests, &drafts).await?;
    let pages = requests.iter().zip(drafts).enumerate();
    let pages = pages.map(|(place, (PageRequest { id, .. }, draft))| {
        let mut draft = draft?;
        let tags = tags.remove(&place).unwrap_or_default();
        let is_whole = draft.fill_in(tags).is_none() && draft.check(id).is_ok();
        is_whole.then(|| draft.into_page())
    });
    Ok(pages.collect())
}

/// The tags of events by their numbers.
type Tags = HashMap<SequenceNr, Vec<Arc<str>>>;

/// Reads the tags of the drafts that have some, by the places of their requests, from 0.
async fn read_shared_tags<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: &SqlStr,
    values: fn(&[TaggedEvents<'_>]) -> Values<D>,
    requests: &[PageRequest],
    drafts: &[Option<Draft>],
) -> Result<HashMap<usize, Tags>, SqlError> {
    let tagged = requests.iter().zip(drafts).enumerate();
    let tagged = tagged.filter_map(|(place, (request, draft))| {
        let numbers = draft.as_ref()?.tagged_numbers()?;
        Some((&request.id, numbers, place))
    });
    let tagged: Vec<_> = tagged.collect();
    let mut tags: HashMap<usize, Tags> = HashMap::new();
    if tagged.is_empty() {
        return Ok(tags);
    }
    let values = values(&tagged).into_arguments();
    let rows = D::Database::fetch_all(connection, sql.clone(), values).await?;
    for row in &rows {
        let place = usize::try_from(get_number::<D>(row, 2)?).unwrap_or(usize::MAX);
        add_tag::<D>(tags.entry(place).or_default(), row)?;
    }
    Ok(tags)
}

fn add_tag<D: Dialect>(tags: &mut Tags, row: &RowOf<D>) -> Result<(), SqlError> {
    let tag = Arc::from(get_key::<D>(row, 1)?);
    tags.entry(get_number::<D>(row, 0)?).or_default().push(tag);
    Ok(())
}

/// The column with the size of an event that was not read.
pub(crate) const SIZE: usize = 13;
/// The column with the place of a request.
const PLACE: usize = 14;

/// A page that may still lack its tags.
struct Draft {
    /// The number of rows that were read.
    rows: usize,
    events: Vec<EventRecord>,
    /// The number of tags of each event.
    tags: Vec<usize>,
    checksums: Vec<Option<i64>>,
    bytes: usize,
    limit: PageLimit,
    more: bool,
    deleted_to: SequenceNr,
}

impl Draft {
    fn new(limit: PageLimit) -> Self {
        Self {
            rows: 0,
            events: Vec::new(),
            tags: Vec::new(),
            checksums: Vec::new(),
            bytes: 0,
            limit,
            more: false,
            deleted_to: 0,
        }
    }

    fn take_if_there_is_room<D: Dialect>(&mut self, row: &RowOf<D>) -> Result<(), SqlError> {
        self.rows += 1;
        match self.more {
            true => Ok(()),
            false => self.take::<D>(row),
        }
    }

    /// Takes an event, unless a limit is reached.
    fn take<D: Dialect>(&mut self, row: &RowOf<D>) -> Result<(), SqlError> {
        self.deleted_to = get_number::<D>(row, 0)?;
        if get_optional_integer::<D>(row, 1)?.is_none() {
            return Ok(());
        }
        let event = to_event::<D>(row, self.events.last()).map_err(|error| {
            let number = get_number::<D>(row, 1).unwrap_or_default();
            error.about(format_args!("sequence number {number}"))
        })?;
        let size = event.payload.len() + event.metadata.as_ref().map_or(0, Payload::len);
        let bytes = self.bytes.saturating_add(size);
        let is_full = !self.events.is_empty() && bytes > self.limit.max_bytes;
        if is_full || self.events.len() >= self.limit.max_events {
            self.more = true;
            return Ok(());
        }
        let last = self.events.last().map_or(0, |last| last.sequence_nr);
        if event.sequence_nr <= last {
            let found = event.sequence_nr;
            return Err(SqlError::corrupt(format!(
                "sequence number {found} comes after {last}"
            )));
        }
        let tags = get_number::<D>(row, 5)?;
        self.tags.push(usize::try_from(tags).unwrap_or(usize::MAX));
        self.checksums.push(get_optional_integer::<D>(row, 12)?);
        self.bytes = bytes;
        self.events.push(event);
        Ok(())
    }

    /// Returns an event whose tags are not there: they go with it, so it may have been removed in between.
    async fn fill_in_tags<D: Dialect>(
        &mut self,
        connection: &mut ConnectionOf<D>,
        sql: &SqlStr,
        id: &PersistenceId,
    ) -> Result<Option<SequenceNr>, SqlError> {
        let Some([first, last]) = self.tagged_numbers() else {
            return Ok(None);
        };
        let mut values = Values::<D>::with_capacity(3);
        values.id(id);
        values.integer(to_bound(first));
        values.integer(to_bound(last));
        let rows = D::Database::fetch_all(connection, sql.clone(), values.into_arguments()).await?;
        let mut tags = Tags::new();
        for row in &rows {
            add_tag::<D>(&mut tags, row)?;
        }
        Ok(self.fill_in(tags))
    }

    /// Returns the numbers of the first event with tags and of the last event; `None` if no event has tags.
    fn tagged_numbers(&self) -> Option<[SequenceNr; 2]> {
        let mut tagged = self.tags.iter().zip(&self.events);
        let (_, first) = tagged.find(|(tags, _)| **tags > 0)?;
        let last = self.events.last().unwrap_or(first);
        Some([first.sequence_nr, last.sequence_nr])
    }

    /// Returns an event that should have other tags than these.
    fn fill_in(&mut self, mut tags: Tags) -> Option<SequenceNr> {
        for (event, expected) in self.events.iter_mut().zip(&self.tags) {
            let found = tags.remove(&event.sequence_nr).unwrap_or_default();
            if found.len() != *expected {
                return Some(event.sequence_nr);
            }
            event.tags = found;
        }
        None
    }

    fn has_tags(&self) -> bool {
        self.tags.iter().any(|tags| *tags > 0)
    }

    /// Fails at the first event that is not what was stored.
    fn check(&self, id: &PersistenceId) -> Result<(), SqlError> {
        let mut events = self.events.iter().zip(&self.checksums);
        events.try_for_each(|(event, checksum)| check_event(id, event, *checksum))
    }

    fn into_page(self) -> ReplayPage {
        ReplayPage::new(self.events, self.more, self.deleted_to)
    }
}

/// Fails if this column says that the row has more bytes than it may have.
pub(crate) fn check_size<D: Dialect>(row: &RowOf<D>, column: usize) -> Result<(), SqlError> {
    match get_optional_integer::<D>(row, column)? {
        Some(bytes) => Err(too_large(u64::try_from(bytes).unwrap_or_default())),
        None => Ok(()),
    }
}

/// Makes an event out of its row; `before` is the one before it.
pub(crate) fn to_event<D: Dialect>(
    row: &RowOf<D>,
    before: Option<&EventRecord>,
) -> Result<EventRecord, SqlError> {
    check_size::<D>(row, SIZE)?;
    to_event_of_size::<D>(row, get_number::<D>(row, 1)?, before)
}

/// Makes an event with this number out of its row, whose size was checked; `before` is the one before it.
pub(crate) fn to_event_of_size<D: Dialect>(
    row: &RowOf<D>,
    number: SequenceNr,
    before: Option<&EventRecord>,
) -> Result<EventRecord, SqlError> {
    let timestamp = Timestamp::from_micros(get_integer::<D>(row, 2)?);
    let payload = Payload {
        serializer_id: to_serializer_id(get_integer::<D>(row, 6)?)?,
        manifest: get_shared_text::<D>(row, 7, before.map(|event| &event.payload.manifest))?,
        bytes: get_bytes::<D>(row, 8)?,
    };
    let mut event = EventRecord::new(number, timestamp, get_writer::<D>(row, 3)?, payload);
    let adapter = before.map(|event| &event.adapter_manifest);
    event.adapter_manifest = get_shared_text::<D>(row, 4, adapter)?;
    if get_optional_integer::<D>(row, 9)?.is_some() {
        event.metadata = Some(get_payload::<D>(row, [9, 10, 11])?);
    }
    Ok(event)
}
