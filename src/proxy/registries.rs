//! The hosts that a project needs from the start: registries of the lock files it has, and its git remotes.

use super::host::{Host, HostPattern, Target};

/// Lock files, and the hosts that their package managers download from.
const REGISTRIES: &[(&[&str], &[&str])] = &[
    (&["Cargo.lock"], &["index.crates.io", "static.crates.io", "crates.io"]),
    (
        &["package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"],
        &["registry.npmjs.org", "registry.yarnpkg.com"],
    ),
    (
        &["requirements.txt", "poetry.lock", "uv.lock", "Pipfile.lock", "pdm.lock"],
        &["pypi.org", "files.pythonhosted.org"],
    ),
    (&["go.sum"], &["proxy.golang.org", "sum.golang.org"]),
    (&["Gemfile.lock"], &["rubygems.org", "index.rubygems.org"]),
    (&["composer.lock"], &["packagist.org", "repo.packagist.org"]),
    (&["gradle.lockfile", "gradlew"], &["services.gradle.org", "plugins.gradle.org", "repo.maven.apache.org"]),
    (&["pom.xml"], &["repo.maven.apache.org", "repo1.maven.org"]),
    (&["packages.lock.json"], &["api.nuget.org"]),
    (&["mix.lock"], &["hex.pm", "repo.hex.pm", "builds.hex.pm"]),
    (&["pubspec.lock"], &["pub.dev"]),
    (&["deno.lock"], &["deno.land", "jsr.io", "registry.npmjs.org"]),
    (&["flake.lock"], &["cache.nixos.org"]),
    (&["stack.yaml.lock", "cabal.project.freeze"], &["hackage.haskell.org"]),
    (&["Podfile.lock"], &["cdn.cocoapods.org"]),
    (&["pixi.lock"], &["conda.anaconda.org"]),
];

/// Returns the registries of the lock files of a project. `has` says whether a file exists at its top.
pub fn of_lock_files(has: impl Fn(&str) -> bool) -> Vec<HostPattern> {
    let present = REGISTRIES.iter().filter(|(files, _)| files.iter().any(|file| has(file)));
    let hosts = present.flat_map(|(_, hosts)| hosts.iter());
    hosts.filter_map(|host| HostPattern::parse(host).ok()).collect()
}

/// Returns the host of a git remote, or `None` if it is a folder of this machine or not understood.
pub fn of_remote(address: &str) -> Option<HostPattern> {
    let text = match address.split_once("://") {
        Some(("http" | "https" | "ssh" | "git+ssh" | "git", rest)) => {
            let authority = rest.split(['/', '?', '#']).next()?;
            authority.rsplit('@').next()?
        }
        Some(_) => return None,
        // `user@host:path`, but not `/path` or `c:\path`.
        None => {
            let (host, path) = address.split_once(':')?;
            let host = host.rsplit('@').next()?;
            // `name::address` is for another program.
            (!host.contains(['/', '\\']) && host.len() > 1 && !path.starts_with(':')).then_some(host)?
        }
    };
    // A remote says where code comes from, not that an agent may use this machine or its network.
    let is_name = matches!(Target::parse(text, Some(443)), Ok(Target { host: Host::Name(_), .. }));
    HostPattern::parse(text).ok().filter(|_| is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(pattern: Option<HostPattern>, target: &str) -> bool {
        pattern.is_some_and(|pattern| pattern.matches(&Target::parse(target, None).unwrap()).is_some())
    }

    #[test]
    fn only_the_registries_of_lock_files_that_exist_are_listed() {
        let listed = of_lock_files(|file| file == "uv.lock" || file == "Cargo.lock");
        let allows = |host: &str| listed.iter().any(|pattern| allows(Some(pattern.clone()), host));
        assert!(allows("pypi.org:443") && allows("static.crates.io:443"));
        assert!(!allows("registry.npmjs.org:443"));
        assert!(of_lock_files(|_| false).is_empty());
    }

    #[test]
    fn every_listed_registry_is_a_valid_name() {
        let all: usize = REGISTRIES.iter().map(|(_, hosts)| hosts.len()).sum();
        assert_eq!(of_lock_files(|_| true).len(), all);
    }

    #[test]
    fn the_host_of_a_remote_is_found_in_every_spelling() {
        assert!(allows(of_remote("https://user:token@code.example/a/b.git"), "code.example:443"));
        assert!(allows(of_remote("git@code.example:a/b.git"), "code.example:22"));
        assert!(allows(of_remote("ssh://git@code.example:2222/a"), "code.example:2222"));
        for remote in [
            "/srv/git/a",
            "../a",
            "file:///srv/a",
            "ext::sh -c x",
            "C:\\a",
            "https://*.example/x",
            "https://10.0.0.1/x",
            "ssh://127.0.0.1:22/x",
            "https://[::1]/x",
            "",
        ] {
            assert_eq!(of_remote(remote), None, "{remote}");
        }
    }
}
