use super::*;
use crate::base::{SystemClock, Timestamp};
use crate::config::paths::Home;
use crate::serve::http::tokens::TokenRequest;

struct Fixture {
    _folder: tempfile::TempDir,
    file: TokenFile,
    access: Arc<Access>,
}

fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let file = TokenFile::new(&Home::at(folder.path()));
    let access = Access::open(file.clone(), &Secret::new("start token"), Arc::new(SystemClock)).unwrap();
    Fixture { _folder: folder, file, access }
}

fn token(file: &TokenFile, name: &str, expires: Option<Timestamp>) -> Secret {
    let request =
        TokenRequest { name: name.to_owned(), scopes: [Scope::Read, Scope::Send].into(), projects: None, expires };
    file.add(request, Timestamp::EPOCH).unwrap()
}

#[test]
fn a_token_is_valid_from_its_making_until_it_is_revoked_while_the_server_runs() {
    let Fixture { _folder, file, access } = fixture();
    let phone = token(&file, "phone", None);
    let client = access.client_with_token(phone.expose()).unwrap();
    assert_eq!((client.name.as_str(), client.may(Scope::Send), client.may(Scope::Run)), ("phone", true, false));
    assert!(access.is_current(&client));
    file.revoke("phone").unwrap();
    assert_eq!(access.client_with_token(phone.expose()), None);
    assert!(!access.is_current(&client));
}

#[test]
fn an_expired_token_is_none_and_the_start_token_may_do_everything() {
    let Fixture { _folder, file, access } = fixture();
    let old = token(&file, "old", Some(Timestamp::from_millis(1)));
    assert_eq!(access.client_with_token(old.expose()), None);
    assert_eq!(access.client_with_token("start token").unwrap().scopes(), Scope::ALL);
    assert_eq!(access.client_with_token(""), None);
}

#[test]
fn a_ticket_logs_in_once() {
    let Fixture { access, .. } = fixture();
    let ticket = access.ticket_of_start_token().unwrap();
    let login = access.redeem(ticket.expose()).unwrap().unwrap();
    assert!(access.redeem(ticket.expose()).unwrap().is_none());
    let client = access.client_with_login(login.cookie.expose(), login.page.expose()).unwrap();
    assert_eq!(client.name, "start");
}

#[test]
fn a_damaged_file_of_tokens_lets_nobody_in() {
    let Fixture { _folder, file, access } = fixture();
    let phone = token(&file, "phone", None);
    std::fs::write(file.path(), "{").unwrap();
    assert_eq!(access.client_with_token(phone.expose()), None);
}

#[tokio::test(start_paused = true)]
async fn streams_are_told_when_a_token_is_revoked() {
    let Fixture { _folder, file, access } = fixture();
    token(&file, "phone", None);
    let mut changes = access.changes();
    tokio::spawn(Arc::clone(&access).watch_file());
    tokio::task::yield_now().await;
    file.revoke("phone").unwrap();
    changes.changed().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn streams_are_told_of_a_token_that_is_made_and_revoked_between_two_looks() {
    let Fixture { _folder, file, access } = fixture();
    tokio::spawn(Arc::clone(&access).watch_file());
    tokio::task::yield_now().await;
    let phone = token(&file, "phone", None);
    let client = access.client_with_token(phone.expose()).unwrap();
    let mut changes = access.changes();
    file.revoke("phone").unwrap();
    tokio::time::timeout(WATCH_INTERVAL * 3, changes.changed()).await.unwrap().unwrap();
    assert!(!access.is_current(&client));
}

#[test]
fn a_request_that_reads_a_changed_file_tells_the_streams() {
    let Fixture { _folder, file, access } = fixture();
    let mut changes = access.changes();
    token(&file, "phone", None);
    access.client_with_token("any");
    assert!(changes.has_changed().unwrap());
    changes.mark_unchanged();
    access.client_with_token("any");
    assert!(!changes.has_changed().unwrap(), "the same file is not read again");
}
