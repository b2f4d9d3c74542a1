//! The glyphs of the screen, in two sets: Unicode and ASCII.
//!
//! Every glyph is one column wide in every terminal: none is an emoji or of ambiguous width. State is always shown by
//! a glyph *and* a colour, so neither is needed alone.

use crate::theme::Role;

/// A row of the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sign {
    pub glyph: &'static str,
    /// The role that it is drawn in.
    pub role: Role,
    pub about: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyphs {
    pub name: &'static str,
    /// The sign of the wordmark.
    pub brand: &'static str,
    /// Several clients on one engine.
    pub clients: &'static str,
    /// The root task.
    pub root: &'static str,
    pub draft: &'static str,
    pub pending: &'static str,
    pub working: &'static str,
    pub sleeping: &'static str,
    pub ask: &'static str,
    pub passed: &'static str,
    pub failed: &'static str,
    pub closed: &'static str,
    pub recurring: &'static str,
    /// The frames of an animation. The first is shown where animations are off.
    pub spinner: &'static [&'static str],
    pub tree_branch: &'static str,
    pub tree_last: &'static str,
    pub tree_down: &'static str,
    pub folded: &'static str,
    pub unfolded: &'static str,
    pub selected: &'static str,
    pub prompt: &'static str,
    pub ellipsis: &'static str,
    pub bullets: [&'static str; 3],
    pub box_open: &'static str,
    pub box_done: &'static str,
    pub quote_bar: &'static str,
    pub rule: &'static str,
    pub vertical: &'static str,
    pub cross: &'static str,
    pub tee_down: &'static str,
    pub tee_up: &'static str,
    pub tee_right: &'static str,
    pub tee_left: &'static str,
    pub corner_top_left: &'static str,
    pub corner_top_right: &'static str,
    pub corner_bottom_left: &'static str,
    pub corner_bottom_right: &'static str,
    /// From empty to full, for bars with finer steps than a column.
    pub bar: &'static [&'static str],
    pub bar_empty: &'static str,
    /// From low to high, for charts.
    pub spark: &'static [&'static str],
    pub thumb: &'static str,
    pub arrow_up: &'static str,
    pub arrow_down: &'static str,
    pub arrow_left: &'static str,
    pub arrow_right: &'static str,
    pub enter: &'static str,
    pub dot: &'static str,
    /// Two branches that would conflict.
    pub clash: &'static str,
    /// A task that plans.
    pub plan: &'static str,
    /// A task that runs everything.
    pub bypass: &'static str,
    /// Visible space and tab characters.
    pub space: &'static str,
    pub tab: &'static str,
    /// Marks the continuation of a wrapped line.
    pub wrapped: &'static str,
}

impl Glyphs {
    pub const UNICODE: Self = Self {
        name: "unicode",
        brand: "▚",
        clients: "⧉",
        root: "◆",
        draft: "◌",
        pending: "○",
        working: "●",
        sleeping: "◐",
        ask: "?",
        passed: "✓",
        failed: "✗",
        closed: "·",
        recurring: "↻",
        spinner: &["⠶", "⠧", "⠏", "⠛", "⠹", "⠼"],
        tree_branch: "├",
        tree_last: "└",
        tree_down: "│",
        folded: "▸",
        unfolded: "▾",
        selected: "▌",
        prompt: "›",
        ellipsis: "…",
        bullets: ["•", "◦", "‣"],
        box_open: "☐",
        box_done: "☑",
        quote_bar: "▎",
        rule: "─",
        vertical: "│",
        cross: "┼",
        tee_down: "┬",
        tee_up: "┴",
        tee_right: "├",
        tee_left: "┤",
        corner_top_left: "╭",
        corner_top_right: "╮",
        corner_bottom_left: "╰",
        corner_bottom_right: "╯",
        bar: &["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"],
        bar_empty: "░",
        spark: &["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
        thumb: "▐",
        arrow_up: "↑",
        arrow_down: "↓",
        arrow_left: "←",
        arrow_right: "→",
        enter: "⏎",
        clash: "≠",
        plan: "◇",
        bypass: "!",
        dot: "·",
        space: "·",
        tab: "→",
        wrapped: "↪",
    };

    pub const ASCII: Self = Self {
        name: "ascii",
        brand: "%",
        clients: "&",
        root: "#",
        draft: ".",
        pending: "o",
        working: "*",
        sleeping: "z",
        ask: "?",
        passed: "+",
        failed: "x",
        closed: "-",
        recurring: "@",
        spinner: &["*", "|", "/", "-", "\\"],
        tree_branch: "|",
        tree_last: "`",
        tree_down: "|",
        folded: ">",
        unfolded: "v",
        selected: ">",
        prompt: ">",
        ellipsis: "~",
        bullets: ["*", "-", "+"],
        box_open: "o",
        box_done: "x",
        quote_bar: "|",
        rule: "-",
        vertical: "|",
        cross: "+",
        tee_down: "+",
        tee_up: "+",
        tee_right: "+",
        tee_left: "+",
        corner_top_left: "+",
        corner_top_right: "+",
        corner_bottom_left: "+",
        corner_bottom_right: "+",
        bar: &["#"],
        bar_empty: ".",
        spark: &["_", ".", "-", "=", "+", "*", "#"],
        thumb: "#",
        arrow_up: "^",
        arrow_down: "v",
        arrow_left: "<",
        arrow_right: ">",
        enter: "<",
        clash: "!",
        plan: "P",
        bypass: "!",
        dot: ".",
        space: ".",
        tab: ">",
        wrapped: "\\",
    };

    /// Decides from the environment whether the terminal can show more than ASCII.
    pub fn detect(var: impl Fn(&str) -> Option<String>) -> &'static Self {
        let var = |name: &str| var(name).filter(|value| !value.is_empty());
        let locale = var("LC_ALL").or_else(|| var("LC_CTYPE")).or_else(|| var("LANG"));
        let utf8 = locale.is_none_or(|name| {
            let name = name.to_ascii_lowercase();
            name.contains("utf-8") || name.contains("utf8")
        });
        // The Linux console has a font of a few hundred characters.
        let console = matches!(var("TERM").as_deref(), Some("linux" | "dumb" | "vt100" | "vt220"));
        if utf8 && !console { &Self::UNICODE } else { &Self::ASCII }
    }

