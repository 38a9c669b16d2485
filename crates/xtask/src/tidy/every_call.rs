//! The test of every call of the context makes every call there is, in every hook there is.

use crate::tree::{Tree, Violation};

const SOURCES: &str = "crates/persistent-actor/src";
const SHARED: &str = "crates/persistent-actor/tests/it/every_call.rs";
const OF_EVENTS: &str = "crates/persistent-actor/tests/it/every_call/events.rs";
const OF_STATES: &str = "crates/persistent-actor/tests/it/every_call/states.rs";

/// The types whose methods are calls: the context, and what its methods return.
const TYPES: [&str; 5] = [
    "PersistentContext<A>",
    "Persist<A",
    "ReplyTo<M>",
    "NamedStash<A>",
    "Tagged<'_, A>",
];
/// The traits of actix that add calls to the context.
const TRAITS: [&str; 2] = [" ActorContext for ", " AsyncContext<A> for "];
/// The calls that do not compile for a state, or have nothing to be called with there.
const NOT_OF_STATES: [&str; 9] = [
    "persist_all",
    "persist_all_async",
    "for_each_event",
    "save_snapshot",
    "delete_snapshot",
    "delete_snapshots",
    "delete_messages",
    "unhandled",
    "tagged",
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut calls = Vec::new();
    let mut hooks = Vec::new();
    for file in tree.below(SOURCES) {
        for item in items(&file.text) {
            let header = item.header.trim_start_matches("pub ");
            if header.starts_with("impl") {
                calls.extend(calls_of(&item));
            } else if let Some(actor) = header.strip_prefix("trait ") {
                let hooks_of_actor = functions(&item, "fn ")
                    .filter(|(_, signature)| signature.contains(": &mut PersistentContext<"));
                hooks.extend(hooks_of_actor.map(|(name, _)| (actor.to_owned(), name)));
            }
        }
    }
    calls.sort_unstable();
    calls.dedup();
    let mut violations = Vec::new();
    for (path, of_states) in [(OF_EVENTS, false), (OF_STATES, true)] {
        let own = tree.text(path).unwrap_or_default();
        let lists = [tree.text(SHARED).unwrap_or_default(), own].map(list_of_calls);
        let missing = calls
            .iter()
            .filter(|call| of_states || !call.of_states)
            .filter(|call| !of_states || !NOT_OF_STATES.contains(&call.name.as_str()))
            .filter(|call| !lists.iter().any(|list| makes(list, &call.name)));
        violations.extend(missing.map(|Call { name, .. }| {
            let message = format!("does not call `{name}` of the context, add it to the calls");
            Violation::of(path, message)
        }));
        let kind = if of_states {
            "DurableState"
        } else {
            "PersistentActor"
        };
        let absent = hooks.iter().filter(|(actor, hook)| {
            actor.starts_with(kind) && !own.contains(&format!("fn {hook}("))
        });
        violations.extend(absent.map(|(_, hook)| {
            let message = format!("makes no call in `{hook}`, which is given the context");
            Violation::of(path, message)
        }));
    }
    violations
}

/// A method that is a call.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Call {
    name: String,
    of_states: bool,
}

fn calls_of(item: &Item<'_>) -> Vec<Call> {
    let header = item.header;
    let start = if TRAITS.iter().any(|of| header.contains(of)) {
        "fn "
    } else if TYPES.iter().any(|of| header.contains(&format!("> {of}")))
        && !header.contains(" for ")
    {
        "pub fn "
    } else {
        return Vec::new();
    };
    let of_states = header.contains("<A: DurableState>");
    functions(item, start)
        .map(|(name, _)| Call { name, of_states })
        .collect()
}

/// An `impl` or a trait.
struct Item<'a> {
    header: &'a str,
    lines: Vec<&'a str>,
}

/// Returns the items of a formatted file: each begins in the first column and ends with a brace there.
fn items(source: &str) -> Vec<Item<'_>> {
    let mut items: Vec<Item<'_>> = Vec::new();
    let mut open = false;
    for line in source.lines() {
        let is_header = ["impl", "pub trait "]
            .iter()
            .any(|start| line.starts_with(start));
        if is_header {
            let (header, lines) = (line, Vec::new());
            items.push(Item { header, lines });
            open = true;
        } else if line.starts_with('}') {
            open = false;
        } else if open && let Some(item) = items.last_mut() {
            item.lines.push(line);
        }
    }
    items
}

