use super::*;

#[test]
fn forms_of_credentials_are_recognised() {
    let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk=\n-----END OPENSSH PRIVATE KEY-----";
    let hook = ["https://hooks.slack.com/", "services/T0/B0/xyz"].concat();
    for value in [
        "postgres://me:hunter2@db/x",
        "redis://:p@h:6379",
        "https://0123456789abcdef0123456789abcdef@o1.ingest.sentry.io/1",
        "ann:hunter2@tcp(db:3306)/shop",
        "Server=db;Database=x;User Id=sa;Password=hunter2;",
        "host=db user=ann password=hunter2",
        "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=abcd1234==",
        "https://x.blob.core.windows.net/c?sv=1&sig=abcdefgh",
        "Bearer abcdefgh1234",
        "Authorization: Basic YW5uOmh1bnRlcjI=",
        hook.as_str(),
        key,
    ] {
        assert!(holds_credential(value), "{value}");
    }
    assert!(holds_credential(&["x ghp", "_0123456789abcdef0123"].concat()));
    assert!(is_bare_login("ann:hunter2@proxy:8080") && !is_bare_login("proxy:8080") && !is_bare_login("ann@proxy:80"));
}

#[test]
fn ordinary_values_are_not_taken_for_credentials() {
    for value in [
        "/usr/local/bin:/usr/bin:/bin",
        "/home/ann",
        "en_US.UTF-8",
        "vim -u NONE",
        "http://proxy:8080",
        "https://me@host/a:b@c",
        "ssh://git@host:22/x",
        "me:you@here",
        "localhost,127.0.0.1,.example.org",
        "ssh -i /home/ann/.ssh/id -o IdentitiesOnly=yes",
        "-C target-cpu=native -L /usr/lib",
        "-Xmx2g -Dfile.encoding=UTF-8",
        "rs=0:di=01;34:ln=01;36:*.tar=01;31",
        "xterm-256color",
        "basic",
        "unix:path=/run/user/1000/bus,guid=0123456789abcdef",
        "token=$(cat file) other",
        "less -R",
        "https://index.crates.io/",
    ] {
        assert!(!holds_credential(value), "{value}");
    }
}
