//! A disk that takes no more: the system's limit on the size of a file stands for it.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use actix_persistence_storage_api::{Journal, StorageErrorKind};
use tempfile::TempDir;

use crate::writer::{LOG, Writer, numbers, open};

/// The variable with the folder of the process with the limit; not set in others.
const PLACE: &str = "CUSTOM_JOURNAL_FULL_DISK";

#[tokio::test]
async fn a_full_disk_loses_nothing_invents_nothing_and_passes() {
    let place = TempDir::new().unwrap();
    // Ignored, the signal leaves an error to the write that reaches the limit, after a part of it was written.
    let script = r#"trap '' XFSZ; ulimit -f 128; exec "$0" --exact full_disk::with_a_limit"#;
    let limited = Command::new("sh")
        .args(["-c", script])
        .arg(env::current_exe().unwrap())
        .env(PLACE, place.path())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&limited.stdout);
    assert!(
        limited.status.success() && output.contains("1 passed"),
        "{output}"
    );
    // The file holds what was confirmed to the limited process.
    let journal = open(&place).await.unwrap();
    let mut writer = Writer::take_over(&journal, "a").await;
    assert!(writer.next > 6, "{}", writer.next);
    let expected: Vec<_> = (1..writer.next).collect();
    assert_eq!(numbers(&journal, &writer.id).await, expected);
    writer.store(&journal, 1).await;
}

/// The other process: on its own this test has nothing to do.
#[tokio::test]
async fn with_a_limit() {
    if let Some(place) = env::var_os(PLACE) {
        fill(Path::new(&place)).await;
    }
}

async fn fill(place: &Path) {
    let journal = open(place).await.unwrap();
    let mut writer = Writer::take_over(&journal, "a").await;
    let length = || fs::metadata(place.join(LOG)).unwrap().len();
    for _ in 0..3 {
        let mut before;
        let error = loop {
            before = length();
            let large = writer.events(1, 10_000);
            match journal.write_messages(vec![large]).await {
                Ok(outcomes) => {
                    assert!(outcomes[0].is_stored());
                    writer.next += 1;
                }
                Err(error) => break error,
            }
            assert!(writer.next < 1_000, "there is no limit");
        };
        // Certain, because the part that was written is cut off again.
        assert_eq!(length(), before);
        assert!(error.is_not_stored(), "{error}");
        assert_ne!(error.kind(), StorageErrorKind::Corrupt);
        // Something small still fits where the part was.
        writer.store(&journal, 1).await;
        let expected: Vec<_> = (1..writer.next).collect();
        assert_eq!(numbers(&journal, &writer.id).await, expected);
    }
}
