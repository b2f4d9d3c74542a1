//! Paths with credentials and private data, which agents may not read. One list for file tools and the sandbox.
//!
//! Does no I/O. Callers resolve links first, in both the list and the path. The most specific entry wins: a worktree in
//! the data folder is open, a data folder in a worktree is closed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::config::paths::{Home, ProjectFolder};

/// Paths below the user's home. A `*` in a name matches any text.
const IN_HOME: &[&str] = &[
    // Keys and logins of system programs.
    ".ssh",
    ".gnupg",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".pki",
    // Clouds and clusters.
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/doctl",
    ".config/hcloud",
    ".kube",
    ".docker/config.json",
    ".config/containers/auth.json",
    ".terraform.d/credentials*",
    ".terraformrc",
    ".vault-token",
    ".oci",
    ".fly",
    ".netlify",
    ".config/netlify",
    ".vercel",
    ".local/share/com.vercel.cli",
    ".config/heroku",
    ".s3cfg",
    ".boto",
    ".config/rclone",
    // Forges.
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/op",
    // Package registries.
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".config/pypoetry/auth.toml",
    ".cargo/credentials*",
    ".gem/credentials",
    ".bundle/config",
    ".m2/settings*.xml",
    ".gradle/gradle.properties",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".nuget/NuGet/NuGet.Config",
    ".hex/hex.config",
    // Password stores and keyrings.
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".config/keepassxc",
    ".config/Bitwarden*",
    ".config/1Password",
    ".config/age",
    ".config/sops",
    "Library/Keychains",
    // Browsers and mail.
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome*",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge*",
    ".config/vivaldi",
    ".config/opera",
    ".var/app/org.mozilla.firefox",
    ".var/app/com.google.Chrome",
    "snap/firefox",
    "snap/chromium",
    "Library/Application Support/Firefox",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/BraveSoftware",
    "Library/Application Support/Microsoft Edge",
    "Library/Safari",
    "Library/Cookies",
    "Library/Mail",
    // Other coding agents: logins and conversations.
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".config/github-copilot",
    ".local/share/opencode",
    ".huggingface",
    ".cache/huggingface/token",
    ".config/anthropic",
    ".config/openai",
    // Shell and editor history.
    ".*_history",
    ".local/share/fish/fish_history",
    ".local/share/atuin",
    ".lesshst",
    ".viminfo",
    ".python_history",
    ".node_repl_history",
];

/// System paths.
const ON_SYSTEM: &[&str] = &[
    "/etc/shadow*",
    "/etc/gshadow*",
    "/etc/sudoers*",
    "/etc/ssh/ssh_host_*_key",
    "/etc/ssl/private",
    "/etc/NetworkManager/system-connections",
    "/etc/wireguard",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/krb5.keytab",
    "/run/secrets",
    "/var/run/secrets",
    "/run/user",
    "/proc/kcore",
    "/proc/keys",
    "/private/etc/master.passwd",
    "/var/db/dslocal",
    "/var/lib/docker",
    "/root",
];

/// Folders with the home folders of all accounts, and the names in them that are shared.
const HOMES: &[(&str, &[&str])] = &[("/home", &["linuxbrew"]), ("/Users", &["Shared"])];

/// Environment variables with the path of a file or folder with credentials.
const PATH_VARIABLES: &[&str] = &[
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AZURE_CONFIG_DIR",
    "CLAUDE_CONFIG_DIR",
    "CLOUDSDK_CONFIG",
    "CODEX_HOME",
    "DOCKER_CONFIG",
    "GH_CONFIG_DIR",
    "GNUPGHOME",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "HISTFILE",
    "KUBECONFIG",
    "NETRC",
    "NPM_CONFIG_USERCONFIG",
    "PASSWORD_STORE_DIR",
    "PGPASSFILE",
    "VAULT_TOKEN_FILE",
];

/// Parts of a project's data that its agents may read.
const READABLE_PARTS: [&str; 3] = ["worktrees", "blobs", "spill"];

/// Closed paths, and exceptions that are open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretPaths {
    /// Folders and files. A `*` in a name matches any text.
    pub closed: Vec<PathBuf>,
    pub open: Vec<PathBuf>,
    /// The user's own home.
    pub own_home: Option<PathBuf>,
}

