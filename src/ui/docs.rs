//! The page about keys, made from the table of actions. A test fails when `docs/keys.md` says something else.

use std::fmt::Write as _;

use crate::ui::action::{Context, TABLE};

/// Returns the whole of `docs/keys.md`.
pub fn keys_page() -> String {
    let mut page = String::from(
        "# Keys\n\n\
         <!-- generated from src/ui/action.rs; change the table, then run the tests with MXD_UPDATE_DOCS=1 -->\n\n\
         Everything that can be done has a name, and most of it has a key. `?` shows this list for where you are, `:` finds\n\
         an action by its name, and `/name` in the composer runs one. The nearer place wins over the wider one; a plain\n\
         character never does anything but type while text is written.\n\n\
         The setting `keys` changes the keys of an action: `\"keys\": {\"quit\": [\"ctrl-q\"], \"help\": []}`. A key is a\n\
         character or one of enter, esc, tab, space, backspace, delete, insert, home, end, pageup, pagedown, up, down, left,\n\
         right, f1 to f35, after any of `ctrl-`, `alt-`, `shift-`, `super-`; several keys with spaces between are pressed one\n\
         after another. A default that is in the way of a key of yours yields.\n",
    );
    for context in Context::ALL {
        let _ = write!(page, "\n## {}\n\n| keys | name | |\n|---|---|---|\n", context.title());
        for entry in TABLE.iter().filter(|entry| entry.contexts.contains(&context)) {
            let keys: Vec<_> = entry.keys.iter().map(|key| format!("`{}`", key.replace('|', "\\|"))).collect();
            let _ = writeln!(page, "| {} | `{}` | {} |", keys.join(" "), entry.name, entry.help);
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_about_keys_is_up_to_date() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/keys.md");
        let page = keys_page();
        if std::env::var_os("MXD_UPDATE_DOCS").is_some() {
            std::fs::write(&path, &page).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == page, "docs/keys.md is not up to date; run the tests with MXD_UPDATE_DOCS=1");
    }
}
