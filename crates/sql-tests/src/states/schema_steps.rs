//! The application's own tables, made step by step beside those of a state store.

use actix_persistence_storage_api::{
    SchemaStep, SchemaSteps, Section, StateExtensions, StorageError, StorageErrorKind,
};
use futures_util::future::join_all;

use crate::Tables;
use crate::steps::{assert_error, chain};

/// Makes a test of each function here that needs nothing but tables; the expression makes tables of a test's own.
#[macro_export]
macro_rules! test_schema_steps {
    ($tables:expr) => {
        $crate::test_functions! { $tables; states::schema_steps;
            each_step_of_an_application_runs_once
            a_step_that_fails_is_named_and_can_be_mended
            a_step_that_has_run_is_never_another_one
            steps_that_have_not_run_are_named_without_auto_initialize
            a_table_of_the_steps_that_is_lost_is_named
            a_table_that_no_step_makes_is_missed_by_the_first_start
            mistakes_in_schema_steps_are_found_before_anything_is_opened
            an_index_of_an_additional_column_is_made_after_the_column
            the_printed_steps_make_what_the_store_expects;
            processes_that_run_the_steps_at_once_run_each_once
        }
    };
}

const CREATE: &str =
    "CREATE TABLE customer_order (id BIGINT PRIMARY KEY, customer VARCHAR(50) NOT NULL)";
const FILL: &str = "INSERT INTO customer_order VALUES (1, 'ann')";

/// Returns the first three of the steps that make orders.
fn orders() -> [SchemaStep; 3] {
    [
        SchemaStep::new(CREATE),
        SchemaStep::new(FILL),
        SchemaStep::index("order_by_customer", "customer_order", "customer"),
    ]
}

/// Returns extensions with these steps under the name `orders`.
pub fn with_steps(steps: impl IntoIterator<Item = SchemaStep>) -> StateExtensions {
    let mut extensions = StateExtensions::default();
    let steps = SchemaSteps::new("orders", steps);
    extensions.schema_steps = vec![steps.with_tables(["customer_order"])];
    extensions
}

/// Opens a state store with these extensions.
///
/// # Errors
/// If it cannot be opened.
pub async fn open(tables: &dyn Tables, extensions: &StateExtensions) -> Result<(), StorageError> {
    open_with(tables, tables.section(), extensions).await
}

async fn open_with(
    tables: &dyn Tables,
    section: Section,
    extensions: &StateExtensions,
) -> Result<(), StorageError> {
    let made = tables.plugin().state_store(&section, extensions);
    let store = made.expect("the section is that of a state store");
    let opened = store.initialize().await;
    store.close().await;
    opened
}

fn assert_mismatch(opened: Result<(), StorageError>, says: &str) {
    let error = opened.expect_err("the steps do not fit");
    assert_error(&error, StorageErrorKind::SchemaMismatch, says);
}

const ORDERS: &str = "SELECT COUNT(*) FROM customer_order";
const HAVE_RUN: &str =
    "SELECT COUNT(*) FROM actix_persistence_schema WHERE component = 'application: orders'";

/// Whatever the number of starts, and of steps that are new.
pub async fn each_step_of_an_application_runs_once(tables: &dyn Tables) {
    for number in [1, 1, 2, 3, 3] {
        let extensions = with_steps(orders().into_iter().take(number));
        open(tables, &extensions).await.unwrap();
        assert_eq!(tables.number(HAVE_RUN).await, number as i64);
    }
    assert_eq!(tables.number(ORDERS).await, 1);
    assert_mismatch(
        open(tables, &with_steps(orders().into_iter().take(2))).await,
        "step 3 of the schema steps 'orders' has run in this database, and this program has 2; use a newer program",
    );
}

/// Step 2 of 3; what is mended goes on there.
pub async fn a_step_that_fails_is_named_and_can_be_mended(tables: &dyn Tables) {
    let broken = SchemaStep::new("INSERT INTO custmer_order VALUES (1, 'ann')");
    let [create, fill, index] = orders();
    let steps = with_steps([create.clone(), broken, index.clone()]);
    // The second start finds what the first one left.
    for _ in 0..2 {
        let error = open(tables, &steps).await.unwrap_err();
        let says = "step 2 of the schema steps 'orders' failed";
        assert_error(&error, StorageErrorKind::SchemaMismatch, says);
        assert!(chain(&error).contains("custmer_order"), "{}", chain(&error));
    }
    open(tables, &with_steps([create, fill, index]))
        .await
        .unwrap();
    assert_eq!(tables.number(ORDERS).await, 1);
    assert_eq!(tables.number(HAVE_RUN).await, 3);
}

/// Neither another text, nor another place; white space is nothing.
pub async fn a_step_that_has_run_is_never_another_one(tables: &dyn Tables) {
    let [create, fill, _] = orders();
    open(tables, &with_steps([create.clone(), fill.clone()]))
        .await
        .unwrap();
    let other = SchemaStep::new("INSERT INTO customer_order VALUES (1, 'bob')");
    assert_mismatch(
        open(tables, &with_steps([create.clone(), other])).await,
        "step 2 of the schema steps 'orders' is not the one that has run",
    );
    assert_mismatch(
        open(tables, &with_steps([fill, create.clone()])).await,
        "step 1 of the schema steps 'orders' is not the one that has run",
    );
    let laid_out = SchemaStep::new("INSERT INTO customer_order\r\n    VALUES (1, 'ann')\n");
    open(tables, &with_steps([create, laid_out])).await.unwrap();
}

