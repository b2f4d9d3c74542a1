//! A prompt cache as the vendors describe it: what a prefix costs when part of it was sent before.
//!
//! Anthropic caches up to a mark and looks back twenty blocks from each; the others cache every item by themselves.
//! A token is four bytes here. Nothing expires.

use std::collections::HashSet;

use super::reply::Tokens;
use super::seen::{Lifetime, Seen, Wire};

const LOOK_BACK: usize = 20;

/// Every prefix that was written.
#[derive(Debug, Default)]
pub struct Cache {
    written: HashSet<blake3::Hash>,
}

impl Cache {
    /// Returns what the prompt of `seen` costs and remembers it.
    pub fn charge(&mut self, seen: &Seen, minimum: u64) -> Tokens {
        let mut hasher = blake3::Hasher::new();
        hasher.update(seen.model.as_bytes());
        let mut total = 0;
        let prefixes: Vec<Prefix> = seen
            .blocks
            .iter()
            .map(|block| {
                hasher.update(&block.raw.len().to_le_bytes());
                hasher.update(block.raw.as_bytes());
                total += tokens(&block.raw);
                Prefix { hash: hasher.finalize(), tokens: total, mark: block.mark }
            })
            .collect();
        match seen.wire {
            Wire::Anthropic => self.by_marks(&prefixes, total, minimum),
            Wire::Responses | Wire::Chat => self.by_items(&prefixes, total, minimum),
        }
    }

    fn by_marks(&mut self, prefixes: &[Prefix], total: u64, minimum: u64) -> Tokens {
        let marks: Vec<(usize, Lifetime)> =
            prefixes.iter().enumerate().filter_map(|(at, prefix)| Some((at, prefix.mark?))).collect();
        let reachable = marks.iter().flat_map(|(at, _)| at.saturating_sub(LOOK_BACK)..=*at);
        let hit = reachable.filter(|at| self.written.contains(&prefixes[*at].hash)).max();
        let cache_read = hit.map_or(0, |at| prefixes[at].tokens);
        let mut charged = Tokens { cache_read, ..Tokens::default() };
        let mut covered = cache_read;
        for (at, lifetime) in marks {
            let prefix = &prefixes[at];
            if prefix.tokens < minimum {
                continue;
            }
            let fresh = prefix.tokens.saturating_sub(covered);
            match lifetime {
                Lifetime::Minutes5 => charged.cache_write_5m += fresh,
                Lifetime::Hour1 => charged.cache_write_1h += fresh,
            }
            covered = covered.max(prefix.tokens);
            self.written.insert(prefix.hash);
        }
        charged.input = total - covered;
        charged
    }

    fn by_items(&mut self, prefixes: &[Prefix], total: u64, minimum: u64) -> Tokens {
        let hit = prefixes.iter().rev().find(|prefix| self.written.contains(&prefix.hash));
        let cache_read = hit.map_or(0, |prefix| prefix.tokens);
        self.written.extend(prefixes.iter().filter(|prefix| prefix.tokens >= minimum).map(|prefix| prefix.hash));
        Tokens { input: total - cache_read, cache_read, ..Tokens::default() }
    }
}

struct Prefix {
    hash: blake3::Hash,
    tokens: u64,
    mark: Option<Lifetime>,
}

/// Returns how many tokens a text is said to have.
pub fn tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}

/// Returns how many tokens the prompt of `seen` has.
pub fn prompt_tokens(seen: &Seen) -> u64 {
    seen.blocks.iter().map(|block| tokens(&block.raw)).sum()
}
