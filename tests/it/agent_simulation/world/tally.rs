//! What happened in a world, so that a world in which nothing did proves nothing.

use std::fmt;
use std::ops::AddAssign;

#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub(super) steps: u64,
    pub(super) crashes: u64,
    pub(super) requests: u64,
    pub(super) tools: u64,
    pub(super) held: u64,
    pub(super) messages: u64,
    pub(super) interrupts: u64,
    pub(super) faults: u64,
    pub(super) asks: u64,
    pub(super) compactions: u64,
    pub(super) dones: u64,
    pub(super) repairs: u64,
    pub(super) withdrawn: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.steps += other.steps;
        self.crashes += other.crashes;
        self.requests += other.requests;
        self.tools += other.tools;
        self.held += other.held;
        self.messages += other.messages;
        self.interrupts += other.interrupts;
        self.faults += other.faults;
        self.asks += other.asks;
        self.compactions += other.compactions;
        self.dones += other.dones;
        self.repairs += other.repairs;
        self.withdrawn += other.withdrawn;
    }
}

impl Tally {
    pub fn assert_everything_happened(&self) {
        let Self {
            steps,
            crashes,
            requests,
            tools,
            held,
            messages,
            interrupts,
            faults,
            asks,
            compactions,
            dones,
            repairs,
            withdrawn,
        } = *self;
        let all = [
            steps,
            crashes,
            requests,
            tools,
            held,
            messages,
            interrupts,
            faults,
            asks,
            compactions,
            dones,
            repairs,
            withdrawn,
        ];
        assert!(all.iter().all(|count| *count > 0), "something never happened: {self}");
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} steps: {} crashes, {} requests, {} tools ({} held), {} messages ({} withdrawn), {} interrupts, {} faults, {} asks, {} compactions, {} dones, {} repairs",
            self.steps,
            self.crashes,
            self.requests,
            self.tools,
            self.held,
            self.messages,
            self.withdrawn,
            self.interrupts,
            self.faults,
            self.asks,
            self.compactions,
            self.dones,
            self.repairs
        )
    }
}