/// They are run by a person then.
pub async fn steps_that_have_not_run_are_named_without_auto_initialize(tables: &dyn Tables) {
    let section = tables.section().with("auto-initialize", false);
    open(tables, &with_steps(orders().into_iter().take(1)))
        .await
        .unwrap();
    let all = with_steps(orders());
    assert_mismatch(
        open_with(tables, section.clone(), &all).await,
        "the steps 2 to 3 of the schema steps 'orders' have not run in this database; set 'auto-initialize = true' once",
    );
    open(tables, &all).await.unwrap();
    open_with(tables, section, &all).await.unwrap();
}

/// As after a restore of some tables.
pub async fn a_table_of_the_steps_that_is_lost_is_named(tables: &dyn Tables) {
    open(tables, &with_steps(orders())).await.unwrap();
    tables.run("DROP TABLE customer_order").await;
    assert_mismatch(
        open(tables, &with_steps(orders())).await,
        "the table 'customer_order' is missing, although the schema steps 'orders' have run",
    );
}

/// The steps have run and cannot be taken back everywhere, and the next start says the same.
pub async fn a_table_that_no_step_makes_is_missed_by_the_first_start(tables: &dyn Tables) {
    let mut extensions = StateExtensions::default();
    let steps = SchemaSteps::new("orders", orders_of_one());
    extensions.schema_steps = vec![steps.with_tables(["customer_ordr"])];
    for _ in 0..2 {
        let opened = open(tables, &extensions).await;
        assert_mismatch(opened, "the table 'customer_ordr' is missing");
    }
}

/// They are wrong whatever is in the database.
pub async fn mistakes_in_schema_steps_are_found_before_anything_is_opened(tables: &dyn Tables) {
    let named = |name: &str, steps: Vec<SchemaStep>| {
        let mut extensions = StateExtensions::default();
        extensions.schema_steps = vec![SchemaSteps::new(name, steps)];
        extensions
    };
    let orders = |step: SchemaStep| named("orders", vec![step]);
    let mut twice = with_steps(orders_of_one());
    twice
        .schema_steps
        .extend(with_steps(orders_of_one()).schema_steps);
    let mut no_table = with_steps(orders_of_one());
    no_table.schema_steps = vec![SchemaSteps::new("orders", orders_of_one()).with_tables(["a'b"])];
    for (extensions, says) in [
        (named("orders", vec![]), "'orders' are none; add one"),
        (
            named("o'rders", orders_of_one().into()),
            "'o'rders' have a name that must be a small letter",
        ),
        (
            named("", orders_of_one().into()),
            "have a name that must be a small letter",
        ),
        (twice, "there are two lists of schema steps 'orders'"),
        (no_table, "name a table 'a'b', whose name must be"),
        (
            orders(SchemaStep::new(" -- nothing\n;")),
            "have a step 1 that has no statement",
        ),
        (
            orders(SchemaStep::new("COMMIT")),
            "have a step 1 that has a statement",
        ),
        (
            orders(SchemaStep::new("CREATE TABLE a (b INT); COMMIT; SELECT 1")),
            "that begins or ends a transaction",
        ),
        (
            orders(SchemaStep::new("SET a = 1")),
            "that changes the session",
        ),
        (
            orders(SchemaStep::new("CREATE TABLE a (b INT); /* b */ SET a = 1")),
            "that changes the session",
        ),
        (
            orders(SchemaStep::index("a\"b", "t", "c")),
            "has an index 'a\"b', whose name must be",
        ),
        (
            orders(SchemaStep::index("i", "pg_t", "c")),
            "has a table 'pg_t', whose name must not be",
        ),
        (
            orders(SchemaStep::index("i", "t", " ")),
            "makes the index 'i' of no column",
        ),
    ] {
        let made = tables.plugin().state_store(&tables.section(), &extensions);
        let errors = made.err().expect("it is a mistake").to_string();
        assert!(errors.contains(says), "{errors}");
        assert!(errors.contains("'test': "), "{errors}");
    }
}

fn orders_of_one() -> [SchemaStep; 1] {
    [SchemaStep::new(CREATE)]
}

/// The store makes the column, the application its index.
pub async fn an_index_of_an_additional_column_is_made_after_the_column(tables: &dyn Tables) {
    let title = tables.indexed_text();
    let mut extensions = super::schema::with_columns(&[("title", title)]);
    let index = SchemaStep::index("state_by_title", "durable_state", "title");
    extensions.schema_steps = vec![SchemaSteps::new("orders", [index])];
    for _ in 0..2 {
        open(tables, &extensions).await.unwrap();
    }
    assert_eq!(tables.number(HAVE_RUN).await, 1);
}

/// One by one, because some run outside a transaction.
pub async fn the_printed_steps_make_what_the_store_expects(tables: &dyn Tables) {
    let section = tables.section().with("auto-initialize", false);
    let extensions = with_steps(orders());
    let script = tables
        .plugin()
        .state_store_schema(&section, &extensions, None);
    let script = script.unwrap().unwrap();
    for statement in script.split(";\n") {
        if !statement.trim().is_empty() {
            tables.run(statement).await;
        }
    }
    open_with(tables, section, &extensions).await.unwrap();
    assert_eq!(tables.number(ORDERS).await, 1);
}

/// Each has the same steps.
pub async fn processes_that_run_the_steps_at_once_run_each_once(tables: &dyn Tables) {
    let extensions = with_steps(orders());
    for opened in join_all((0..6).map(|_| open(tables, &extensions))).await {
        opened.unwrap();
    }
    assert_eq!(tables.number(ORDERS).await, 1);
    assert_eq!(tables.number(HAVE_RUN).await, 3);
}
