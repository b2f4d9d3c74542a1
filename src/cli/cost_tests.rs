use super::*;
use crate::base::MicroUsd;
use crate::model::TaskNumber;

#[test]
fn a_terminal_gets_a_table_with_a_total() {
    let row = |name: &str, number, tokens, cost, unpriced| CostRow {
        name: name.to_owned(),
        number: TaskNumber::new(number),
        responses: 12,
        tokens,
        cost: MicroUsd(cost),
        unpriced,
        ..CostRow::default()
    };
    let rows = [row("Token store", 2, 1_234_567, 1_500_000, 0), row("Docs", 11, 999, 20_000, 1)];
    let lines: Vec<String> = table(By::Task, &rows)
        .lines(80)
        .into_iter()
        .map(|line| line.into_iter().map(|span| span.text).collect())
        .collect();
    assert_eq!(
        lines,
        [
            "          Cost     Tokens  Turns   #  Task",
            "         $1.50  1,234,567     12   2  Token store",
            "at least $0.02        999     12  11  Docs",
            "at least $1.52  1,235,566     24      total",
        ]
    );
}

#[test]
fn the_json_names_its_units_and_reads_the_earlier_names() {
    let row = CostRow { name: "Docs".to_owned(), cost: MicroUsd(526_134), unpriced: 2, ..CostRow::default() };
    let json = serde_json::to_value(&row).unwrap();
    assert_eq!((&json["cost_micro_usd"], &json["unpriced_responses"]), (&526_134.into(), &2.into()));
    assert_eq!(json.get("cost"), None);
    let old = r#"{"name":"Docs","responses":0,"tokens":0,"cost":526134,"unpriced":2}"#;
    assert_eq!(serde_json::from_str::<CostRow>(old).unwrap(), row);
}
