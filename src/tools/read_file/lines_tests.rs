use super::*;

fn part(text: &[u8], offset: u64, limit: Option<u64>, budget: usize) -> String {
    read(text, LineRange { offset, byte: None, limit }, budget, &|| false).unwrap()
}

#[test]
fn lines_are_numbered_and_a_missing_last_break_changes_nothing() {
    assert_eq!(part(b"a\nb\n", 1, None, 1000), ": lines 1-2 of 2\n     1\ta\n     2\tb");
    assert_eq!(part(b"a\nb", 1, None, 1000), part(b"a\nb\n", 1, None, 1000));
    assert_eq!(part(b"a\r\nb\r\n", 2, None, 1000), ": lines 2-2 of 2\n     2\tb");
    assert_eq!(part(b"", 1, None, 1000), ": the file is empty.");
}

#[test]
fn a_part_names_the_next_offset() {
    let text = (1..=10).fold(String::new(), |text, n| text + &format!("line {n}\n"));
    assert_eq!(
        part(text.as_bytes(), 3, Some(2), 1000),
        ": lines 3-4 of 10\n     3\tline 3\n     4\tline 4\n[6 more lines: go on with offset 5]"
    );
    assert_eq!(part(text.as_bytes(), 99, None, 1000), ": it has only 10 lines; there is nothing at offset 99.");
}

#[test]
fn the_byte_cap_leaves_whole_lines_and_at_least_one() {
    let text = "x".repeat(100) + "\n" + &"y".repeat(100) + "\n";
    let said = part(text.as_bytes(), 1, None, 10);
    assert!(said.contains("lines 1-1 of 2") && said.ends_with("[1 more line: go on with offset 2]"), "{said}");
}

#[test]
fn long_lines_are_cut_and_invalid_bytes_tolerated() {
    let text = "z".repeat(5000);
    let said = part(text.as_bytes(), 1, None, 100_000);
    assert!(
        said.ends_with("z [line cut: 5.0 KB in all; go on with offset 1, byte 2000]"),
        "{}",
        &said[said.len() - 60..]
    );
    assert!(said.len() < 2200, "{}", said.len());
    assert!(part(b"caf\xe9\n", 1, None, 1000).contains("caf\u{fffd}"));
}

#[test]
fn following_the_offsets_reads_everything_once() {
    let text = (1..=57).fold(String::new(), |text, n| text + &"w".repeat(n) + "\n");
    let (mut offset, mut seen) = (1, Vec::new());
    loop {
        let said = part(text.as_bytes(), offset, None, 300);
        seen.extend(said.lines().filter_map(|line| line.split_once('\t')).map(|(_, line)| line.len()));
        match said.rsplit_once("go on with offset ") {
            Some((_, next)) => offset = next.trim_end_matches(']').parse().unwrap(),
            None => break,
        }
    }
    assert_eq!(seen, (1..=57).collect::<Vec<_>>());
}

#[test]
fn a_cancelled_read_stops() {
    let all = LineRange { offset: 1, byte: None, limit: None };
    assert!(read(std::io::repeat(b'x'), all, 1000, &|| true).is_err());
}

#[test]
fn following_the_bytes_reads_a_long_line_once_between_characters() {
    let long: String = (0..9000).map(|n| ['a', 'é', '漢', '🦀'][n % 4]).collect();
    let text = format!("first\n{long}\nlast\n");
    let (mut byte, mut seen) = (None, String::new());
    loop {
        let said = read(text.as_bytes(), LineRange { offset: 2, byte, limit: Some(1) }, 5000, &|| false).unwrap();
        let line = said.lines().nth(1).unwrap().split_once('\t').unwrap().1;
        let Some((piece, notice)) = line.split_once(" [line cut: ") else {
            seen.push_str(line);
            break;
        };
        seen.push_str(piece);
        byte = Some(notice.split_once("offset 2, byte ").unwrap().1.trim_end_matches(']').parse().unwrap());
    }
    assert_eq!(seen, long);
    let past = read(text.as_bytes(), LineRange { offset: 1, byte: Some(99), limit: Some(1) }, 5000, &|| false).unwrap();
    assert!(past.contains("the line has only 5 bytes"), "{past}");
}
