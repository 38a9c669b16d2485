//! Every rule of the filter, and random streams against the rules read word by word.

use actix_persistence_storage_api::{Payload, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::ReplayIssueKind::{OldWriter, OutOfOrder, Overtaken};
use ReplayFilterMode::{Fail, RepairByDiscardOld, Warn};

/// Writers are letters here; `-` stands for none.
fn writer(name: char) -> WriterId {
    match name {
        '-' => WriterId::NIL,
        name => WriterId::from_bytes([name as u8; 16]),
    }
}

fn name(writer: WriterId) -> char {
    match writer {
        WriterId::NIL => '-',
        writer => writer.as_bytes()[0] as char,
    }
}

fn event(who: char, sequence_nr: SequenceNr) -> EventRecord {
    let payload = Payload::new(1, "x", "");
    EventRecord::new(sequence_nr, Timestamp::UNSET, writer(who), payload)
}

/// Returns the events of a text such as `A1 -2 B3`, in which each word is a writer and a number.
fn stream(text: &str) -> Vec<EventRecord> {
    let one = |word: &str| event(word.chars().next().unwrap(), word[1..].parse().unwrap());
    text.split_whitespace().map(one).collect()
}

fn shown(events: &[EventRecord]) -> String {
    let one = |event: &EventRecord| format!("{}{}", name(event.writer), event.sequence_nr);
    events.iter().map(one).collect::<Vec<_>>().join(" ")
}

type Found = (ReplayIssueKind, SequenceNr, char, char);

fn found(issue: &ReplayIssue) -> Found {
    let ReplayIssue {
        kind,
        sequence_nr,
        writer,
        other_writer,
    } = issue;
    (*kind, *sequence_nr, name(*writer), name(*other_writer))
}

fn settings(mode: ReplayFilterMode, window_size: usize) -> ReplayFilterSettings {
    let mut settings = ReplayFilterSettings::default();
    settings.mode = mode;
    settings.window_size = window_size;
    settings
}

/// Returns the events that are applied, and every issue.
fn filtered(settings: &ReplayFilterSettings, events: Vec<EventRecord>) -> (String, Vec<Found>) {
    let mut filter = ReplayFilter::new(settings).unwrap();
    let (mut applied, mut issues) = (Vec::new(), Vec::new());
    for event in events {
        let offered = filter.offer(event);
        applied.extend(offered.released);
        issues.extend(offered.issues.iter().map(found));
    }
    applied.extend(std::iter::from_fn(|| filter.release()));
    (shown(&applied), issues)
}

fn in_mode(mode: ReplayFilterMode, text: &str) -> (String, Vec<Found>) {
    filtered(&settings(mode, 100), stream(text))
}

fn passes_whole(text: &str) {
    for mode in [RepairByDiscardOld, Fail, Warn] {
        assert_eq!(in_mode(mode, text), (text.to_owned(), vec![]), "{mode:?}");
    }
}

#[test]
fn a_filter_that_is_off_does_not_exist() {
    assert!(ReplayFilter::new(&settings(ReplayFilterMode::Off, 100)).is_none());
}

#[test]
fn the_oldest_event_leaves_a_full_window_before_the_next_is_looked_at() {
    let mut filter = ReplayFilter::new(&settings(Fail, 2)).unwrap();
    let mut left = Vec::new();
    for event in stream("A1 A2 A3 A4") {
        left.push(filter.offer(event).released.map(|event| event.sequence_nr));
    }
    assert_eq!(left, [None, None, Some(1), Some(2)]);
    assert_eq!(filter.release(), Some(event('A', 3)));
    assert_eq!(filter.release(), Some(event('A', 4)));
    assert_eq!(filter.release(), None);
}

#[test]
fn one_writer_in_order_passes_and_so_does_the_same_number_twice() {
    passes_whole("A1 A2 A2 A3 A7");
}

#[test]
fn writers_that_follow_each_other_pass() {
    passes_whole("A1 A2 B3 C4 C5 D6");
}

#[test]
fn a_number_below_the_last_one_of_the_same_writer_is_out_of_order() {
    let issues = vec![(OutOfOrder, 2, 'A', 'A')];
    let text = "A1 A2 A3 A2 A4";
    assert_eq!(
        in_mode(RepairByDiscardOld, text),
        ("A1 A2 A3 A4".to_owned(), issues.clone())
    );
    // It does not count as the last one: the next A3 is still in order.
    assert_eq!(
        in_mode(Warn, "A1 A2 A3 A2 A3"),
        ("A1 A2 A3 A2 A3".to_owned(), issues.clone())
    );
    assert_eq!(in_mode(Fail, text).1, issues);
}

#[test]
fn an_event_of_a_writer_that_was_replaced_is_one_of_an_old_writer() {
    let issues = vec![(OldWriter, 4, 'A', 'B'), (OldWriter, 6, 'A', 'B')];
    let text = "A1 A2 B3 A4 B5 A6";
    assert_eq!(
        in_mode(RepairByDiscardOld, text),
        ("A1 A2 B3 B5".to_owned(), issues.clone())
    );
    assert_eq!(in_mode(Warn, text), (text.to_owned(), issues.clone()));
    assert_eq!(in_mode(Fail, text).1, issues);
}

#[test]
fn events_that_a_new_writer_numbers_again_are_overtaken() {
    let issues = vec![(Overtaken, 2, 'A', 'B'), (Overtaken, 3, 'A', 'B')];
    let text = "A1 A2 A3 B2 B3";
    assert_eq!(
        in_mode(RepairByDiscardOld, text),
        ("A1 B2 B3".to_owned(), issues.clone())
    );
    assert_eq!(in_mode(Warn, text), (text.to_owned(), issues.clone()));
    assert_eq!(in_mode(Fail, text).1, issues);
}

#[test]
fn a_conflict_with_an_event_that_has_left_the_window_is_not_seen() {
    let small = settings(RepairByDiscardOld, 1);
    let (applied, issues) = filtered(&small, stream("A1 A2 A3 B2"));
    // A3 leaves the window for B2.
    assert_eq!((applied.as_str(), issues), ("A1 A2 A3 B2", vec![]));
}

#[test]
fn the_oldest_of_too_many_old_writers_is_forgotten() {
    let mut few = settings(RepairByDiscardOld, 100);
    few.max_old_writers = 2;
    let (applied, issues) = filtered(&few, stream("A1 B2 C3 D4 B5 A6"));
    // A is taken for a new writer.
    assert_eq!(applied, "A1 B2 C3 D4 A6");
    assert_eq!(issues, [(OldWriter, 5, 'B', 'D')]);
}

#[test]
fn sizes_of_nothing_count_as_one() {
    let mut none = settings(RepairByDiscardOld, 0);
    none.max_old_writers = 0;
    let (applied, issues) = filtered(&none, stream("A1 B2 A3 C4 B5"));
    assert_eq!(applied, "A1 B2 C4");
    assert_eq!(issues.len(), 2);
}

#[test]
fn an_event_without_a_writer_leaves_the_writer_before_it_current() {
    passes_whole("A1 -2 A3 -4 -5 A6");
    passes_whole("-1 -2 A3 -4 B5 -6 B7");
}

#[test]
fn an_event_without_a_writer_must_be_in_order_all_the_same() {
    assert_eq!(
        in_mode(RepairByDiscardOld, "A1 A2 A3 -2"),
        ("A1 A2 A3".to_owned(), vec![(OutOfOrder, 2, '-', 'A')])
    );
    assert_eq!(
        in_mode(RepairByDiscardOld, "-1 -2 B2"),
        ("-1 B2".to_owned(), vec![(Overtaken, 2, '-', 'B')])
    );
}

/// The rules as they are written down for Akka, word by word, and the one about missing writers.
fn naive(
    mode: ReplayFilterMode,
    window_size: usize,
    max_old_writers: usize,
    events: &[EventRecord],
) -> (String, Vec<Found>) {
    let (mut applied, mut issues) = (Vec::new(), Vec::new());
    let mut buffer: Vec<EventRecord> = Vec::new();
    let (mut current, mut last) = ('-', -1_i64);
    let mut old: Vec<char> = Vec::new();
    for e in events {
        let (who, nr) = (name(e.writer), e.sequence_nr as i64);
        if buffer.len() == window_size {
            applied.push(buffer.remove(0));
        }
        if who == current || who == '-' {
            if nr < last {
                issues.push((OutOfOrder, e.sequence_nr, who, current));
                if mode == Warn || mode == Fail {
                    buffer.push(e.clone());
                }
            } else {
                buffer.push(e.clone());
                last = nr;
            }
        } else if old.contains(&who) {
            issues.push((OldWriter, e.sequence_nr, who, current));
            if mode == Warn || mode == Fail {
                buffer.push(e.clone());
            }
        } else {
            if current != '-' {
                old.push(current);
            }
            if old.len() > max_old_writers {
                old.remove(0);
            }
            current = who;
            last = nr;
            let mut kept = Vec::new();
            for b in buffer {
                if b.sequence_nr as i64 >= last {
                    issues.push((Overtaken, b.sequence_nr, name(b.writer), who));
                    if mode == RepairByDiscardOld {
                        continue;
                    }
                }
                kept.push(b);
            }
            buffer = kept;
            buffer.push(e.clone());
        }
    }
    applied.extend(buffer);
    (shown(&applied), issues)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn random_streams_are_filtered_as_the_rules_say(
        events in prop::collection::vec((0..6_usize, 1..12_u64), 0..40),
        mode in prop::sample::select(vec![RepairByDiscardOld, Fail, Warn]),
        window_size in 1..12_usize,
        max_old_writers in 1..4_usize,
    ) {
        let writers = ['-', 'A', 'B', 'C', 'D', 'E'];
        let events: Vec<_> = events.into_iter().map(|(who, nr)| event(writers[who], nr)).collect();
        let mut settings = settings(mode, window_size);
        settings.max_old_writers = max_old_writers;
        let expected = naive(mode, window_size, max_old_writers, &events);
        prop_assert_eq!(filtered(&settings, events), expected);
    }

    #[test]
    fn what_one_writer_after_the_other_stored_always_passes(
        runs in prop::collection::vec((1..30_u64, any::<bool>()), 0..20),
        window_size in 1..12_usize,
    ) {
        let (mut events, mut next) = (Vec::new(), 1);
        for (index, (length, known)) in runs.into_iter().enumerate() {
            let who = if known { (b'A' + index as u8) as char } else { '-' };
            events.extend((next..next + length).map(|nr| event(who, nr)));
            next += length;
        }
        let whole = shown(&events);
        let passed = filtered(&settings(RepairByDiscardOld, window_size), events);
        prop_assert_eq!(passed, (whole, vec![]));
    }
}
