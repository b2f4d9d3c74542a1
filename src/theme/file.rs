//! Theme files: TOML with a palette of named colours and a style for each role that differs from the parent theme.
//!
//! A mistake invalidates only its own entry: it becomes a [`ThemeProblem`] with its line and, if possible, the name
//! that was probably meant. Inheritance is resolved before colours, so a theme that changes one colour of its
//! parent's palette changes every role that uses it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use ratatui::style::Modifier;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::colour::{Colour, NAMES};
use super::{Appearance, Look, Palette, Role, Spec};

/// A mistake in a theme file and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeProblem {
    /// Counted from one.
    pub line: usize,
    pub message: String,
}

impl fmt::Display for ThemeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

/// A parsed theme file, not yet merged with its parents.
#[derive(Clone, Debug, Default)]
pub struct ThemeFile {
    pub about: String,
    pub appearance: Option<Appearance>,
    /// The theme that this one changes. `none` starts from nothing.
    pub inherits: Option<String>,
    palette: BTreeMap<String, Located<String>>,
    roles: BTreeMap<Role, Entry>,
}

/// A value and its line in the file.
#[derive(Clone, Debug)]
struct Located<T> {
    value: T,
    line: usize,
    /// Set for values of an inherited file, whose mistakes are not reported.
    inherited: bool,
}

#[derive(Clone, Debug, Default)]
struct Entry {
    full: RawLook,
    ansi: Option<RawLook>,
    mono: Option<Modifier>,
}

#[derive(Clone, Debug, Default)]
struct RawLook {
    fg: Option<Located<String>>,
    bg: Option<Located<String>>,
    modifiers: Modifier,
}

/// The longest chain of themes that inherit from each other.
const MAX_PARENTS: usize = 8;

/// Loads a theme. `find` returns the text of a theme to inherit from.
///
/// Always returns a theme: invalid entries are left out and reported.
pub fn load(name: &str, text: &str, find: impl Fn(&str) -> Option<String>) -> (Palette, Vec<ThemeProblem>) {
    let (mut file, mut problems) = ThemeFile::parse(text);
    let appearance = file.appearance;
    for _ in 0..MAX_PARENTS {
        let parent = match file.inherits.take() {
            Some(none) if none == "none" => break,
            Some(parent) => parent,
            None => super::builtin::standard_name(file.appearance.unwrap_or_default()).to_owned(),
        };
        // A file may replace its own parent; then it inherits from the built-in one.
        let other = find(&parent).filter(|_| parent != name);
        let Some(text) = other.or_else(|| super::builtin::text(&parent).map(str::to_owned)) else {
            let hint = hint(&parent, super::builtin::names());
            problems
                .push(ThemeProblem { line: 1, message: format!("there is no theme `{parent}` to inherit from{hint}") });
            continue;
        };
        file.inherit(ThemeFile::parse(&text).0);
    }
    let specs = file.specs(&mut problems);
    problems.sort_by_key(|problem| problem.line);
    let appearance = appearance.or(file.appearance).unwrap_or_default();
    (Palette { name: name.to_owned(), about: file.about, appearance, specs }, problems)
}

impl ThemeFile {
    /// Parses a file, as far as it is valid.
    pub fn parse(text: &str) -> (Self, Vec<ThemeProblem>) {
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut reader = Reader::new(text);
        for error in errors {
            let line = reader.line(&error.span().unwrap_or_default());
            reader.problems.push(ThemeProblem { line, message: error.message().to_owned() });
        }
        let file = reader.file(table.get_ref());
        (file, reader.problems)
    }

    /// Fills unset values from `parent`.
    fn inherit(&mut self, parent: Self) {
        for (name, mut value) in parent.palette {
            value.inherited = true;
            self.palette.entry(name).or_insert(value);
        }
        for (role, entry) in parent.roles {
            self.roles.entry(role).or_insert_with(|| entry.inherited());
        }
        self.appearance = self.appearance.or(parent.appearance);
        // The parent's `inherits` decides whether the chain continues.
        self.inherits = parent.inherits;
    }

