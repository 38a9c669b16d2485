//! The rule of dependencies: plugins know no actor, actors know no plugin, the contract knows neither.
//!
//! Only normal dependencies count, over any number of steps, with the features that the workspace resolves.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use cargo_metadata::DependencyKind;

use crate::workspace::{self, Workspace};

/// The crates that a crate of ours may use.
struct Rule {
    /// Short names of the crates it binds.
    crates: &'static [&'static str],
    /// Short names of the crates of ours that they may reach; `None` stands for all.
    ours: Option<&'static [&'static str]>,
    /// Families of crates from outside that they must not reach.
    forbidden: &'static [Family],
}

/// Crates from outside that belong together.
#[derive(Clone, Copy)]
enum Family {
    Actix,
    Sqlx,
    Tokio,
}

const RULES: [Rule; 14] = [
    Rule {
        crates: &["storage-api", "history", "torture-shim"],
        ours: Some(&[]),
        forbidden: &[Family::Actix, Family::Sqlx, Family::Tokio],
    },
    Rule {
        crates: &["test-servers"],
        ours: Some(&[]),
        forbidden: &[Family::Actix, Family::Sqlx],
    },
    Rule {
        crates: &["memory", "custom-journal"],
        ours: Some(&["storage-api"]),
        forbidden: &[Family::Actix],
    },
    Rule {
        // Applications and third parties test with it: it must bring nothing along.
        crates: &["testkit"],
        ours: Some(&["storage-api"]),
        forbidden: &[Family::Actix, Family::Sqlx],
    },
    Rule {
        crates: &["sql"],
        ours: Some(&["storage-api"]),
        forbidden: &[Family::Actix],
    },
    Rule {
        crates: &["sqlite", "postgres", "mysql"],
        ours: Some(&["storage-api", "sql"]),
        forbidden: &[Family::Actix],
    },
    Rule {
        crates: &["tck"],
        ours: Some(&["storage-api"]),
        forbidden: &[Family::Actix, Family::Sqlx],
    },
    Rule {
        crates: &["sql-tests"],
        ours: Some(&[
            "storage-api",
            "store-actor",
            "journal-actor",
            "snapshot-actor",
            "state-actor",
            "offset-actor",
            "persistent-actor",
            "query",
            "tck",
            "memory",
            "test-servers",
        ]),
        forbidden: &[Family::Sqlx],
    },
    Rule {
        crates: &["store-actor"],
        ours: Some(&["storage-api"]),
        forbidden: &[Family::Sqlx],
    },
    Rule {
        crates: &[
            "journal-actor",
            "snapshot-actor",
            "state-actor",
            "offset-actor",
        ],
        ours: Some(&["storage-api", "store-actor"]),
        forbidden: &[Family::Sqlx],
    },
    Rule {
        crates: &["persistent-actor"],
        ours: Some(&[
            "storage-api",
            "store-actor",
            "journal-actor",
            "snapshot-actor",
            "state-actor",
        ]),
        forbidden: &[Family::Sqlx],
    },
    Rule {
        crates: &["cleanup", "query"],
        ours: Some(&[
            "storage-api",
            "store-actor",
            "journal-actor",
            "snapshot-actor",
            "state-actor",
            "persistent-actor",
        ]),
        forbidden: &[Family::Sqlx],
    },
    Rule {
        crates: &["projection"],
        ours: Some(&[
            "storage-api",
            "store-actor",
            "journal-actor",
            "snapshot-actor",
            "state-actor",
            "persistent-actor",
            "query",
        ]),
        forbidden: &[Family::Sqlx],
    },
    Rule {
        crates: &[
            "actix-persistence",
            "cli",
            "torture",
            "bank-account",
            "blog-post",
            "guide",
            "xtask",
        ],
        ours: None,
        forbidden: &[],
    },
];

/// A crate that reaches what it must not, or that no rule binds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    message: String,
    /// The way from the crate to what it must not reach, step by step.
    path: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        for (depth, name) in self.path.iter().enumerate() {
            let branch = if depth == 0 { "" } else { "└── " };
            write!(
                f,
                "\n  {}{branch}{name}",
                "    ".repeat(depth.saturating_sub(1))
            )?;
        }
        Ok(())
    }
}

/// Checks the crates of this workspace.
pub(crate) fn check(workspace: &Workspace) -> Vec<Violation> {
    violations(&Graph::of(workspace))
}

/// The graph of dependencies; packages are known by name, for the rule is about names.
#[derive(Default)]
struct Graph {
    /// Package name to short name, for the crates of ours.
    members: BTreeMap<String, String>,
    /// Package name to the names of its direct normal dependencies.
    dependencies: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    fn of(workspace: &Workspace) -> Self {
        let mut graph = Self::default();
        for member in workspace.members() {
            let short = workspace::short_name(member).to_owned();
            graph.members.insert(member.name.to_string(), short);
        }
        let resolved = workspace
            .metadata
            .resolve
            .iter()
            .flat_map(|resolve| &resolve.nodes);
        for node in resolved {
            let name = workspace.metadata[&node.id].name.to_string();
            let dependencies = graph.dependencies.entry(name).or_default();
            for dependency in &node.deps {
                let mut kinds = dependency.dep_kinds.iter();
                if kinds.any(|info| info.kind == DependencyKind::Normal) {
                    let name = &workspace.metadata[&dependency.pkg].name;
                    dependencies.insert(name.to_string());
                }
            }
        }
        graph
    }

