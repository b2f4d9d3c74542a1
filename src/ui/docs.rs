//! Generates `docs/keys.md` from the tables of actions and glyphs. A test fails if the file is out of date.

use std::fmt::Write as _;

use crate::theme::Glyphs;
use crate::ui::action::{Context, TABLE};

/// Returns the content of `docs/keys.md`.
pub fn keys_page() -> String {
    let mut page = String::from(
        "# Keys\n\n\
         <!-- generated from src/ui/action.rs; change the table, then run the tests with MXD_UPDATE_DOCS=1 -->\n\n\
         Every action has a name, and most have keys. Press `?` to see the keys for the current context and `:` to find an\n\
         action by name. Type `/name` in the composer to run one. Keys of the focused part take precedence over those that\n\
         work everywhere. While you type text, a plain character never triggers an action.\n\n\
         Change keys with the setting `keys`: `\"keys\": {\"quit\": [\"ctrl-q\"], \"help\": []}`. A key is a character or one of\n\
         enter, esc, tab, space, backspace, delete, insert, home, end, pageup, pagedown, up, down, left, right, f1 to f35,\n\
         with any of the prefixes `ctrl-`, `alt-`, `shift-`, `super-`. Separate keys that are pressed one after another with\n\
         spaces. Your keys replace conflicting defaults.\n",
    );
    for context in Context::ALL {
        let _ = write!(page, "\n## {}\n\n| keys | name | |\n|---|---|---|\n", context.title());
        for entry in TABLE.iter().filter(|entry| entry.contexts.contains(&context)) {
            let keys: Vec<_> = entry.keys.iter().map(|key| format!("`{}`", key.replace('|', "\\|"))).collect();
            let _ = writeln!(page, "| {} | `{}` | {} |", keys.join(" "), entry.name, entry.help);
        }
    }
    page.push_str("\n## Signs\n\nThe second sign is used where the terminal shows only ASCII.\n\n| sign | ASCII | |\n|---|---|---|\n");
    for (sign, ascii) in Glyphs::UNICODE.legend().iter().zip(Glyphs::ASCII.legend()) {
        let ascii = ascii.glyph.replace('|', "\\|");
        let _ = writeln!(
            page,
            "| {} | `{}` | {} |",
            sign.glyph,
            if ascii == "`" { "'".to_owned() } else { ascii },
            sign.about
        );
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_page_is_up_to_date() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/keys.md");
        let page = keys_page();
        if std::env::var_os("MXD_UPDATE_DOCS").is_some() {
            std::fs::write(&path, &page).unwrap();
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(stored == page, "docs/keys.md is not up to date; run the tests with MXD_UPDATE_DOCS=1");
    }
}
