//! What is said about tokens, done as it is said.

use mxd::serve::http::Scope;

use super::obey;
use crate::cli_support::World;
use crate::serve_http::Served;
use crate::serve_http::tokens::token;

#[test]
fn tokens_are_made_listed_and_revoked_as_is_said() {
    let world = World::new();
    let here = world.project("app").path;
    let none = world.mxd(&here, ["serve", "token", "list"]);
    assert!(obey(&world, &here, &none.err, &[])[0].starts_with("mxd_"));
    let again = ["serve", "token", "new", "phone", "--scope", "read"];
    let taken = world.mxd(&here, again).refused(3, "there is a token \"phone\" already");
    obey(&world, &here, &taken, &[]);
    let gone = world.mxd(&here, ["serve", "token", "revoke", "phone"]).refused(3, "there is no token \"phone\"");
    assert_eq!(obey(&world, &here, &gone, &[]), [""]);
    let elsewhere = [&again[..], &["--projects", "nope"]].concat();
    let unknown = world.mxd(&here, elsewhere).refused(3, "there is no project \"nope\"");
    assert!(obey(&world, &here, &unknown, &[])[0].contains("app"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_refused_request_is_told_makes_a_token_that_it_needs() {
    let world = World::new();
    let served = Served::start(&world).await;
    let reader = token(&world, "reader", &[Scope::Read], None);
    let ask = |token: &str| {
        let request = format!(
            "POST /v1/asks/01ARZ3NDEKTSV4RRFFQ69G5FAV HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{token}\r\n",
            served.address
        );
        served.raw(request.into_bytes())
    };
    for (name, refused) in
        [("any", ask("").await), ("answers", ask(&format!("Authorization: Bearer {reader}\r\n")).await)]
    {
        let hints = refused.json()["hints"].to_string();
        let made = obey(&world, &world.root(), &hints, &[("NAME", name)]);
        let answer = ask(&format!("Authorization: Bearer {}\r\n", made[0].trim())).await;
        assert!(![401, 403].contains(&answer.status), "{answer:?}");
    }
    served.end().await;
}
