use std::sync::Arc;

use super::*;
use crate::base::{IdSource, SystemClock};

fn project(path: &str) -> Project {
    Project {
        id: ProjectId::fresh(&IdSource::new(Arc::new(SystemClock))),
        name: "app".to_owned(),
        path: path.into(),
        base_branch: "main".to_owned(),
        created_at: Timestamp::from_millis(0),
        former: Vec::new(),
        extra: Map::new(),
    }
}

fn recognised(
    top: &str,
    marked: &[ProjectId],
    registered: &[Project],
    unlisted: &[Project],
    elsewhere: &[ProjectId],
) -> ProjectMatch {
    let evidence = RepositoryEvidence { top: Path::new(top), marked, registered, unlisted };
    evidence.recognise(|project| elsewhere.contains(&project.id))
}

#[test]
fn a_repository_at_its_path_is_recognised_with_and_without_an_owners_file() {
    let app = project("/app");
    let known = [app.clone()];
    for marked in [&[app.id][..], &[]] {
        assert_eq!(recognised("/app", marked, &known, &[], &[]), ProjectMatch::Registered(app.id));
    }
    assert_eq!(recognised("/other", &[], &known, &[], &[]), ProjectMatch::Unknown);
}

#[test]
fn the_owners_file_is_followed_to_another_path_unless_the_old_one_still_has_the_repository() {
    let app = project("/app");
    let known = [app.clone()];
    assert_eq!(recognised("/renamed", &[app.id], &known, &[], &[]), ProjectMatch::Moved(app.id));
    assert_eq!(recognised("/copy", &[app.id], &known, &[], &[app.id]), ProjectMatch::Copy(app.id));
}

#[test]
fn repositories_that_changed_places_keep_their_projects() {
    let (one, two) = (project("/one"), project("/two"));
    let known = [one.clone(), two.clone()];
    assert_eq!(recognised("/one", &[two.id], &known, &[], &[]), ProjectMatch::Moved(two.id));
    assert_eq!(recognised("/two", &[one.id], &known, &[], &[]), ProjectMatch::Moved(one.id));
}

#[test]
fn a_copy_that_was_registered_stays_registered() {
    let (app, copy) = (project("/app"), project("/copy"));
    let known = [app.clone(), copy.clone()];
    assert_eq!(recognised("/copy", &[app.id], &known, &[], &[app.id]), ProjectMatch::Registered(copy.id));
    assert_eq!(recognised("/copy", &[copy.id], &known, &[], &[app.id]), ProjectMatch::Registered(copy.id));
}

#[test]
fn a_project_missing_from_the_registry_is_not_a_new_one() {
    let app = project("/app");
    let lost = [app.clone()];
    assert_eq!(recognised("/app", &[app.id], &[], &lost, &[app.id]), ProjectMatch::Unlisted(app.id));
    assert_eq!(recognised("/renamed", &[app.id], &[], &lost, &[]), ProjectMatch::Unlisted(app.id));
    assert_eq!(recognised("/copy", &[app.id], &[], &lost, &[app.id]), ProjectMatch::Copy(app.id));
}

#[test]
fn a_moved_project_is_renamed_with_its_folder_unless_it_has_a_custom_name() {
    let app = project("/work/app");
    let moved = app.moved_to(Path::new("/work/renamed"));
    assert_eq!((moved.name.as_str(), moved.path.as_path()), ("renamed", Path::new("/work/renamed")));
    assert_eq!(moved.former, [PathBuf::from("/work/app")]);
    let named = Project { name: "mine".to_owned(), ..app };
    assert_eq!(named.moved_to(Path::new("/work/renamed")).name, "mine");
    assert_eq!(moved.moved_to(Path::new("/work/app")).former, [PathBuf::from("/work/renamed")]);
}