    /// Returns what the signs of the screen mean: states first, then marks, then signs of the transcript and the diff.
    pub fn legend(&self) -> Vec<Sign> {
        let sign = |glyph, role, about| Sign { glyph, role, about };
        let spinner = self.spinner.first().copied().unwrap_or(self.working);
        let gauge = self.bar.last().copied().unwrap_or(self.bar_empty);
        let spark = self.spark.last().copied().unwrap_or(self.bar_empty);
        vec![
            sign(self.root, Role::Accent, "the root task"),
            sign(self.clients, Role::Muted, "screens and pages that are attached"),
            sign(self.draft, Role::Muted, "a draft: not started until you start it"),
            sign(self.pending, Role::Muted, "not started"),
            sign(spinner, Role::Working, "an agent at work (turning)"),
            sign(self.working, Role::Working, "a call that runs, or an agent at work"),
            sign(self.sleeping, Role::Waiting, "waiting for another task, a process or a message"),
            sign(self.plan, Role::Accent, "permission mode plan: only reads until its plan is approved"),
            sign(self.bypass, Role::Error, "permission mode bypass: runs everything that no rule denies"),
            sign(self.ask, Role::Ask, "a question to you; with a number: how many are below"),
            sign(self.passed, Role::Ok, "done"),
            sign(self.failed, Role::Error, "failed; beside a title: a subtask failed"),
            sign(self.closed, Role::Faint, "closed"),
            sign(self.recurring, Role::Warn, "a request that is retried"),
            sign(self.clash, Role::Warn, "branches that conflict; with a number: how many"),
            sign(self.arrow_down, Role::Muted, "commits behind the parent branch; in a transcript: entries below"),
            sign(self.selected, Role::Accent, "the selection"),
            sign(self.folded, Role::Muted, "folded; Enter or Space unfolds it"),
            sign(self.unfolded, Role::Muted, "unfolded"),
            sign(self.quote_bar, Role::User, "your message; a quote; a block of code"),
            sign(self.arrow_left, Role::Message, "a message from another task"),
            sign(self.arrow_right, Role::Message, "a message to another task"),
            sign(self.prompt, Role::Accent, "where you write"),
            sign(self.enter, Role::Key, "the Enter key"),
            sign(self.ellipsis, Role::Faint, "cut off: there is more"),
            sign(self.wrapped, Role::Faint, "the rest of a line that is too long"),
            sign(self.space, Role::Whitespace, "a space, where spaces are shown"),
            sign(self.tab, Role::Whitespace, "a tab, where spaces are shown"),
            sign(self.thumb, Role::ScrollbarThumb, "the scroll bar"),
            sign(gauge, Role::Gauge, "the filled part of a bar: a budget, a context"),
            sign(self.bar_empty, Role::GaugeEmpty, "the empty part of a bar"),
            sign(spark, Role::Sparkline, "a chart of tokens: each column is 15 seconds"),
        ]
    }

    /// Returns every glyph, for tests.
    pub fn all(&self) -> Vec<&'static str> {
        let single = [
            self.brand,
            self.clients,
            self.root,
            self.draft,
            self.pending,
            self.working,
            self.sleeping,
            self.ask,
            self.passed,
            self.failed,
            self.closed,
            self.recurring,
            self.tree_branch,
            self.tree_last,
            self.tree_down,
            self.folded,
            self.unfolded,
            self.selected,
            self.prompt,
            self.ellipsis,
            self.box_open,
            self.box_done,
            self.quote_bar,
            self.rule,
            self.vertical,
            self.cross,
            self.tee_down,
            self.tee_up,
            self.tee_right,
            self.tee_left,
            self.corner_top_left,
            self.corner_top_right,
            self.corner_bottom_left,
            self.corner_bottom_right,
            self.bar_empty,
            self.thumb,
            self.arrow_up,
            self.arrow_down,
            self.clash,
            self.plan,
            self.bypass,
            self.arrow_left,
            self.arrow_right,
            self.enter,
            self.dot,
            self.space,
            self.tab,
            self.wrapped,
        ];
        single
            .into_iter()
            .chain(self.bullets)
            .chain(self.spinner.iter().chain(self.bar).chain(self.spark).copied())
            .collect()
    }
}

#[cfg(test)]
#[path = "glyphs_tests.rs"]
mod tests;