    fn specs(&self, problems: &mut Vec<ThemeProblem>) -> Vec<Spec> {
        let specs: BTreeMap<Role, Spec> = self
            .roles
            .iter()
            .map(|(role, entry)| {
                let full = self.look(&entry.full, problems);
                let ansi = entry.ansi.as_ref().map(|look| self.look(look, problems));
                (*role, Spec { full, ansi, mono: entry.mono })
            })
            .collect();
        let find = |role: Role| {
            let mut at = role;
            loop {
                match specs.get(&at) {
                    Some(spec) => break *spec,
                    None if at == Role::Background => break Spec::default(),
                    None => at = at.fallback(),
                }
            }
        };
        Role::ALL
            .iter()
            .map(|role| {
                let mut spec = find(*role);
                if !specs.contains_key(role) {
                    // Modifiers for no colour belong to the role itself, not to its fallback.
                    spec.mono = None;
                }
                if *role == Role::Text {
                    // Text is drawn on many backgrounds: it must not bring the background of the screen along.
                    spec.full.bg = None;
                    spec.ansi = spec.ansi.map(|look| Look { bg: None, ..look });
                }
                spec
            })
            .collect()
    }

    fn look(&self, raw: &RawLook, problems: &mut Vec<ThemeProblem>) -> Look {
        let mut colour = |name: &Option<Located<String>>| name.as_ref().and_then(|name| self.colour(name, problems));
        Look { fg: colour(&raw.fg), bg: colour(&raw.bg), modifiers: raw.modifiers }
    }

    fn colour(&self, name: &Located<String>, problems: &mut Vec<ThemeProblem>) -> Option<Colour> {
        let mut word = &name.value;
        for _ in 0..MAX_PARENTS {
            match self.palette.get(word) {
                Some(next) if next.value != *word => word = &next.value,
                _ => break,
            }
        }
        let colour = Colour::parse(word);
        if colour.is_none() && !name.inherited {
            let known = self.palette.keys().map(String::as_str).chain(NAMES).chain(["terminal"]);
            let hint = hint(word, known);
            let message = format!("`{word}` is neither a colour (#rrggbb, red, terminal) nor in the palette{hint}");
            problems.push(ThemeProblem { line: name.line, message });
        }
        colour
    }
}

impl Entry {
    fn inherited(mut self) -> Self {
        let looks = [Some(&mut self.full), self.ansi.as_mut()];
        for colour in looks.into_iter().flatten().flat_map(|look| [&mut look.fg, &mut look.bg]).flatten() {
            colour.inherited = true;
        }
        self
    }
}

fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let likeness = |name: &str| strsim::jaro_winkler(name, word);
    let near = known.into_iter().filter(|name| likeness(name) > 0.75);
    match near.max_by(|a, b| likeness(a).total_cmp(&likeness(b))) {
        Some(name) => format!("; did you mean `{name}`?"),
        None => String::new(),
    }
}

struct Reader {
    /// The offsets of line ends.
    breaks: Vec<usize>,
    problems: Vec<ThemeProblem>,
}

impl Reader {
    fn new(text: &str) -> Self {
        Self { breaks: memchr::memchr_iter(b'\n', text.as_bytes()).collect(), problems: Vec::new() }
    }

    fn line(&self, span: &Range<usize>) -> usize {
        self.breaks.partition_point(|at| *at < span.start) + 1
    }

    fn wrong(&mut self, span: &Range<usize>, message: impl Into<String>) {
        if span.is_empty() {
            // The parser inserts such values for text that it could not read, and has reported that.
            return;
        }
        let problem = ThemeProblem { line: self.line(span), message: message.into() };
        self.problems.push(problem);
    }

