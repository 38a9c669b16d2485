//! Groups of many ids, and how their statement is planned.

use actix_persistence_sql_tests::Tables;

use crate::place::{Place, id, store};

actix_persistence_sql_tests::test_groups!(Place::new().await);

/// For arrays of one row the planner would make a plan at each execution, which takes longer than the statement.
#[tokio::test]
async fn the_plan_of_an_append_is_kept_whatever_its_values_are() {
    let place = Place::new().await;
    let journal = Tables::journal(&place).await;
    place
        .run(
            "CREATE TABLE seen (setting TEXT);
             CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN INSERT INTO public.seen VALUES (current_setting('plan_cache_mode')); RETURN NULL; END $$;
             CREATE TRIGGER see AFTER INSERT ON event_journal FOR EACH ROW EXECUTE FUNCTION see()",
        )
        .await;
    store(&*journal, &id("a"), 1).await;
    let kept = "SELECT COUNT(*) FROM seen WHERE setting = 'force_generic_plan'";
    assert_eq!(place.number(kept).await, 1);
}

/// The plan is kept for as long as a connection lives, unless somebody analyses the table.
#[tokio::test]
async fn a_plan_made_for_a_few_ids_reads_no_others_of_many() {
    let place = Place::new().await;
    let journal = Tables::journal(&place).await;
    place
        .run(
            "ALTER TABLE journal_metadata SET (autovacuum_enabled = off);
             CREATE TABLE seen (rows BIGINT);
             CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN INSERT INTO public.seen
                 SELECT COALESCE(seq_tup_read, 0) + COALESCE(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables
                 WHERE relname = 'journal_metadata';
             RETURN NULL; END $$;
             CREATE TRIGGER see AFTER INSERT ON event_journal FOR EACH ROW EXECUTE FUNCTION see()",
        )
        .await;
    for name in ["a", "b", "c", "d", "e"] {
        store(&*journal, &id(name), 1).await;
    }
    place.run("ANALYZE journal_metadata").await;
    // Each connection that writes makes its plan.
    for _ in 0..8 {
        store(&*journal, &id("a"), 1).await;
    }
    place
        .run(
            "INSERT INTO journal_metadata (persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid)
             SELECT 'Test|' || n, 1, 0, 0, 1, decode(repeat('00', 16), 'hex') FROM generate_series(1, 50000) AS n;
             TRUNCATE seen",
        )
        .await;
    for _ in 0..8 {
        store(&*journal, &id("a"), 1).await;
    }
    assert_eq!(place.number("SELECT COUNT(*) FROM seen").await, 8);
    let most = place.number("SELECT MAX(rows) FROM seen").await;
    assert!(most < 1_000, "an append of one id has read {most}");
}
