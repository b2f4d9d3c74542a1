//! Which hosts a project's tasks may reach without a question. Pure.

use super::host::{Exactness, Host, HostPattern, Target};
use crate::permit::{List, Rules};

/// What is known about a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listing {
    Allowed(Grant),
    /// A deny rule matches.
    Denied {
        rule: String,
    },
    Unknown,
}

/// How far the permission for a host goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// To addresses of the internet.
    Public,
    /// The user's settings name exactly this host: also to addresses of the user's network, and of this machine if
    /// that is what the entry says.
    Trusted,
}

/// The lists of a project.
#[derive(Clone, Debug, Default)]
pub struct HostPolicy {
    /// From the user's settings.
    pub hosts: Vec<HostPattern>,
    /// What the project needs from the start.
    pub initial: Vec<HostPattern>,
    /// Permission rules; those of the form `network(…)` count.
    pub rules: Rules,
}

impl HostPolicy {
    /// Judges a host. Deny rules come first, then ask rules, then everything that allows.
    pub fn listing(&self, target: &Target) -> Listing {
        let (host, text) = (target.host.to_string(), target.rule_text());
        let ruled = |list| {
            self.rules
                .of(list)
                .find(|rule| rule.matches_host(&text) || (list != List::Allow && rule.matches_host(&host)))
        };
        if let Some(rule) = ruled(List::Deny) {
            return Listing::Denied { rule: rule.text.clone() };
        }
        if ruled(List::Ask).is_some() {
            return Listing::Unknown;
        }
        match self.hosts.iter().filter_map(|pattern| pattern.matches(target)).max() {
            Some(Exactness::Exact) => return Listing::Allowed(Grant::Trusted),
            Some(Exactness::Wildcard) => return Listing::Allowed(Grant::Public),
            None => {}
        }
        let is_initial = self.initial.iter().any(|pattern| pattern.matches(target).is_some());
        if is_initial || ruled(List::Allow).is_some() {
            return Listing::Allowed(Grant::Public);
        }
        Listing::Unknown
    }
}

/// Returns true if a host is named so that it can only mean this machine.
pub(super) fn means_this_machine(host: &Host) -> bool {
    match host {
        Host::Name(name) => name == "localhost" || name.ends_with(".localhost"),
        Host::Address(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permit::{Rule, Source};

    fn policy(rules: &[(List, &str)]) -> HostPolicy {
        let pattern = |text: &&str| HostPattern::parse(text).unwrap();
        let rules = rules.iter().map(|(list, text)| Rule::parse(text, *list, Source::Local).unwrap()).collect();
        HostPolicy {
            hosts: ["own.example", "*.wide.example", "127.0.0.1:8080"].iter().map(pattern).collect(),
            initial: ["start.example"].iter().map(pattern).collect(),
            rules: Rules(rules),
        }
    }

    fn listing(policy: &HostPolicy, target: &str) -> Listing {
        policy.listing(&Target::parse(target, Some(443)).unwrap())
    }

    #[test]
    fn only_an_exact_entry_of_the_user_reaches_further_than_the_internet() {
        let policy = policy(&[(List::Allow, "network(learnt.example)"), (List::Allow, "network(*.learnt.example)")]);
        for (host, grant) in [
            ("own.example", Grant::Trusted),
            ("127.0.0.1:8080", Grant::Trusted),
            ("a.wide.example", Grant::Public),
            ("start.example", Grant::Public),
            ("learnt.example", Grant::Public),
            ("a.learnt.example", Grant::Public),
        ] {
            assert_eq!(listing(&policy, host), Listing::Allowed(grant), "{host}");
        }
        for host in ["other.example", "learnt.example:8443", "own.example:8080", "127.0.0.1", "wide.example"] {
            assert_eq!(listing(&policy, host), Listing::Unknown, "{host}");
        }
    }

    #[test]
    fn a_deny_rule_counts_for_every_port_and_before_any_list() {
        let policy = policy(&[(List::Deny, "network(own.example)"), (List::Ask, "network(start.example)")]);
        let denied = Listing::Denied { rule: "network(own.example)".to_owned() };
        assert_eq!(listing(&policy, "own.example"), denied);
        assert_eq!(listing(&policy, "OWN.example:8443"), denied);
        assert_eq!(listing(&policy, "start.example"), Listing::Unknown);
    }

    #[test]
    fn a_rule_with_a_port_is_about_that_port() {
        let policy = policy(&[(List::Allow, "network(learnt.example:8443)")]);
        assert_eq!(listing(&policy, "learnt.example:8443"), Listing::Allowed(Grant::Public));
        assert_eq!(listing(&policy, "learnt.example"), Listing::Unknown);
    }
}
