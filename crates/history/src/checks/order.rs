//! A write that begins after another was acknowledged comes later.

use std::collections::HashMap;

use crate::event_stream::EventStream;
use crate::violation::{Invariant, Violations};

pub(super) fn check(events: &EventStream<'_>, violations: &mut Violations) {
    after_what_was_acknowledged(events, violations);
    each_sender_in_order(events, violations);
}

fn after_what_was_acknowledged(events: &EventStream<'_>, violations: &mut Violations) {
    // From the highest number down: when the first of those above was acknowledged.
    let mut above = (u64::MAX, 0, 0);
    let mut level = Vec::new();
    let mut number = None;
    for placed in events.log.iter().rev() {
        if number != Some(placed.number) {
            above = level.drain(..).fold(above, std::cmp::min);
            number = Some(placed.number);
        }
        for (write, _) in events.writes_of(placed.uid) {
            if write.from > above.0 {
                let sentence = format!(
                    "event {} of {:?} was written after event {} was acknowledged, and has a lower number",
                    placed.number, events.id, above.1
                );
                violations.add(Invariant::OrderOfWrites, [write.line, above.2], sentence);
            }
            level.push((write.stored_at, placed.number, write.answer_line));
        }
    }
}

fn each_sender_in_order(events: &EventStream<'_>, violations: &mut Violations) {
    let mut asks: Vec<_> = Vec::new();
    for placed in &events.log {
        for (write, _) in events.writes_of(placed.uid) {
            let sender = write.sender;
            asks.extend(sender.map(|sender| (write.from, write.line, sender, placed.number)));
        }
    }
    asks.sort_unstable();
    let mut last = HashMap::new();
    for (_, line, sender, number) in asks {
        if let Some((earlier, earlier_line)) = last.insert(sender, (number, line))
            && earlier > number
        {
            let sentence = format!(
                "sender {sender} of {:?} sent the command of event {earlier} before that of event {number}",
                events.id
            );
            violations.add(Invariant::OrderOfWrites, [earlier_line, line], sentence);
        }
    }
}
