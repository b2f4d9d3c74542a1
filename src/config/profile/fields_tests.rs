use super::*;

#[test]
fn the_schema_has_every_field_and_requires_the_description() {
    let schema = schema();
    for field in &FIELDS {
        assert_eq!(schema["properties"][field.name]["description"], field.about);
    }
    assert_eq!(schema["required"], json!(["description"]));
}

#[test]
fn every_field_is_in_the_documentation() {
    let page = include_str!("../../../docs/profiles.md");
    for field in &FIELDS {
        assert!(page.contains(&format!("`{}`", field.name)), "docs/profiles.md has no `{}`", field.name);
    }
}

#[test]
fn no_name_has_two_meanings() {
    let mut names: Vec<String> = FIELDS.iter().map(|field| fold(field.name)).collect();
    names.extend(UNSUPPORTED.iter().map(|(name, _)| (*name).to_owned()));
    names.extend(SILENT.map(str::to_owned));
    names.extend(ALIASES.iter().map(|(alias, _)| (*alias).to_owned()));
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}
