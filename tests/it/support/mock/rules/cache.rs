//! Cache marks: at most four, and no longer life after a shorter one along tools, system, messages.

use super::{Findings, Rule};
use crate::support::mock::seen::{Lifetime, Seen};

const MOST: usize = 4;

pub fn check(seen: &Seen, found: &mut Findings) {
    let marks: Vec<_> = seen.blocks.iter().filter_map(|block| Some((block.mark?, &block.path))).collect();
    if marks.len() > MOST {
        found.add(
            Rule::CacheBreakpoints,
            format!("A maximum of {MOST} blocks with cache_control may be provided. Found {}.", marks.len()),
        );
    }
    let mut shortest = Lifetime::Hour1;
    for (lifetime, path) in marks {
        if lifetime > shortest {
            found.add(
                Rule::CacheLifetime,
                format!(
                    "{path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' \
                     cache_control block. Note that blocks are processed in the following order: `tools`, `system`, \
                     `messages`."
                ),
            );
        }
        shortest = shortest.min(lifetime);
    }
}
