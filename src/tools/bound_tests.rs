use proptest::prelude::*;

use super::*;

fn snapshot(bytes: &[u8], keep: usize) -> OutputSnapshot {
    OutputSnapshot {
        head: bytes[..bytes.len().min(keep)].to_vec(),
        tail: bytes[bytes.len().saturating_sub(keep)..].to_vec(),
        total: bytes.len() as u64,
        lines: line_breaks(bytes),
        has_nul: bytes.contains(&0),
        closed: true,
        ..OutputSnapshot::default()
    }
}

fn numbered() -> String {
    (0..100).fold(String::new(), |text, n| text + &format!("line {n}\n"))
}

#[test]
fn short_output_is_whole_and_long_output_has_both_ends() {
    let short = output(&snapshot(b"hello\n", 100), 100);
    assert_eq!(short, TruncatedText { text: "hello\n".to_owned(), is_cut: false });
    let long = numbered();
    let bounded = output(&snapshot(long.as_bytes(), 200), 100);
    assert!(bounded.is_cut);
    assert_eq!(
        bounded.text,
        "line 0\nline 1\nline 2\nline 3\nline 4\nline 5\nline 6\n\
         [… 693 B in 87 lines cut here …]\n\
         line 94\nline 95\nline 96\nline 97\nline 98\nline 99\n"
    );
}

#[test]
fn binary_output_is_described_and_not_shown() {
    assert_eq!(output(&snapshot(b"\x7fELF\0\0", 100), 100).text, "[binary output, 6 B: not shown]");
    assert!(output(&snapshot(&[0xff; 50], 100), 100).text.contains("binary"));
}

#[test]
fn a_few_invalid_bytes_are_tolerated() {
    let text = output(&snapshot(b"caf\xe9 au lait, s'il vous plait\n", 100), 100).text;
    assert_eq!(text, "caf\u{fffd} au lait, s'il vous plait\n");
}

#[test]
fn the_latest_output_is_the_end() {
    let long = numbered();
    let bounded = latest(&snapshot(long.as_bytes(), 500), 30);
    assert_eq!(bounded.text, "[766 B before this not shown]\nline 97\nline 98\nline 99\n");
}

proptest! {
    #[test]
    fn bounded_output_adds_up_to_the_total(
        text in "([a-z漢🙂é ]{0,30}\n?){0,60}",
        budget in 0_usize..400,
    ) {
        let bounded = output(&snapshot(text.as_bytes(), budget.max(1)), budget);
        prop_assert!(bounded.text.len() <= budget + 80, "{} of {budget}", bounded.text.len());
        if text.len() <= budget {
            prop_assert_eq!(&bounded.text, &text);
        } else if bounded.is_cut {
            let (head, rest) = bounded.text.split_once("[… ").unwrap();
            let tail = rest.split_once("…]\n").unwrap().1;
            prop_assert!(text.starts_with(head) || text.starts_with(head.strip_suffix('\n').unwrap()));
            prop_assert!(text.ends_with(tail));
        }
    }

    #[test]
    fn any_bytes_are_bounded(bytes in prop::collection::vec(any::<u8>(), 0..2000), budget in 0_usize..500) {
        let bounded = output(&snapshot(&bytes, budget.max(1)), budget);
        // An invalid byte becomes a three-byte replacement, and text has at most one in ten.
        prop_assert!(bounded.text.len() <= budget * 2 + 80);
        let shown = super::text(&String::from_utf8_lossy(&bytes), budget);
        prop_assert!(shown.len() <= budget + 80);
    }
}
