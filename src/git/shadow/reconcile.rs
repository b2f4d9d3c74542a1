//! Decides what moves between the real repository and a shadow. Pure.
//!
//! Three tables of refs are compared: the real one, the shadow's, and what both had when they last agreed. A ref that
//! changed on one side only is carried to the other. Of the agent's changes, its own branch is published under its
//! name; all others are saved below a prefix of the task, where nobody else sees them.

use std::collections::BTreeMap;

use git2::Oid;

use super::ref_table::RefTable;

/// Remote-tracking branches can be fetched again, so the agent's are not saved.
const REMOTES: &str = "refs/remotes/";

/// The refs of both sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sides<'a> {
    /// The full name of the task's branch.
    pub(super) own: &'a str,
    /// As of the last agreement.
    pub(super) agreed: &'a RefTable,
    pub(super) real: &'a RefTable,
    pub(super) shadow: &'a RefTable,
}

/// A ref to change, from the value that it must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RefChange {
    pub(super) name: String,
    pub(super) from: Option<Oid>,
    pub(super) to: Option<Oid>,
}

/// Both sides moved the task's branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Divergence {
    pub(super) real: Option<Oid>,
    pub(super) shadow: Oid,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// The move of the task's branch in the real repository.
    pub(super) publish: Option<RefChange>,
    pub(super) diverged: Option<Divergence>,
    /// Refs of the agent alone, by their names without `refs/`.
    pub(super) save: BTreeMap<String, Oid>,
    /// Changes for the shadow.
    pub(super) refresh: Vec<RefChange>,
}

/// Compares the sides.
pub(super) fn reconcile(sides: Sides<'_>) -> Plan {
    let Sides { own, agreed, real, shadow } = sides;
    let mut plan = Plan::default();
    let mut names: Vec<&String> = real.keys().chain(shadow.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let value = |table: &RefTable| table.get(name).copied();
        let (was, outside, inside) = (value(agreed), value(real), value(shadow));
        if outside == inside {
            continue;
        }
        let refresh = RefChange { name: name.clone(), from: inside, to: outside };
        if name == own {
            match inside {
                Some(tip) if inside != was && outside == was => {
                    plan.publish = Some(RefChange { name: name.clone(), from: outside, to: Some(tip) });
                }
                Some(tip) if inside != was => {
                    plan.diverged = Some(Divergence { real: outside, shadow: tip });
                    plan.refresh.push(refresh);
                }
                // The agent deleted or renamed it, or it was moved outside.
                Some(_) | None => plan.refresh.push(refresh),
            }
        } else if inside == was {
            plan.refresh.push(refresh);
        } else if let (Some(tip), false) = (inside, name.starts_with(REMOTES)) {
            plan.save.insert(name.strip_prefix("refs/").unwrap_or(name).to_owned(), tip);
        }
    }
    plan
}

/// Returns what both sides agree on after a plan was carried out.
pub(super) fn agreement(agreed: &RefTable, real: &RefTable, shadow: &RefTable) -> RefTable {
    let mut next: RefTable = agreed.clone();
    // What both sides dropped is agreed to be gone.
    next.retain(|name, _| real.contains_key(name) || shadow.contains_key(name));
    next.extend(real.iter().filter(|(name, id)| shadow.get(*name) == Some(*id)).map(|(name, id)| (name.clone(), *id)));
    next
}

#[cfg(test)]
#[path = "reconcile_tests.rs"]
mod tests;