/// Returns names and signatures of the functions of an item that begin like this, `async` or not.
fn functions<'a>(
    item: &'a Item<'_>,
    start: &'a str,
) -> impl Iterator<Item = (String, String)> + 'a {
    item.lines.iter().enumerate().filter_map(move |(at, line)| {
        let line = line.strip_prefix("    ")?.replacen("async ", "", 1);
        let rest = line.strip_prefix(start)?;
        let end = rest.find(|c: char| c != '_' && !c.is_ascii_alphanumeric())?;
        let more = item.lines[at + 1..].iter();
        let more = more.take_while(|_| !line.ends_with(['{', ';']));
        let until_body = more.take_while(|line| !line.starts_with("    }") && !line.is_empty());
        let signature: Vec<&str> = [line.as_str()]
            .into_iter()
            .chain(until_body.copied())
            .collect();
        Some((rest[..end].to_owned(), signature.join(" ")))
    })
}

/// Returns the function `calls` of a test, which lists its calls.
fn list_of_calls(test: &str) -> &str {
    let Some(start) = test.find("fn calls") else {
        return "";
    };
    let indent = test[..start]
        .rfind('\n')
        .map_or(0, |before| start - before - 1);
    let list = &test[start..];
    let end = list.find(&format!("\n{}}}\n", " ".repeat(indent)));
    &list[..end.unwrap_or(list.len())]
}

/// Returns whether a list of calls has a method of this name.
fn makes(list: &str, name: &str) -> bool {
    ["(", "::<"]
        .iter()
        .any(|next| list.contains(&format!(".{name}{next}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: &str = "\
//! The context.
impl<A: PersistentActor> PersistentContext<A> {
    /// Stores an event.
    pub fn persist(&mut self, event: A::Event) -> Persist<A> {
        self.push(event)
    }

    pub(crate) fn push(&mut self) {}

    pub async fn load<M>(
        &self,
    ) -> M {
    }
}

impl<A: DurableState> PersistentContext<A> {
    pub fn revision(&self) -> u64 {
        0
    }
}

impl<A: PersistentActor> ActorContext for PersistentContext<A> {
    fn stop(&mut self) {}
}

pub trait PersistentActor: Actor {
    fn on_event(&mut self, event: &Self::Event);

    fn on_rejected(
        &mut self,
        ctx: &mut PersistentContext<Self>,
    ) {
    }
}
";

    /// Returns what is wrong with tests that make these calls, and with what else they contain.
    fn violations(shared: &str, events: [&str; 2], states: [&str; 2]) -> Vec<String> {
        let shared = format!("fn calls<A>() {{\n    {shared}\n}}\n");
        let own = |[calls, rest]: [&str; 2]| {
            format!("impl Visitor {{\n    fn calls() {{\n        {calls}\n    }}\n{rest}\n}}\n")
        };
        let tree = Tree::of(&[
            ("crates/persistent-actor/src/context.rs", CONTEXT),
            (SHARED, &shared),
            (OF_EVENTS, &own(events)),
            (OF_STATES, &own(states)),
        ]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_test_that_makes_all_calls_in_all_hooks_passes() {
        let shared = "ctx.persist(1); ctx.load::<M>(); ctx.stop();";
        let events = ["", "fn on_rejected(&mut self) {}"];
        assert_eq!(violations(shared, events, ["ctx.revision()", ""]), [""; 0]);
    }

    #[test]
    fn a_call_and_a_hook_that_are_missing_are_found() {
        let found = violations(
            "ctx.persist(1)",
            ["ctx.load::<M>()", ""],
            ["ctx.stop()", "ctx.load()"],
        );
        let missing = |path, call| {
            format!("{path}: does not call `{call}` of the context, add it to the calls")
        };
        let hook = "makes no call in `on_rejected`, which is given the context";
        assert_eq!(
            found,
            [
                missing(OF_EVENTS, "stop"),
                format!("{OF_EVENTS}: {hook}"),
                missing(OF_STATES, "load"),
                missing(OF_STATES, "revision"),
            ]
        );
    }
}
