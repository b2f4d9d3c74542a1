use proptest::prelude::*;

use super::*;
use crate::text::MEASURE;
use crate::text::row::copied;
use crate::theme::{Glyphs, Role};

fn page(width: usize) -> Page {
    Page::new(width, &Glyphs::UNICODE)
}

fn shown(source: &str, width: usize) -> Vec<String> {
    render(source, page(width)).iter().map(|row| row.shown().trim_end().to_owned()).collect()
}

fn role_of(source: &str, word: &str) -> Role {
    let rows = render(source, page(80));
    let span = rows.iter().flat_map(|row| &row.spans).find(|span| span.text.contains(word));
    span.unwrap_or_else(|| panic!("no `{word}`")).ink.role
}

#[test]
fn paragraphs_wrap_and_headings_stand_apart() {
    let source = "# Title\nSome *emphasised* and **strong** words\nthat go on.\n\n### Minor";
    assert_eq!(
        shown(source, 24),
        ["Title", &"─".repeat(24), "", "Some emphasised and", "strong words that go on.", "", "Minor"]
    );
    assert_eq!(role_of(source, "Title"), Role::HeadingTop);
    assert_eq!(role_of(source, "Minor"), Role::HeadingMinor);
    assert_eq!(role_of(source, "emphasised"), Role::Emphasis);
    assert_eq!(role_of(source, "strong"), Role::Strong);
    assert_eq!(role_of("a ~~gone~~ `x`", "gone"), Role::Strike);
    assert_eq!(role_of("a ~~gone~~ `x`", "x"), Role::Code);
}

#[test]
fn lists_nest_number_and_tick() {
    let source = "- one two three four\n  - inner\n- [x] done\n- [ ] open\n\ntext\n\n9. nine\n10. ten";
    assert_eq!(
        shown(source, 14),
        ["• one two", "  three four", "  ◦ inner", "☑ done", "☐ open", "", "text", "", " 9. nine", "10. ten"]
    );
}

#[test]
fn loose_lists_have_blank_lines() {
    assert_eq!(shown("- a\n\n- b", 20), ["• a", "", "• b"]);
    assert_eq!(shown("- a\n- b", 20), ["• a", "• b"]);
}

#[test]
fn quotes_have_a_bar_and_alerts_a_title() {
    assert_eq!(shown("> a b\n>\n> c", 20), ["▎ a b", "▎", "▎ c"]);
    assert_eq!(shown("> [!WARNING]\n> hot", 20), ["▎ Warning", "▎ hot"]);
    assert_eq!(role_of("> said", "said"), Role::Quote);
}

#[test]
fn code_has_a_label_colours_and_a_background() {
    let source = "```rust\nfn main() {\n\tlet x = 1;\n}\n```";
    assert_eq!(shown(source, 40), ["▎ rust", "▎ fn main() {", "▎     let x = 1;", "▎ }"]);
    let rows = render(source, page(40));
    assert!(rows.iter().all(|row| row.ground == Some(Role::CodeBg)));
    assert_eq!(role_of(source, "fn"), Role::SyntaxKeyword);
    assert_eq!(copied(&rows[1..]), "fn main() {\n    let x = 1;\n}");
}

#[test]
fn long_lines_of_code_wrap_with_a_sign_and_copy_whole() {
    let rows = render("```\nabcdefghijklmnop\n```", page(10));
    assert_eq!(rows.iter().map(Row::shown).collect::<Vec<_>>(), ["▎ abcdefgh", "▎↪ijklmnop"]);
    assert_eq!(copied(&rows), "abcdefghijklmnop");
}

#[test]
fn an_unclosed_fence_is_code() {
    assert_eq!(shown("text\n\n```sh\nls -la", 20), ["text", "", "▎ sh", "▎ ls -la"]);
}

#[test]
fn tables_fit_wrap_and_become_lists() {
    let source = "| name | what it is |\n|:--|--:|\n| a | some longer text |\n| bb | x |";
    assert_eq!(
        shown(source, 40),
        ["name │       what it is", "─────┼─────────────────", "a    │ some longer text", "bb   │                x"]
    );
    assert_eq!(
        shown(source, 17),
        [
            "name │ what it is",
            "─────┼───────────",
            "a    │       some",
            "     │ longer",
            "     │       text",
            "bb   │          x"
        ]
        .map(|row| if row.contains("longer") { "     │     longer" } else { row })
    );
    assert_eq!(shown(source, 10)[..2], ["name: a", "what it"]);
}

