//! The terminal of jobs that run at the same time: the lines of each stay together.

use std::collections::BTreeMap;

use crate::progress;

/// The number of a job, in the order in which the jobs begin.
pub(crate) type JobNr = usize;

/// A text that a job writes to the terminal.
#[derive(Debug, PartialEq, Eq)]
enum Text {
    /// A line of a job, for standard output.
    Line(String),
    /// A line of progress, for standard error.
    Note(String),
}

/// Shows the lines of one job as they come, and keeps those of the others until that one has ended.
#[derive(Default)]
pub(crate) struct Screen {
    shown: Option<JobNr>,
    kept: BTreeMap<JobNr, Kept>,
}

/// The texts of a job that is not shown yet.
#[derive(Default)]
struct Kept {
    name: String,
    texts: Vec<Text>,
    has_ended: bool,
}

impl Screen {
    /// Shows that a job begins.
    pub(crate) fn begin(&mut self, job: JobNr, name: &str) {
        show(self.begun(job, name));
    }

    /// Shows a line of a job, now or later.
    pub(crate) fn line(&mut self, job: JobNr, line: &str) {
        show(self.add(job, Text::Line(line.to_owned())));
    }

    /// Shows how a job ended, after its lines, and then what was kept of others.
    pub(crate) fn end(&mut self, job: JobNr, note: String) {
        show(self.ended(job, note));
    }

    fn begun(&mut self, job: JobNr, name: &str) -> Vec<Text> {
        if self.shown.is_none() {
            self.shown = Some(job);
            return vec![Text::Note(name.to_owned())];
        }
        let kept = self.kept.entry(job).or_default();
        kept.name = name.to_owned();
        vec![Text::Note(format!("{name}, its lines follow later"))]
    }

    fn add(&mut self, job: JobNr, text: Text) -> Vec<Text> {
        if self.shown == Some(job) {
            return vec![text];
        }
        self.kept.entry(job).or_default().texts.push(text);
        Vec::new()
    }

    fn ended(&mut self, job: JobNr, note: String) -> Vec<Text> {
        let mut texts = self.add(job, Text::Note(note));
        if self.shown != Some(job) {
            self.kept.entry(job).or_default().has_ended = true;
            return texts;
        }
        self.shown = None;
        for (_, kept) in self.kept.extract_if(.., |_, kept| kept.has_ended) {
            texts.extend(kept.shown());
        }
        if let Some((next, kept)) = self.kept.pop_first() {
            self.shown = Some(next);
            texts.extend(kept.shown());
        }
        texts
    }
}

impl Kept {
    fn shown(self) -> impl Iterator<Item = Text> {
        [Text::Note(self.name)].into_iter().chain(self.texts)
    }
}

fn show(texts: Vec<Text>) {
    for text in texts {
        match text {
            Text::Line(line) => println!("{line}"),
            Text::Note(note) => progress::note(note),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Text {
        Text::Line(text.to_owned())
    }

    fn note(text: &str) -> Text {
        Text::Note(text.to_owned())
    }

    #[test]
    fn the_lines_of_one_job_come_at_once_and_those_of_others_after_it() {
        let mut screen = Screen::default();
        assert_eq!(screen.begun(0, "a"), [note("a")]);
        assert_eq!(screen.begun(1, "b"), [note("b, its lines follow later")]);
        assert_eq!(screen.add(1, line("b1")), []);
        assert_eq!(screen.add(0, line("a1")), [line("a1")]);
        assert_eq!(screen.ended(1, "b ended".to_owned()), []);
        assert_eq!(screen.begun(2, "c"), [note("c, its lines follow later")]);
        assert_eq!(screen.add(2, line("c1")), []);
        assert_eq!(
            screen.ended(0, "a ended".to_owned()),
            [
                note("a ended"),
                note("b"),
                line("b1"),
                note("b ended"),
                note("c"),
                line("c1"),
            ]
        );
        assert_eq!(screen.add(2, line("c2")), [line("c2")], "it is shown now");
        assert_eq!(screen.ended(2, "c ended".to_owned()), [note("c ended")]);
        assert_eq!(screen.begun(3, "d"), [note("d")]);
    }
}