impl SecretPaths {
    /// Returns the paths for a user with the home `user_home` and the environment `variable`.
    pub fn new(user_home: Option<&Path>, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let absolute = |path: PathBuf| path.is_absolute().then_some(path);
        let in_home = user_home.into_iter().flat_map(|home| IN_HOME.iter().map(move |place| home.join(place)));
        let named = PATH_VARIABLES
            .iter()
            .filter_map(|name| variable(name))
            .flat_map(|value| std::env::split_paths(&value).collect::<Vec<_>>());
        let mut closed: Vec<PathBuf> = in_home.chain(named.filter_map(absolute)).collect();
        closed.extend(ON_SYSTEM.iter().map(PathBuf::from));
        if let Some(cargo) = variable("CARGO_HOME").map(PathBuf::from).and_then(absolute) {
            closed.push(cargo.join("credentials*"));
        }
        let open = user_home.map(Path::to_owned).into_iter().collect();
        Self { closed, open, own_home: user_home.map(Path::to_owned) }
    }

    /// Returns the paths for this process.
    pub fn from_env() -> Self {
        let home = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
        Self::new(home.as_deref(), |name| std::env::var_os(name).filter(|value| !value.is_empty()))
    }

    /// Closes the data folder, except for the parts of the project `own` that its agents may read.
    pub fn with_data_folder(mut self, home: &Home, own: &ProjectFolder) -> Self {
        self.closed.push(home.root().to_owned());
        self.open.extend(READABLE_PARTS.iter().map(|part| own.root().join(part)));
        self
    }

    pub fn close(mut self, path: impl Into<PathBuf>) -> Self {
        self.closed.push(path.into());
        self
    }

    /// Opens a path, except for closed paths below it.
    pub fn open(mut self, path: impl Into<PathBuf>) -> Self {
        self.open.push(path.into());
        self
    }

    /// Returns true if a path is closed. Links must be resolved in both.
    pub fn covers(&self, path: &Path) -> bool {
        let closed = self.closed.iter().filter_map(|place| depth_of_match(place, path)).max();
        let closed = closed.max(self.depth_of_other_home(path));
        let open = self.open.iter().filter_map(|place| depth_of_match(place, path)).max();
        closed.is_some_and(|closed| open.is_none_or(|open| closed > open))
    }

    /// Returns true if a closed path is below `folder`.
    pub fn has_closed_below(&self, folder: &Path) -> bool {
        self.closed.iter().any(|place| depth_of_match(folder, place).is_some())
    }

    /// Returns the same paths, resolved with `resolve`. Of a name with a `*`, only the folder is resolved.
    pub fn resolved(&self, resolve: impl Fn(&Path) -> PathBuf) -> Self {
        let resolve_place = |place: &PathBuf| match (place.parent(), place.file_name()) {
            (Some(folder), Some(name)) if name.as_encoded_bytes().contains(&b'*') => resolve(folder).join(name),
            _ => resolve(place),
        };
        let both = self.closed.iter().flat_map(|place| [place.clone(), resolve_place(place)]);
        let mut closed: Vec<PathBuf> = both.collect();
        closed.sort();
        closed.dedup();
        let open = self.open.iter().map(|place| resolve(place)).collect();
        Self { closed, open, own_home: self.own_home.as_deref().map(resolve) }
    }

    fn depth_of_other_home(&self, path: &Path) -> Option<usize> {
        HOMES.iter().find_map(|(homes, shared)| {
            let name = path.strip_prefix(homes).ok()?.components().next()?.as_os_str();
            let home = Path::new(homes).join(name);
            let is_shared = shared.iter().any(|shared| name == *shared);
            (self.own_home.as_deref() != Some(&home) && !is_shared).then(|| home.components().count())
        })
    }
}

/// Returns the number of components of `place` if `path` equals it or is below it. Ignores case, as some file systems
/// do.
fn depth_of_match(place: &Path, path: &Path) -> Option<usize> {
    let mut parts = path.components();
    let mut depth = 0;
    for wanted in place.components() {
        let (wanted, part) = (wanted.as_os_str(), parts.next()?.as_os_str());
        let is_match = wanted.eq_ignore_ascii_case(part)
            || wanted.as_encoded_bytes().contains(&b'*')
                && matches_pattern(&wanted.to_string_lossy().to_lowercase(), &part.to_string_lossy().to_lowercase());
        if !is_match {
            return None;
        }
        depth += 1;
    }
    Some(depth)
}

/// Returns true if a name matches a pattern with at most one `*`.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    let Some((start, end)) = pattern.split_once('*') else { return false };
    name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
}

#[cfg(test)]
#[path = "secret_places_tests.rs"]
mod tests;
