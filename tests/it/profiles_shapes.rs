//! Agent files and skills in the shapes that public repositories use: all of them are read, and what has no meaning here
//! is named with its line.

use std::fs;

use mxd::config::profile::{Profile, Source};
use mxd::engine::profiles::Toolset;
use mxd::engine::skills;

/// The files of a folder below `tests/it/profiles_shapes/`, by name.
fn files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/profiles_shapes").join(folder);
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|file| {
            let path = file.unwrap().path();
            (path.file_stem().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn thirty_agent_files_in_public_shapes_are_read() {
    let files = files("agents");
    assert_eq!(files.len(), 30);
    let mut passed_over = Vec::new();
    for (stem, bytes) in &files {
        let profile = Profile::read(Source::Project, &format!("{stem}.md"), stem, bytes).unwrap_or_else(|problems| {
            panic!("{stem}: {}", problems.iter().map(ToString::to_string).collect::<String>())
        });
        let (_, problems) = Toolset::read(&profile);
        let errors: Vec<_> = problems.iter().filter(|it| format!("{:?}", it.severity()) == "Error").collect();
        assert!(errors.is_empty(), "{stem}: {errors:?}");
        assert!(!profile.description.is_empty() && !profile.prompt.is_empty(), "{stem}");
        passed_over.extend(profile.warnings.iter().chain(&problems).map(ToString::to_string));
    }
    // Whatever is passed over has its file and line.
    assert!(passed_over.len() > 10, "{passed_over:#?}");
    for problem in &passed_over {
        let (place, _) = problem.split_once(": ").unwrap();
        assert!(place.rsplit(':').any(|part| part.parse::<usize>().is_ok()), "{problem}");
    }
}

#[test]
fn ten_skills_in_public_shapes_are_read() {
    let files = files("skills");
    assert_eq!(files.len(), 10);
    for (stem, bytes) in &files {
        let skill = skills::parse(Source::Project, stem.as_ref(), stem, bytes);
        let skill = skill.unwrap_or_else(|problem| panic!("{stem}: {problem}"));
        assert!(!skill.description.is_empty() && !skill.text.is_empty(), "{stem}");
    }
}