    /// Returns the shortest way to every package that `from` reaches, `from` itself left out.
    fn ways_from(&self, from: &str) -> BTreeMap<&str, Vec<String>> {
        let mut ways = BTreeMap::new();
        let mut queue = VecDeque::from([vec![from.to_owned()]]);
        while let Some(way) = queue.pop_front() {
            let last = way.last().map(String::as_str).unwrap_or(from);
            for next in self.dependencies.get(last).into_iter().flatten() {
                if next != from && !ways.contains_key(next.as_str()) {
                    let mut longer = way.clone();
                    longer.push(next.clone());
                    ways.insert(next.as_str(), longer.clone());
                    queue.push_back(longer);
                }
            }
        }
        ways
    }
}

impl Family {
    fn contains(self, package: &str) -> bool {
        match self {
            Family::Actix => {
                package.starts_with("actix") && !package.starts_with("actix-persistence")
            }
            Family::Sqlx => package.starts_with("sqlx"),
            Family::Tokio => package.starts_with("tokio"),
        }
    }
}

fn violations(graph: &Graph) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (package, short) in &graph.members {
        let Some(rule) = RULES
            .iter()
            .find(|rule| rule.crates.contains(&short.as_str()))
        else {
            let message = format!("{package} is bound by no dependency rule, give it one");
            let path = Vec::new();
            violations.push(Violation { message, path });
            continue;
        };
        for (reached, path) in graph.ways_from(package) {
            if !rule.allows(reached, graph.members.get(reached)) {
                let message = format!("{package} must not reach {reached}");
                violations.push(Violation { message, path });
            }
        }
    }
    violations
}

impl Rule {
    fn allows(&self, package: &str, short: Option<&String>) -> bool {
        match (short, self.ours) {
            (Some(short), Some(ours)) => ours.contains(&short.as_str()),
            (Some(_), None) => true,
            (None, _) => !self.forbidden.iter().any(|family| family.contains(package)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a graph of lines such as `sqlite: storage-api sqlx`, in which crates of ours go by their short names.
    fn graph(lines: &[&str]) -> Graph {
        let mut graph = Graph::default();
        let ours = |name: &str| RULES.iter().any(|rule| rule.crates.contains(&name));
        let package = |name: &str| match name {
            "custom-journal" | "bank-account" | "blog-post" | "guide" | "xtask"
            | "actix-persistence" => name.to_owned(),
            _ if ours(name) => format!("actix-persistence-{name}"),
            _ => name.to_owned(),
        };
        for line in lines {
            let (name, dependencies) = line.split_once(':').unwrap();
            let dependencies: Vec<&str> = dependencies.split_whitespace().collect();
            for name in dependencies.iter().chain([&name]).filter(|name| ours(name)) {
                graph.members.insert(package(name), (*name).to_owned());
            }
            let dependencies = dependencies.into_iter().map(package).collect();
            graph.dependencies.insert(package(name), dependencies);
        }
        graph
    }

    fn found(lines: &[&str]) -> Vec<String> {
        violations(&graph(lines))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn the_workspace_keeps_the_rule() {
        let violations = check(&Workspace::load().unwrap());
        let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
    }

    #[test]
    fn a_graph_that_follows_the_design_passes() {
        let lines = [
            "storage-api: bytes uuid",
            "memory: storage-api async-trait",
            "sqlite: storage-api sqlx tokio",
            "sqlx: tokio",
            "tck: storage-api tokio libtest-mimic",
            "testkit: storage-api tokio",
            "store-actor: storage-api actix tokio",
            "journal-actor: storage-api store-actor actix-rt",
            "persistent-actor: storage-api store-actor journal-actor actix",
            "actix-persistence: persistent-actor sqlite memory",
            "actix: actix-rt tokio",
        ];
        assert_eq!(found(&lines), [""; 0]);
    }

    #[test]
    fn what_is_reached_over_others_is_shown_step_by_step() {
        let lines = [
            "storage-api: bytes",
            "bytes: helper",
            "helper: tokio",
            "tokio: mio",
        ];
        assert_eq!(
            found(&lines),
            ["actix-persistence-storage-api must not reach tokio\n  \
              actix-persistence-storage-api\n  \
              └── bytes\n      \
              └── helper\n          \
              └── tokio"]
        );
    }

    #[test]
    fn each_rule_bites() {
        for line in [
            "storage-api: actix-rt",
            "storage-api: sqlx-core",
            "memory: store-actor",
            "memory: actix",
            "sqlite: memory",
            "sqlite: actix_derive",
            "custom-journal: tck",
            "tck: actix",
            "tck: journal-actor",
            "testkit: memory",
            "testkit: actix",
            "store-actor: memory",
            "journal-actor: sqlx",
            "snapshot-actor: sqlite",
            "offset-actor: memory",
            "persistent-actor: sqlite",
            "persistent-actor: actix-persistence",
        ] {
            assert_eq!(found(&[line]).len(), 1, "{line}");
        }
    }

    #[test]
    fn a_new_crate_needs_a_rule() {
        let mut graph = Graph::default();
        graph
            .members
            .insert("actix-persistence-oracle".to_owned(), "oracle".to_owned());
        let violations = violations(&graph);
        assert_eq!(violations.len(), 1);
        assert!(
            violations[0]
                .to_string()
                .contains("bound by no dependency rule")
        );
    }

    #[test]
    fn a_cycle_ends() {
        assert_eq!(found(&["memory: bytes", "bytes: memory bytes"]), [""; 0]);
    }
}
