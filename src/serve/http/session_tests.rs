use super::*;

fn signer() -> Signer {
    Signer::new(&Secret::new("a key"))
}

#[test]
fn a_login_names_its_token_and_needs_both_halves() {
    let token = TokenHash::of("token");
    let (login, other) = (signer().login(token).unwrap(), signer().login(token).unwrap());
    let (cookie, page) = (login.cookie.expose(), login.page.expose());
    assert_eq!(signer().verify(cookie, page), Some(token));
    assert_eq!(signer().verify(cookie, other.page.expose()), None, "the half of another login");
    assert_eq!(signer().verify(cookie, ""), None);
    assert_eq!(signer().verify("", page), None);
    assert_eq!(Signer::new(&Secret::new("another key")).verify(cookie, page), None);
}

#[test]
fn a_login_cannot_be_given_another_token() {
    let login = signer().login(TokenHash::of("token")).unwrap();
    let (_, rest) = login.cookie.expose().split_once('.').unwrap();
    let forged = format!("{}.{rest}", TokenHash::of("admin"));
    assert_eq!(signer().verify(&forged, login.page.expose()), None);
}