    fn file(&mut self, table: &DeTable<'_>) -> ThemeFile {
        let mut file = ThemeFile::default();
        for (key, value) in table {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("about", DeValue::String(text)) => text.as_ref().clone_into(&mut file.about),
                ("inherits", DeValue::String(name)) => file.inherits = Some(name.as_ref().to_owned()),
                ("appearance", DeValue::String(word)) => match word.as_ref() {
                    "dark" => file.appearance = Some(Appearance::Dark),
                    "light" => file.appearance = Some(Appearance::Light),
                    _ => self.wrong(&value.span(), format!("`{word}` is not an appearance: `dark` or `light`")),
                },
                ("palette", DeValue::Table(colours)) => self.palette(colours, &mut file),
                ("roles", DeValue::Table(roles)) => self.roles("", roles, &mut file),
                ("about" | "inherits" | "appearance" | "palette" | "roles", other) => {
                    let message = format!("`{}` cannot be a {}", key.get_ref(), other.type_str());
                    self.wrong(&value.span(), message);
                }
                (name, _) => {
                    let hint = hint(name, ["about", "inherits", "appearance", "palette", "roles"]);
                    self.wrong(&key.span(), format!("a theme has no `{name}`{hint}"));
                }
            }
        }
        file
    }

    fn palette(&mut self, colours: &DeTable<'_>, file: &mut ThemeFile) {
        for (key, value) in colours {
            match self.word(value) {
                Some(colour) => drop(file.palette.insert(key.get_ref().as_ref().to_owned(), colour)),
                None => self.wrong(&value.span(), format!("`{}` must be a colour in quotes", key.get_ref())),
            }
        }
    }

    fn roles(&mut self, group: &str, table: &DeTable<'_>, file: &mut ThemeFile) {
        for (key, value) in table {
            let name = format!("{group}{}", key.get_ref());
            if let Some(role) = Role::named(&name) {
                if let Some(entry) = self.entry(value) {
                    file.roles.insert(role, entry);
                }
            } else if let DeValue::Table(inner) = value.get_ref()
                && Role::ALL.iter().any(|role| role.name().starts_with(&format!("{name}.")))
            {
                self.roles(&format!("{name}."), inner, file);
            } else {
                let near = Role::nearest(&name).map(|role| format!("; did you mean `{}`?", role.name()));
                self.wrong(&key.span(), format!("there is no role `{name}`{}", near.unwrap_or_default()));
            }
        }
    }

    fn entry(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Entry> {
        let DeValue::Table(table) = value.get_ref() else {
            return self.raw_look(value).map(|full| Entry { full, ..Entry::default() });
        };
        let mut entry = Entry { full: self.raw_look(value)?, ..Entry::default() };
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "ansi" => entry.ansi = self.raw_look(value),
                "mono" => entry.mono = Some(self.modifiers(value)),
                _ => {}
            }
        }
        Some(entry)
    }

    fn raw_look(&mut self, value: &Spanned<DeValue<'_>>) -> Option<RawLook> {
        if let Some(fg) = self.word(value) {
            return Some(RawLook { fg: Some(fg), ..RawLook::default() });
        }
        let DeValue::Table(table) = value.get_ref() else {
            self.wrong(&value.span(), "a style is a colour in quotes or a table with `fg`, `bg`, `modifiers`");
            return None;
        };
        let mut look = RawLook::default();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "fg" | "bg" => {
                    let colour = self.word(value);
                    if colour.is_none() {
                        self.wrong(&value.span(), format!("`{}` must be a colour in quotes", key.get_ref()));
                    }
                    if key.get_ref() == "fg" { look.fg = colour } else { look.bg = colour }
                }
                "modifiers" => look.modifiers = self.modifiers(value),
                "ansi" | "mono" => {}
                name => {
                    let hint = hint(name, ["fg", "bg", "modifiers", "ansi", "mono"]);
                    self.wrong(&key.span(), format!("a style has no `{name}`{hint}"));
                }
            }
        }
        Some(look)
    }

    fn modifiers(&mut self, value: &Spanned<DeValue<'_>>) -> Modifier {
        const WORDS: [(&str, Modifier); 6] = [
            ("bold", Modifier::BOLD),
            ("dim", Modifier::DIM),
            ("italic", Modifier::ITALIC),
            ("underline", Modifier::UNDERLINED),
            ("reverse", Modifier::REVERSED),
            ("strike", Modifier::CROSSED_OUT),
        ];
        let DeValue::Array(words) = value.get_ref() else {
            self.wrong(&value.span(), "modifiers are a list, such as [\"bold\"]");
            return Modifier::empty();
        };
        let mut all = Modifier::empty();
        for word in words {
            let name = word.get_ref().as_str().unwrap_or_default();
            match WORDS.iter().find(|(known, _)| *known == name) {
                Some((_, modifier)) => all |= *modifier,
                None => {
                    let hint = hint(name, WORDS.map(|(known, _)| known));
                    self.wrong(&word.span(), format!("there is no modifier `{name}`{hint}"));
                }
            }
        }
        all
    }

    fn word(&self, value: &Spanned<DeValue<'_>>) -> Option<Located<String>> {
        let line = self.line(&value.span());
        value.get_ref().as_str().map(|word| Located { value: word.to_owned(), line, inherited: false })
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
