//! Programs in a real terminal: started in one, typed at, resized, signalled and hung up on, and looked at.
//!
//! `support` is the harness; the files beside this one are the tests, with a prefix that says what they are about.

#[cfg(test)]
#[allow(dead_code, reason = "each test takes what it needs")]
mod support;

#[cfg(test)]
mod commands;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod first_start;
#[cfg(test)]
mod newcomer;
#[cfg(test)]
mod product_answering;
#[cfg(test)]
mod product_detours;
#[cfg(test)]
mod product_endings;
#[cfg(test)]
mod product_hostile;
#[cfg(test)]
mod product_notices;
#[cfg(test)]
mod product_permits;
#[cfg(test)]
mod product_refusals;
#[cfg(test)]
mod product_review;
#[cfg(test)]
mod product_search;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod product_serve;
#[cfg(test)]
mod product_truth;
#[cfg(test)]
mod product_window;
#[cfg(test)]
mod product_work;
#[cfg(test)]
mod screens;
#[cfg(test)]
mod term_detours;
#[cfg(test)]
mod term_endings;
#[cfg(test)]
mod term_input;
