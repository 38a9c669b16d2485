//! What the program told, in all its lives.

/// A move of which it said that it is stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Acknowledged {
    pub(crate) parcel: String,
    pub(crate) revision: i64,
    /// None if the parcel was taken away.
    pub(crate) place: Option<i64>,
}

#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) acknowledged: Vec<Acknowledged>,
    /// How many moves failed: their fate may be unknown, and they were not made again.
    pub(crate) failed: usize,
}

impl Told {
    /// Takes note of a line.
    pub(crate) fn hear(&mut self, line: &str) {
        if line.starts_with("failed") {
            self.failed += 1;
            return;
        }
        let words: Vec<_> = line.split_whitespace().collect();
        let ["moved", parcel, revision, place] = words[..] else {
            panic!("the program said {line:?}");
        };
        self.acknowledged.push(Acknowledged {
            parcel: parcel.to_owned(),
            revision: revision.parse().unwrap(),
            place: (place != "away").then(|| place.parse().unwrap()),
        });
    }
}

#[test]
fn what_is_told_is_understood() {
    let mut told = Told::default();
    for line in [
        "moved Parcel|1 1 7",
        "failed: another writer took over",
        "moved Parcel|1 2 away",
    ] {
        told.hear(line);
    }
    let acknowledged = |revision, place| Acknowledged {
        parcel: "Parcel|1".to_owned(),
        revision,
        place,
    };
    assert_eq!(
        told.acknowledged,
        [acknowledged(1, Some(7)), acknowledged(2, None)]
    );
    assert_eq!(told.failed, 1);
}