#[test]
fn links_show_their_address() {
    assert_eq!(shown("[here](https://a.example/x)", 60), ["here (https://a.example/x)"]);
    assert_eq!(shown("<https://a.example>", 60), ["https://a.example"]);
    assert_eq!(
        shown("[https://good.example](https://evil.example)", 60),
        ["https://good.example (https://evil.example)"]
    );
    assert_eq!(shown("[up](#top)", 60), ["up"]);
    assert_eq!(shown("![a cat](cat.png)", 60), ["a cat (cat.png)"]);
    assert_eq!(shown("<https://a.example><https://b.example>", 60), ["https://a.examplehttps://b.example"]);
}

#[test]
fn html_is_shown_as_it_was_written() {
    assert_eq!(shown("<div onclick=\"x\">\nhi\n</div>", 40), ["<div onclick=\"x\">", "hi", "</div>"]);
    assert_eq!(shown("a <b>bold</b><br>next", 40), ["a <b>bold</b>", "next"]);
}

#[test]
fn footnotes_rules_and_references_are_understood() {
    assert_eq!(shown("a[^1]\n\n[^1]: note", 40), ["a[1]", "", "[1] note"]);
    assert_eq!(shown("a\n\n---\n\nb", 5), ["a", "", "─────", "", "b"]);
    assert_eq!(shown("[x][r]\n\n[r]: https://r.example", 40), ["x (https://r.example)"]);
}

#[test]
fn escapes_in_text_links_and_code_are_harmless() {
    let source = "a \x1b[31mred\x1b[0m \u{202e}b\n\n[x](\u{202e}http://e)\n\n```\n\x1b]0;t\x07\n```\n\n<i\x1b[2J>";
    for row in render(source, page(40)) {
        assert!(!row.shown().contains(|c: char| c.is_control() || c == '\u{202e}'), "{row:?}");
    }
}

#[test]
fn copying_gives_markdown_back() {
    let rows = render("- one two three\n  - four\n\n> five six seven eight", page(14));
    assert_eq!(copied(&rows), "- one two three\n  - four\n\n> five six seven eight");
}

#[test]
fn deep_nesting_neither_overflows_nor_vanishes() {
    for source in [">".repeat(5000) + " end", "- ".repeat(3000) + "end", "*".repeat(9000) + "end"] {
        let rows = render(&source, page(30));
        assert!(rows.iter().any(|row| row.shown().contains("end")));
    }
}

#[test]
fn code_blocks_can_be_extracted() {
    assert_eq!(code_blocks("```sh\nls\n```\n\n- a\n\n  ```\n  x\n  ```"), ["ls\n", "x\n"]);
}

#[test]
fn finished_blocks_are_never_laid_out_again() {
    let mut stream = StreamingMarkdown::new(page(40));
    stream.push("# A\n\nfirst\n\nsecond");
    stream.rows();
    assert_eq!(stream.frozen_rows(), 2, "the heading and its rule; half a line could still be joined to the paragraph");
    stream.push(" goes on\n\n```rust\nfn a() {}\nfn b() {}\nfn");
    stream.rows();
    let frozen = stream.frozen_rows();
    assert_eq!(frozen, 6);
    stream.push(" c() {}\n```\nend");
    assert_eq!(stream.rows()[..frozen], render("# A\n\nfirst\n\nsecond goes on", page(40)));
}

#[test]
fn another_width_lays_everything_out_again() {
    let mut stream = StreamingMarkdown::new(page(40));
    let source = "one two three four\n\n- five six seven\n\n```rust\nlet eight = 9;\n";
    stream.push(source);
    stream.rows();
    stream.set_page(page(12));
    assert_eq!(stream.rows(), render(source, page(12)));
}

