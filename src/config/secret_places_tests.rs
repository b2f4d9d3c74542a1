use super::*;

fn places() -> SecretPaths {
    let data = Home::locate(Some("/home/ann/.local/share/mxd".as_ref()), None, None).unwrap();
    let own = data.project("01M7HJYCBSDKD4QHZY6Z12P697".parse().unwrap());
    let variable = |name: &str| match name {
        "KUBECONFIG" => Some("/opt/kube/a:/opt/kube/b:relative".into()),
        "CARGO_HOME" => Some("/opt/cargo".into()),
        _ => None,
    };
    SecretPaths::new(Some(Path::new("/home/ann")), variable).with_data_folder(&data, &own)
}

#[test]
fn keys_logins_and_histories_are_covered() {
    for path in [
        "/home/ann/.ssh/id_ed25519",
        "/home/ann/.SSH/config",
        "/home/ann/.netrc",
        "/home/ann/.cargo/credentials.toml",
        "/home/ann/.cargo/credentials",
        "/home/ann/.bash_history",
        "/home/ann/.zsh_history",
        "/home/ann/.config/google-chrome-beta/Default/Cookies",
        "/home/ann/.aws/credentials",
        "/opt/kube/a",
        "/opt/kube/b",
        "/opt/cargo/credentials.toml",
        "/etc/shadow",
        "/etc/shadow-",
        "/home/bob/notes.txt",
        "/root/.profile",
        "/run/secrets/db",
    ] {
        assert!(places().covers(Path::new(path)), "{path}");
    }
}

#[test]
fn ordinary_files_are_not_covered() {
    for path in [
        "/home/ann",
        "/home/ann/src/app/main.rs",
        "/home/ann/.cargo/registry/src/x/lib.rs",
        "/home/ann/.gitconfig",
        "/home/ann/.sshfs/readme",
        "/home/linuxbrew/.linuxbrew/bin/gcc",
        "/usr/include/stdio.h",
        "/etc/passwd",
        "/tmp/x",
        "/home",
    ] {
        assert!(!places().covers(Path::new(path)), "{path}");
    }
}

#[test]
fn only_the_readable_parts_of_the_data_folder_are_open() {
    let own = "/home/ann/.local/share/mxd/projects/01M7HJYCBSDKD4QHZY6Z12P697";
    for part in ["worktrees/a/src/main.rs", "blobs/abc", "spill/x.out"] {
        assert!(!places().covers(&Path::new(own).join(part)), "{part}");
    }
    let data = Path::new("/home/ann/.local/share/mxd");
    for part in [
        "config.json",
        "logs/mxd.log",
        "projects.json",
        "projects/01M7HJYCBSDKD4QHZY6Z12P697/config.json",
        "projects/01M7HJYCBSDKD4QHZY6Z12P697/sessions/x.jsonl",
        "projects/01M7HJYCBSDKD4QHZY6Z12P698/config.json",
        "projects/01M7HJYCBSDKD4QHZY6Z12P698/worktrees/x/main.rs",
        "projects/01M7HJYCBSDKD4QHZY6Z12P698/blobs/x",
    ] {
        assert!(places().covers(&data.join(part)), "{part}");
    }
}

#[test]
fn the_most_specific_path_decides() {
    let work = places().open("/home/bob/shared/app").close("/home/bob/shared/app/private");
    assert!(!work.covers(Path::new("/home/bob/shared/app/main.rs")));
    assert!(work.covers(Path::new("/home/bob/shared/app/private/key")));
    let root = SecretPaths::new(Some(Path::new("/root")), |_| None);
    assert!(!root.covers(Path::new("/root/src/main.rs")) && root.covers(Path::new("/root/.ssh/id")));
}
