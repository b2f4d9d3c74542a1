use super::*;

const COLUMNS: [Column; 4] = [
    Column::right("#"),
    Column::left("Task").fit(Fit::Flexible),
    Column::right("Cost"),
    Column::left("Id").fit(Fit::Optional),
];

fn table(rows: &[[&str; 4]]) -> Table {
    let mut table = Table::new(&COLUMNS);
    rows.iter().for_each(|row| table.push(row.iter().map(|text| cell(*text, Style::Plain)).collect()));
    table
}

fn text(table: &Table, width: usize) -> Vec<String> {
    let join = |line: Vec<Span>| line.into_iter().map(|span| span.text).collect::<String>();
    table.lines(width).into_iter().map(join).collect()
}

#[test]
fn columns_are_aligned_below_their_headers() {
    let table = table(&[["1", "Main", "$1.50", "01AA"], ["12", "日本 docs", "$10.00", "01BB"]]);
    assert_eq!(
        text(&table, 80),
        [" #  Task         Cost  Id", " 1  Main        $1.50  01AA", "12  日本 docs  $10.00  01BB"]
    );
    assert_eq!(table.lines(80)[0][1].style, Style::Dim);
}

#[test]
fn an_empty_column_is_left_out() {
    let table = table(&[["1", "Main", "", "01AA"]]);
    assert_eq!(text(&table, 80), ["#  Task  Id", "1  Main  01AA"]);
}

#[test]
fn a_narrow_terminal_cuts_the_title_and_drops_the_optional_column() {
    let title = "A title that is quite a lot longer than the others";
    let table = table(&[["1", title, "$1.50", "01AAAAAAAAAAAA"]]);
    let lines = text(&table, 60);
    assert!(lines.iter().all(|line| line.width() <= 60), "{lines:?}");
    assert!(lines[1].contains("A title that is quite a lot") && lines[1].ends_with("01AAAAAAAAAAAA"), "{lines:?}");
    let lines = text(&table, 40);
    assert!(lines.iter().all(|line| line.width() <= 40), "{lines:?}");
    assert!(lines[1].contains('…') && lines[1].ends_with("$1.50"), "{lines:?}");
    let lines = text(&table, 10);
    assert!(lines[1].contains("A title that is…"), "the title stays readable: {lines:?}");
}

#[test]
fn room_that_a_dropped_column_leaves_goes_to_the_title() {
    let table = table(&[["1", "A title of thirty-two characters", "$1.50", &"x".repeat(80)]]);
    assert_eq!(text(&table, 60)[1], "1  A title of thirty-two characters  $1.50");
}

#[test]
fn a_text_is_wrapped_at_words() {
    assert_eq!(wrap("one two three four five", 16), ["one two three", "four five"]);
    assert_eq!(wrap("a-word-that-is-longer-than-the-line b", 16), ["a-word-that-is-longer-than-the-line", "b"]);
    assert_eq!(wrap("all of it on one line", usize::MAX), ["all of it on one line"]);
}
