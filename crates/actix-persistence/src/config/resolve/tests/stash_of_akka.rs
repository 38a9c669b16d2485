//! The keys of Akka, Akka.NET and Pekko for the stash of an actor.

use super::*;

/// Returns the policy that a section `persistence` leads to, and the warnings.
fn policy(text: &str) -> (String, Vec<String>) {
    policy_of(&config(&format!("[persistence]\n{text}")))
}

fn policy_of(config: &Config) -> (String, Vec<String>) {
    let (resolution, warnings) = config.resolve_silently(&KINDS, &NamedCode::default());
    assert_eq!(resolution.mistakes.check(), Ok(()));
    (resolution.settings.stash_policy.to_string(), warnings)
}

#[test]
fn the_classes_of_each_library_choose_what_happens_on_overflow() {
    for (class, overflow) in [
        ("akka.persistence.ThrowExceptionConfigurator", "fail"),
        ("akka.persistence.ThrowOverflowExceptionStrategy$", "fail"),
        ("akka.persistence.DiscardConfigurator", "drop"),
        (
            "org.apache.pekko.persistence.ThrowExceptionConfigurator",
            "fail",
        ),
        (
            "Akka.Persistence.ThrowExceptionConfigurator, Akka.Persistence",
            "fail",
        ),
        ("Akka.Persistence.DiscardToDeadLetterStrategy", "drop"),
        ("ThrowExceptionConfigurator", "fail"),
        ("DiscardConfigurator", "drop"),
    ] {
        let text = format!("internal-stash-overflow-strategy = \"{class}\"\n");
        let (policy, warnings) = policy(&text);
        assert_eq!(
            policy,
            format!("capacity 4096, overflow {overflow}"),
            "{class}"
        );
        assert_eq!(
            warnings,
            [
                "app.toml:2: 'persistence.internal-stash-overflow-strategy' is read as \
              'persistence.internal-stash.overflow'; write that instead"
            ]
        );
    }
}

#[test]
fn a_class_that_is_not_known_is_a_mistake_that_names_the_known_ones() {
    let of = |class: &str| {
        mistakes(&config(&format!(
            "[persistence]\ninternal-stash-overflow-strategy = {class}\n"
        )))
    };
    let known = "known overflow configurators: DiscardConfigurator, DiscardToDeadLetterStrategy, \
                 ThrowExceptionConfigurator, ThrowOverflowExceptionStrategy; 'internal-stash.overflow' has more choices";
    let found = of("\"bank.OwnConfigurator\"");
    let start = "app.toml:2: 'persistence.internal-stash-overflow-strategy' names the unknown overflow \
                 configurator \"bank.OwnConfigurator\"; ";
    assert!(
        found.starts_with(start) && found.ends_with(known),
        "{found}"
    );
    assert!(of("\"bank.DiscardConfigurator\"").ends_with(known));
    assert_eq!(
        of("7"),
        "app.toml:2: 'persistence.internal-stash-overflow-strategy' must be the name of a class"
    );
}

#[test]
fn the_keys_for_typed_actors_are_read_and_bounded_as_ours() {
    let text = "typed.stash-capacity = 7\ntyped.stash-overflow-strategy = \"fail\"\n";
    let (found, warnings) = policy(text);
    assert_eq!(found, "capacity 7, overflow fail");
    assert_eq!(warnings.len(), 2, "{warnings:#?}");
    let found = mistakes(&config("[persistence]\ntyped.stash-capacity = 0\n"));
    assert!(found.contains("internal-stash.capacity"), "{found}");
}

#[test]
fn our_keys_go_before_typed_ones_and_those_before_others() {
    let (found, warnings) = policy(
        "internal-stash.capacity = 9\ninternal-stash-overflow-strategy = \"ThrowExceptionConfigurator\"\n\
         typed.stash-capacity = 7\ntyped.stash-overflow-strategy = \"drop\"\n",
    );
    assert_eq!(found, "capacity 9, overflow drop");
    let expected = [
        "app.toml:4: 'persistence.typed.stash-capacity' is ignored; 'persistence.internal-stash.capacity' is there too",
        "app.toml:5: 'persistence.typed.stash-overflow-strategy' is read as 'persistence.internal-stash.overflow'; \
         write that instead",
        "app.toml:3: 'persistence.internal-stash-overflow-strategy' is ignored; \
         'persistence.internal-stash.overflow' is there too",
    ];
    assert_eq!(warnings, expected);
}

#[cfg(feature = "hocon")]
#[test]
fn the_capacity_of_the_default_mailbox_is_that_of_the_stash() {
    let of = |text: &str| policy_of(&Config::from_hocon(text, "app.conf").unwrap());
    for (library, written, capacity) in [
        ("akka", "500", 500_u32),
        ("pekko", "500", 500),
        ("akka", "-1", u32::MAX),
        ("akka", "0", u32::MAX),
    ] {
        let (found, warnings) = of(&format!(
            "{library} {{ actor.default-mailbox.stash-capacity = {written}, persistence {{}} }}"
        ));
        assert_eq!(found, format!("capacity {capacity}, overflow drop"));
        assert_eq!(
            warnings,
            [format!(
                "app.conf: '{library}.actor.default-mailbox.stash-capacity' is read as \
                 'persistence.internal-stash.capacity'; write that instead"
            )]
        );
    }
}

#[cfg(feature = "hocon")]
#[test]
fn a_mailbox_yields_to_the_keys_of_persistence() {
    for (own, capacity) in [
        ("internal-stash.capacity = 9", 9),
        ("typed.stash-capacity = 7", 7),
    ] {
        let text = format!(
            "akka {{ actor.default-mailbox.stash-capacity = 500\n persistence {{ {own} }} }}"
        );
        let (found, warnings) = policy_of(&Config::from_hocon(&text, "app.conf").unwrap());
        assert_eq!(found, format!("capacity {capacity}, overflow drop"));
        assert!(
            warnings[0].contains("'akka.actor.default-mailbox.stash-capacity' is ignored"),
            "{warnings:?}"
        );
    }
    let text = "akka { actor.default-mailbox.stash-capacity = many, persistence {} }";
    assert_eq!(
        mistakes(&Config::from_hocon(text, "app.conf").unwrap()),
        "app.conf: 'akka.actor.default-mailbox.stash-capacity' must be a number of messages, or -1 for no bound"
    );
}
