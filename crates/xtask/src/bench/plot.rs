//! The plots for the docs: a bar for each ratio, and a mark where it should be.
//!
//! They are written by hand, because bars are rectangles: a plotting library would be larger than the rest of this
//! crate.

use std::fs;
use std::path::Path;

use anyhow::Context;

use super::outcome::{Outcome, Verdict};

/// The height of a row.
const ROW: usize = 22;
/// The height of the title.
const TITLE: usize = 34;
/// The place where the bars begin.
const LEFT: f64 = 470.0;
/// The length of the longest.
const LONGEST: f64 = 320.0;
const WIDTH: f64 = LEFT + LONGEST + 70.0;

/// Writes a plot for each family of works: `persist.svg` for `persist-1`, `persist-10` and so on.
pub(super) fn write(folder: &Path, outcomes: &[Outcome]) -> anyhow::Result<()> {
    let cannot = |path: &Path| format!("could not write {}", path.display());
    fs::create_dir_all(folder).with_context(|| cannot(folder))?;
    for family in families(outcomes) {
        let of_family: Vec<_> = outcomes
            .iter()
            .filter(|one| family_of(one) == family)
            .collect();
        let file = folder.join(format!("{family}.svg"));
        fs::write(&file, plot(family, &of_family)).with_context(|| cannot(&file))?;
    }
    Ok(())
}

/// Returns the families in the order of their first rows.
fn families(outcomes: &[Outcome]) -> Vec<&'static str> {
    let mut families = Vec::new();
    for family in outcomes.iter().map(family_of) {
        if !families.contains(&family) {
            families.push(family);
        }
    }
    families
}

fn family_of(outcome: &Outcome) -> &'static str {
    let work = outcome.row.work;
    work.split_once('-').map_or(work, |(family, _)| family)
}

/// Returns one plot. Its texts hold no character that SVG would have to escape.
fn plot(family: &str, outcomes: &[&Outcome]) -> String {
    let marks = outcomes
        .iter()
        .flat_map(|one| [Some(one.ratio()), one.row.target.or(one.row.floor)]);
    let largest = marks.flatten().fold(1.0, f64::max);
    let length = |ratio: f64| ratio / largest * LONGEST;
    let height = TITLE + outcomes.len() * ROW + 10;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"8\" y=\"20\" font-weight=\"bold\">{family}: ratio to the baseline; the line is the target, or the floor</text>\n"
    );
    for (index, one) in outcomes.iter().enumerate() {
        let (row, ratio) = (&one.row, one.ratio());
        let top = TITLE + index * ROW;
        let text = top + 14;
        let label = format!("{} on {}, {}", row.work, row.backend, row.baseline.name);
        let colour = match one.verdict() {
            Verdict::Reached => "#3a7d44",
            Verdict::BelowTarget => "#d98e04",
            Verdict::BelowFloor => "#b3261e",
        };
        let end = LEFT + length(ratio);
        svg += &format!(
            "<text x=\"8\" y=\"{text}\">{label}</text>\n\
             <rect x=\"{LEFT}\" y=\"{}\" width=\"{:.1}\" height=\"14\" fill=\"{colour}\"/>\n",
            top + 3,
            length(ratio),
        );
        let least = row.target.or(row.floor);
        if let Some(least) = least {
            let x = LEFT + length(least);
            svg +=
                &format!("<path d=\"M{x:.1} {top}v20\" stroke=\"#000000\" stroke-width=\"2\"/>\n");
        }
        let after = least.map_or(end, |least| end.max(LEFT + length(least)));
        svg += &format!(
            "<text x=\"{:.1}\" y=\"{text}\">{ratio:.2}</text>\n",
            after + 6.0
        );
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::super::outcome::tests::{outcome, row};
    use super::super::rows::{Choice, rows};
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_ratio_beside_the_others() {
        let outcomes = [
            outcome(row("persist-1", None, Some(2.0)), 0.5),
            outcome(row("persist-10", Some(1.0), None), 1.0),
        ];
        let svg = plot("persist", &outcomes.iter().collect::<Vec<_>>());
        // The longest mark is the target of 2.
        assert!(
            svg.contains("width=\"80.0\" height=\"14\" fill=\"#d98e04\""),
            "{svg}"
        );
        assert!(
            svg.contains("width=\"160.0\" height=\"14\" fill=\"#3a7d44\""),
            "{svg}"
        );
        assert!(svg.contains("M790.0 34v20"), "{svg}");
        assert!(
            svg.contains(">persist-1 on postgres, the better of two<"),
            "{svg}"
        );
    }

    #[test]
    fn each_family_of_works_has_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let outcomes: Vec<_> = rows(Choice::All)
            .into_iter()
            .map(|row| outcome(row, 1.0))
            .collect();
        let plots = folder.path().join("plots");
        write(&plots, &outcomes).unwrap();
        let mut files: Vec<_> = fs::read_dir(plots)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        assert_eq!(
            files,
            [
                "burst.svg",
                "catch.svg",
                "crowd.svg",
                "far.svg",
                "growth.svg",
                "live.svg",
                "persist.svg",
                "projection.svg",
                "queue.svg",
                "replay.svg",
                "states.svg"
            ]
        );
    }

    #[test]
    fn no_text_of_a_plot_has_to_be_escaped() {
        for row in rows(Choice::All) {
            let texts = [row.work, row.baseline.name];
            assert!(
                texts.iter().all(|text| !text.contains(['<', '>', '&'])),
                "{row:?}"
            );
        }
    }
}
