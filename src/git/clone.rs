//! Copies the newest state of another repository, to look at it. Nothing in it runs: hooks are off.

use std::path::Path;

use super::error::Error;
use super::program::Call;

/// Clones the newest commit of `url` into `folder`, which must not exist. Returns the id of the commit.
pub async fn shallow(url: &str, folder: &Path) -> Result<String, Error> {
    let clone = Call::anywhere(["clone", "--quiet", "--depth", "1", "--no-tags", "--"]);
    clone.argument(url).argument(folder).long(None).fetching().run().await?;
    let head = Call::anywhere(["-C"]).argument(folder).argument("rev-parse").argument("HEAD");
    head.line().await
}
