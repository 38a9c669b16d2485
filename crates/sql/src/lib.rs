#![doc = include_str!("../README.md")]

mod journal;
mod offset_store;
mod plugin;
mod snapshot_store;
mod state_store;

mod checksum;
mod column_type;
mod connection;
mod connector;
mod dialect;
mod event_statements;
mod group;
mod ids;
mod literal_text;
mod names;
mod options;
mod page;
mod partitions;
mod parts;
mod placeholders;
mod pools;
mod refusal;
mod row;
mod schema;
mod server;
mod session;
mod sql_error;
mod sqlx_database;
mod statements;
mod table_name;
mod turns;
mod values;

pub use checksum::check_event;
pub use connection::{AtOnce, Connections, Opening, Work};
pub use connector::{Connector, Role};
pub use dialect::{
    BesideWritersTexts, ChangeEventTexts, ConnectionOf, Dialect, Driver, ErrorDialect, IndexTexts,
    JournalDialect, ProjectionDialect, ResultOf, RoleTexts, RowOf, SchemaDialect, SessionDialect,
    StateDialect, StateRows, StatementDialect, TransactionDialect, VersionTexts,
};
pub use event_statements::{
    EventQueryStatements, EventSourceStatements, EventSourceTexts, EventSumStatements, EventTexts,
};
pub use group::{Appended, EventRow, Group, Head};
pub use journal::{HintSender, QueriedContent, QueriedEvent, SqlJournal};
pub use literal_text::LiteralText;
pub use names::SqlNames;
pub use offset_store::SqlOffsetStore;
pub use options::{InvalidOption, Settings, StoreOptions, read_bytes, read_count, within};
pub use page::{
    LargeEvents, MOST_BYTES, MOST_TEXT_BYTES, PageRequest, PageStatements, SharedPageStatements,
    SmallPageStatement, TaggedEvents, read_page_of_rows, read_shared_pages, too_large,
};
pub use partitions::Partitions;
pub use placeholders::{Piece, Quoting, pieces};
pub use plugin::SqlPlugin;
pub use pools::{ConnectOptionsOf, NamedPool, Pools, ServerSource};
pub use refusal::refuses_no_json;
pub use row::{
    get_bytes, get_epoch, get_integer, get_key, get_number, get_optional_integer, get_payload,
    get_text, get_writer, to_serializer_id,
};
pub use schema::{BesideWriters, Migration, StoreSchema};
pub use server::{
    MOST_CHANGES, MOST_CHANGES_TOGETHER, Password, Secret, ServerEndpoint, ServerKind,
    ServerOptions, Tls, TlsFiles, TlsMode, percent_decoded,
};
pub use session::{refuses_type, transact};
pub use snapshot_store::SqlSnapshotStore;
pub use sql_error::{ErrorClass, SqlError, classify};
pub use sqlx_database::SqlxDatabase;
pub use state_store::{SqlStateStore, StateRow, row_was_skipped, state_counter_is_missing};
pub use statements::{
    BeginningStatements, JournalStatements, LateNumberingStatements, NumberingStatements,
    PartitionStatements, SnapshotStatements, StateStatements,
};
pub use table_name::TableName;
pub use values::{Values, to_bound, to_integer};
