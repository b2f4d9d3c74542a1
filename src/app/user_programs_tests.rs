use std::sync::Arc;

use super::*;
use crate::base::SystemClock;

fn ids() -> IdSource {
    IdSource::new(Arc::new(SystemClock))
}

#[tokio::test]
async fn the_users_command_gets_the_notice_as_data() {
    let folder = tempfile::tempdir().unwrap();
    let heard = folder.path().join("heard");
    let notice = "Fix login: which one? `touch x`; $(false) 'q'";
    let command = format!("printf %s \"$MXD_NOTICE\" > '{}'", heard.display());
    assert_eq!(run_notify_command(&ids(), &command, notice).await, Ok(()));
    assert_eq!(std::fs::read_to_string(&heard).unwrap(), notice);
}

#[tokio::test]
async fn a_command_that_fails_says_how() {
    let failed = run_notify_command(&ids(), "echo no such bus >&2; exit 3", "x").await.unwrap_err();
    assert!(
        failed.contains("notify.command") && failed.contains("exit code 3") && failed.contains("no such bus"),
        "{failed}"
    );
}