fn pieces_of_markdown() -> impl Strategy<Value = Vec<String>> {
    let fixed = prop::sample::select(vec![
        "# head\n",
        "\n",
        "\n\n",
        "text ",
        "text\n",
        "**bo",
        "ld** ",
        "*",
        "_",
        "~~x~~ ",
        "`code` ",
        "`",
        "```\n",
        "```rust\n",
        "~~~\n",
        "fn main() {}\n",
        "let s = \"",
        "/* ",
        "- item\n",
        "  - nested\n",
        "* star\n",
        "1. one\n",
        "12) twelve\n",
        "- [x] done\n",
        "- [ ] open\n",
        "    indented\n",
        "\t",
        "> quote\n",
        "> > deep\n",
        ">",
        "> [!NOTE]\n",
        "| a | b |\n",
        "|---|--:|\n",
        "| c ",
        "| d |\n",
        "---\n",
        "===\n",
        "***\n",
        "-",
        "=",
        "#",
        "[link](http://x.example)",
        "[ref]",
        "[ref]: http://r.example\n",
        "[^1]",
        "[^1]: note\n",
        "![img](a.png)",
        "<div>\n",
        "</div>\n",
        "<br>",
        "<b>",
        "<!-- c\n",
        "-->\n",
        "http://u.example ",
        "\\",
        "\r\n",
        "\r",
        "日本語",
        "👩‍👩‍👧",
        "\u{301}",
        "\x1b[31m",
        "\u{202e}",
        "  \n",
        "&amp;",
        "|",
    ]);
    prop::collection::vec(prop_oneof![20 => fixed.prop_map(str::to_owned), 1 => any::<String>()], 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn chunking_does_not_change_the_rows(parts in pieces_of_markdown(), cuts in any::<u64>(), width in 1usize..60) {
        let mut stream = StreamingMarkdown::new(page(width));
        let mut source = String::new();
        for (at, part) in parts.iter().enumerate() {
            let middle = part.floor_char_boundary(part.len() / 2);
            for half in [&part[..middle], &part[middle..]] {
                source.push_str(half);
                stream.push(half);
                if cuts >> (at % 64) & 1 == 1 {
                    prop_assert!(stream.rows() == render(&source, page(width)), "{source:?}");
                }
            }
        }
        prop_assert!(stream.rows() == render(&source, page(width)), "{source:?}");
    }

    #[test]
    fn rows_fit_the_page_and_contain_no_controls(parts in pieces_of_markdown(), width in 16usize..60) {
        for row in render(&parts.concat(), page(width)) {
            prop_assert!(row.width() <= width, "{} in {width}: {:?}", row.width(), row.shown());
            prop_assert!(!row.shown().contains(char::is_control));
        }
    }
}

#[test]
fn words_are_one_line_without_markup() {
    assert_eq!(words("# Which **way**?\n\n- `one`\n- two  \n"), "Which way? - one - two");
    assert_eq!(words(""), "");
    assert_eq!(words("\u{1b}[31mred\tapple"), words("\u{1b}[31mred apple"));
    assert!(!words("\u{1b}[31mred").contains('\u{1b}'));
}

#[test]
fn prose_has_a_maximum_width_and_code_has_none() {
    let source = format!("{}\n\n- {}\n\n```\n{}\n```\n", "word ".repeat(80), "item ".repeat(80), "x".repeat(250));
    let rows = render(&source, page(300));
    let widest = |letter: char| rows.iter().filter(|row| row.shown().contains(letter)).map(Row::width).max();
    assert!(widest('w').is_some_and(|width| width <= MEASURE && width > MEASURE - 8), "{:?}", widest('w'));
    assert!(widest('m').is_some_and(|width| width <= MEASURE && width > MEASURE - 8), "{:?}", widest('m'));
    assert!(widest('x').is_some_and(|width| width >= 250), "{:?}", widest('x'));
}

#[test]
fn headings_have_a_hierarchy() {
    let rows = render("# One\n\n## Two\n\n### Three\n", Page::new(20, &Glyphs::UNICODE));
    let shown: Vec<_> = rows.iter().map(Row::shown).collect();
    assert_eq!(shown, ["One", &"─".repeat(20), "", "Two", "", "Three"]);
    let role = |row: usize| rows[row].spans[0].ink.role;
    assert_eq!([role(0), role(3), role(5)], [Role::HeadingTop, Role::Heading, Role::HeadingMinor]);
    assert_eq!(copied(&rows[0..2]).trim_end(), "One", "the rule is not copied");
}
