use super::*;

fn request(name: &str) -> TokenRequest {
    TokenRequest { name: name.to_owned(), scopes: [Scope::Read].into(), projects: None, expires: None }
}

#[test]
fn only_the_hash_of_a_token_is_stored_and_only_for_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let file = TokenFile::new(&Home::at(folder.path()));
    let token = file.add(request("phone"), Timestamp::EPOCH).unwrap();
    let stored = std::fs::read_to_string(file.path()).unwrap();
    assert!(!stored.contains(token.expose()));
    assert_eq!(file.list().unwrap()[0].hash, TokenHash::of(token.expose()));
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(file.path()).unwrap());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_name_is_used_once_and_free_after_its_token_is_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let file = TokenFile::new(&Home::at(folder.path()));
    let first = file.add(request("phone"), Timestamp::EPOCH).unwrap();
    assert!(file.add(request("phone"), Timestamp::EPOCH).is_err());
    file.revoke("phone").unwrap();
    assert!(file.revoke("phone").is_err());
    let second = file.add(request("phone"), Timestamp::EPOCH).unwrap();
    assert_ne!(first, second);
    assert_eq!(file.list().unwrap().len(), 1);
}

#[test]
fn names_that_could_be_confused_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = TokenFile::new(&Home::at(folder.path()));
    for name in ["", "a b", "a\nb", "käse", "../x", &"a".repeat(41)] {
        assert!(file.add(request(name), Timestamp::EPOCH).is_err(), "{name:?}");
    }
    assert!(file.add(TokenRequest { scopes: BTreeSet::new(), ..request("x") }, Timestamp::EPOCH).is_err());
}

#[test]
fn the_key_of_the_page_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = TokenFile::new(&Home::at(folder.path()));
    assert_eq!(file.page_key().unwrap(), file.page_key().unwrap());
}
