//! Which test runs which command: the test, then the files below `src` with the commands that they name.

/// A file and a command as it stands there.
type Said = (&'static str, &'static str);

pub const ADVICE: &[(&str, &[Said])] = &[
    (
        "advice/places.rs::a_base_branch_that_is_gone_or_left_is_named_anew_by_what_is_said",
        &[
            ("cli/doctor/projects.rs", "mxd init {at} --base {}"),
            ("cli/init.rs", "git branch"),
            ("engine/driver/setup.rs", "mxd init --base BRANCH"),
            ("engine/open.rs", "mxd init --base BRANCH"),
            ("git/error.rs", "mxd init --base BRANCH"),
        ],
    ),
    (
        "advice/places.rs::a_branch_whose_name_is_no_text_is_renamed_by_what_is_said",
        &[("git/discover.rs", "git branch -m <name>")],
    ),
    (
        "advice/places.rs::a_project_whose_folder_was_moved_is_found_again_by_what_is_said",
        &[("cli/doctor/projects.rs", "mxd -C PATH tree")],
    ),
    (
        "advice/places.rs::a_repository_that_keeps_its_files_elsewhere_is_taken_once_it_does_not_as_is_said",
        &[("git/discover.rs", "git --git-dir {} config --unset core.worktree")],
    ),
    (
        "advice/places.rs::a_repository_that_is_not_registered_is_registered_by_what_is_said",
        &[("cli/check.rs", "mxd init"), ("cli/projects.rs", "mxd init"), ("engine/driver/setup.rs", "mxd init")],
    ),
    (
        "advice/places.rs::branches_that_are_in_the_way_are_moved_by_what_is_said",
        &[("git/error.rs", "git branch -m"), ("git/error.rs", "git fsck"), ("git/error.rs", "git switch")],
    ),
    (
        "advice/places.rs::what_doctor_says_of_the_machine_runs_in_any_shell",
        &[
            ("cli/doctor/machine.rs", "chmod u+rwx {}"),
            ("cli/doctor/machine.rs", "export LC_ALL=C.UTF-8"),
            ("cli/doctor/machine.rs", "export TERM=screen-256color"),
            ("cli/doctor/machine.rs", "mxd gc --all"),
            ("cli/doctor/providers.rs", "export OPENAI_API_KEY=KEY"),
        ],
    ),
    (
        "advice/places.rs::what_is_no_repository_becomes_one_by_what_is_said",
        &[("ui/setup.rs", "git init"), ("ui/setup/view.rs", "git init")],
    ),
    (
        "advice/places.rs::what_needs_no_screen_runs_without_one_by_what_is_said",
        &[
            ("cli/demo.rs", "mxd demo --plain"),
            ("cli/doctor/machine.rs", "mxd --plain"),
            ("cli/doctor/projects.rs", "mxd"),
            ("cli/onboarding.rs", "mxd"),
            ("cli/onboarding.rs", "mxd --plain"),
            ("cli/onboarding.rs", "mxd demo"),
            ("cli/screen.rs", "mxd demo"),
            ("engine/read_only.rs", "mxd"),
            ("term/terminal.rs", "mxd --plain"),
            ("ui/setup/view.rs", "mxd demo"),
        ],
    ),
    (
        "advice/settings.rs::a_group_without_a_script_or_a_model_gets_one_by_what_is_said",
        &[
            ("engine/driver/models.rs", "mxd config set authGroups.{name}.script PATH"),
            ("engine/driver/models.rs", "mxd config set model NAME"),
        ],
    ),
    (
        "advice/settings.rs::a_way_to_a_model_is_set_up_by_what_is_said",
        &[
            ("config/edit.rs", "mxd config set --{layer} {key}.{field} …"),
            ("config/settings.rs", "mxd config get authGroups"),
            ("config/settings.rs", "mxd config set --global authGroups.main.apiKey KEY"),
            ("config/settings.rs", "mxd config set --global authGroups.main.provider anthropic"),
            ("config/settings.rs", "mxd config set --global defaultAuth NAME"),
        ],
    ),
    (
        "advice/settings.rs::profiles_that_are_missing_are_found_by_what_is_said",
        &[("config/table/entries.rs", "mxd agents"), ("engine/profiles.rs", "mxd agents")],
    ),
    (
        "advice/settings.rs::settings_that_are_missing_are_set_by_what_is_said",
        &[
            ("cli/config.rs", "mxd config set --{layer} {path} …"),
            ("cli/config.rs", "mxd config set {path} …"),
            ("config/edit.rs", "mxd config list"),
            ("config/read.rs", "mxd config set --global {path} …"),
            ("config/read.rs", "mxd config set --local {path} …"),
            ("config/show.rs", "mxd config list"),
        ],
    ),
    (
        "advice/settings.rs::settings_that_are_wrong_are_mended_by_what_is_said",
        &[
            ("config/problem.rs", "mxd config list"),
            ("config/problem.rs", "mxd config set"),
            ("config/problem.rs", "mxd config unset"),
        ],
    ),
    (
        "advice/settings.rs::tool_servers_are_approved_by_what_is_said",
        &[
            ("cli/mcp.rs", "mxd config path"),
            ("cli/mcp/masked.rs", "mxd mcp approve {}"),
            ("engine/machine/server_approvals.rs", "mxd mcp list"),
            ("tools/mcp/slot.rs", "mxd mcp approve {name}"),
        ],
    ),
    (
        "advice/tokens.rs::tokens_are_made_listed_and_revoked_as_is_said",
        &[
            ("cli/serve/http.rs", "mxd projects"),
            ("cli/serve/http.rs", "mxd serve token new phone --scope read,answer,send"),
            ("serve/http/tokens.rs", "mxd serve token list"),
            ("serve/http/tokens.rs", "mxd serve token revoke {name}"),
        ],
    ),
    (
        "advice/tokens.rs::what_a_refused_request_is_told_makes_a_token_that_it_needs",
        &[
            ("serve/http/guard.rs", "mxd serve token new NAME --scope read,answer,send"),
            ("serve/http/routes.rs", "mxd serve token new NAME --scope {scope}"),
        ],
    ),
    (
        "advice/work.rs::a_damaged_session_is_looked_at_by_what_is_said",
        &[("cli/export.rs", "mxd check"), ("cli/log.rs", "mxd check")],
    ),
    (
        "advice/work.rs::a_merge_is_taken_back_by_what_is_said",
        &[
            ("cli/outcome.rs", "mxd merge {} --undo"),
            ("engine/work_queries/previews.rs", "mxd merge TASK"),
            ("git/merge/execute.rs", "git revert --no-edit -m 1 {}"),
            ("git/merge/execute.rs", "git revert --no-edit {}..{}"),
        ],
    ),
    (
        "advice/work.rs::a_project_that_is_worked_on_is_read_by_what_is_said",
        &[("store/lock.rs", "mxd check"), ("store/lock.rs", "mxd log"), ("store/lock.rs", "mxd tree")],
    ),
    (
        "advice/work.rs::a_rewind_is_taken_back_by_what_is_said",
        &[("cli/outcome.rs", "mxd rewind {} --redo"), ("ui/update/search.rs", "mxd log {task} --raw")],
    ),
    (
        "advice/work.rs::conflicts_are_solved_by_what_is_said",
        &[
            ("engine/machine/work.rs", "git merge {target}"),
            ("engine/machine/work/merging.rs", "git merge {target}"),
            ("engine/machine/work/merging.rs", "mxd merge TASK --edit"),
            ("engine/machine/work/merging.rs", "mxd merge TASK --resolve"),
        ],
    ),
    (
        "advice/work.rs::rounds_are_made_and_made_ready_by_what_is_said",
        &[
            ("engine/driver/recurring.rs", "mxd task new TITLE --recurring reset"),
            ("engine/machine/recurring.rs", "mxd task edit {} --draft false"),
        ],
    ),
    ("advice/work.rs::tasks_go_deeper_by_what_is_said", &[("engine/machine/edits.rs", "mxd config set maxDepth N")]),
    (
        "advice/work.rs::turns_and_edits_are_found_by_what_is_said",
        &[
            ("cli/diff.rs", "mxd diff TASK --turn 3 --edit 2"),
            ("cli/diff.rs", "mxd rewind TASK --list"),
            ("cli/rewind.rs", "mxd rewind TASK --list"),
            ("engine/work_queries.rs", "mxd rewind TASK --list"),
            ("engine/work_queries/edits.rs", "mxd diff TASK --turn TURN"),
        ],
    ),
    (
        "advice/work.rs::what_is_not_there_is_found_by_what_is_said",
        &[
            ("cli/send.rs", "mxd asks"),
            ("cli/search.rs", "mxd search WORDS"),
            ("engine/queries/list.rs", "mxd tree"),
            ("cli/open_engine.rs", "mxd tree"),
            ("engine/machine.rs", "mxd tree"),
            ("engine/machine/asks.rs", "mxd asks"),
            ("search.rs", "mxd search"),
        ],
    ),
    (
        "advice/work.rs::what_was_put_away_comes_back_by_what_is_said",
        &[
            ("cli/task.rs", "mxd restore"),
            ("cli/outcome.rs", "mxd restore {task}"),
            ("engine/driver/jobs.rs", "mxd restore TASK"),
            ("engine/machine/edits/restoring.rs", "mxd restore"),
            ("ui/update/actions/tree.rs", "mxd restore"),
        ],
    ),
    (
        "advice/work.rs::a_spent_budget_is_raised_by_what_is_said",
        &[("agent/machine/compaction.rs", "mxd task edit TASK --budget USD")],
    ),
    (
        "engine_backend.rs::what_a_backend_cannot_do_is_refused_with_its_name",
        &[("engine/driver/launch.rs", "mxd task edit TASK --budget 0")],
    ),
    (
        "advice/work.rs::what_was_sent_is_worked_on_by_what_is_said",
        &[("cli/rewind.rs", "mxd run"), ("cli/send.rs", "mxd run")],
    ),
    (
        "advice/work.rs::who_has_nothing_to_do_is_given_something_by_what_is_said",
        &[
            ("cli/onboarding.rs", "mxd run \"what you want\""),
            ("cli/run.rs", "mxd run \"what you want\""),
            ("cli/run.rs", "mxd send TASK TEXT"),
            ("cli/run.rs", "mxd tree"),
        ],
    ),
    (
        "advice/work.rs::who_holds_a_project_is_continued_or_ended_by_what_is_said",
        &[
            ("store/lock.rs", "kill -CONT {pid}"),
            ("store/lock.rs", "kill {pid}"),
            ("store/lock.rs", "kill {pid} && kill -CONT {pid}"),
        ],
    ),
    (
        "advice/work.rs::who_is_in_progress_is_stopped_by_what_is_said",
        &[
            ("engine/machine/edits/removing.rs", "mxd stop TASK"),
            ("engine/machine/work.rs", "mxd stop TASK"),
            ("engine/machine/work/merging.rs", "mxd stop TASK"),
        ],
    ),
    ("advice/work.rs::who_sleeps_without_being_done_is_woken_by_what_is_said", &[("cli/run.rs", "mxd send {} TEXT")]),
    (
        "advice/work.rs::work_is_checked_by_what_is_said",
        &[
            ("engine/machine/work.rs", "mxd config set verify 'COMMAND'"),
            ("engine/machine/work.rs", "mxd task edit TASK --verify 'COMMAND'"),
        ],
    ),
    (
        "cli_generated.rs::help_explains_commands_and_every_topic_it_names",
        &[("cli/help.rs", "mxd help"), ("cli/help.rs", "mxd help TOPIC"), ("cli/help.rs", "mxd help {nearest}")],
    ),
    ("cli_generated.rs::there_is_a_manual_page_for_every_command", &[("cli/completions.rs", "mxd help")]),
    (
        "cli_check.rs::a_corrupt_tree_is_refused_then_rebuilt_from_the_sessions_with_a_copy_kept",
        &[("store/error.rs", "mxd check"), ("store/error.rs", "mxd check --repair")],
    ),
    (
        "cli_check.rs::a_registry_that_is_gone_or_damaged_is_found_and_rebuilt_from_the_project_folders",
        &[("engine/projects.rs", "mxd check --repair")],
    ),
    (
        "cli_check.rs::a_torn_end_is_reported_kept_and_cut_and_the_advice_works",
        &[("cli/check.rs", "mxd check --repair")],
    ),
    ("cli_refusals.rs::a_path_that_does_not_exist_is_not_an_empty_diff", &[("cli/diff.rs", "mxd diff TASK --stat")]),
    (
        "cli_refusals.rs::the_hint_for_a_folder_that_was_chosen_does_not_make_a_repository_of_it",
        &[("cli/locate.rs", "mxd projects")],
    ),
    ("cli_config.rs::path_says_where_each_layer_is_and_only_what_exists_here", &[("cli/locate.rs", "mxd init")]),
    (
        "cli_doctor.rs::a_key_an_address_and_a_model_that_are_wrong_are_cured_by_what_it_says",
        &[
            ("cli/doctor/providers.rs", "mxd config set --global {} ADDRESS"),
            ("cli/doctor/providers.rs", "mxd config set --global {} KEY"),
            ("cli/doctor/providers.rs", "mxd config set model {}"),
            ("provider/catalogue.rs", "mxd config set --global {key} TOKENS"),
        ],
    ),
    (
        "advice/settings.rs::a_rejected_key_is_replaced_by_what_is_asked",
        &[("provider/credential.rs", "mxd config set --global {} KEY")],
    ),
    (
        "cli_doctor.rs::a_provider_is_set_up_by_what_it_says",
        &[("cli/doctor/providers.rs", "export ANTHROPIC_API_KEY=KEY")],
    ),
    (
        "cli_doctor.rs::a_suspended_process_is_named_and_continued_by_what_it_says",
        &[("cli/doctor/projects.rs", "kill -CONT {}")],
    ),
    (
        "cli_doctor.rs::it_works_outside_of_a_repository_and_before_anything_was_kept_and_makes_nothing",
        &[
            ("git/discover.rs", "git -C {} commit --allow-empty -m start"),
            ("git/discover.rs", "git -C {} switch <branch>"),
            ("git/discover.rs", "git init {0}"),
        ],
    ),
    (
        "cli_doctor.rs::of_a_bare_repository_a_clone_is_made_by_what_it_says",
        &[("git/discover.rs", "git clone {} FOLDER")],
    ),
    (
        "cli_doctor.rs::the_machine_is_cured_by_what_it_says",
        &[
            ("cli/doctor/machine.rs", "chmod go-rwx {}"),
            ("cli/doctor/projects.rs", "git -C {at} config user.email EMAIL"),
            ("cli/doctor/projects.rs", "git -C {at} config user.name NAME"),
            ("cli/doctor/projects.rs", "rm {}"),
        ],
    ),
    (
        "cli_doctor.rs::tool_servers_are_cured_by_what_it_says_and_none_is_started",
        &[
            ("cli/doctor/settings.rs", "mkdir -p {}"),
            ("cli/doctor/settings.rs", "mxd config set --{} mcpServers.{name}.disabled true"),
            ("cli/doctor/settings.rs", "mxd mcp approve {}"),
            ("cli/doctor/settings.rs", "mxd mcp list"),
            ("cli/doctor/settings.rs", "mxd mcp test {}"),
            ("engine/gc.rs", "mxd mcp test"),
        ],
    ),
    (
        "cli_doctor.rs::what_earlier_runs_left_is_cured_by_what_it_says",
        &[
            ("cli/doctor/projects.rs", "mxd check --repair"),
            ("cli/doctor/projects.rs", "mxd gc"),
            ("config/table/entries.rs", "mxd gc"),
            ("engine/gc.rs", "git worktree remove -f -f {}"),
        ],
    ),
    (
        "cli_doctor.rs::wrong_settings_are_cured_by_what_it_says",
        &[
            ("cli/doctor/settings.rs", "mxd check --repair"),
            ("cli/doctor/settings.rs", "mxd config set --global authGroups.main.provider anthropic"),
            ("cli/doctor/settings.rs", "mxd config set --{} {key} {}"),
            ("cli/doctor/settings.rs", "mxd config unset --{layer} {}"),
        ],
    ),
    (
        "cli_gc.rs::a_worktree_that_no_task_owns_is_archived_before_it_goes",
        &[("engine/gc.rs", "git log refs/mxd/archive/{}")],
    ),
    (
        "cli_gc.rs::what_a_session_remembers_is_left_alone_until_the_tree_is_mended",
        &[("engine/gc.rs", "mxd check --repair")],
    ),
    (
        "cli_import.rs::a_repository_is_looked_through_before_it_is_registered_and_the_hint_imports_what_was_listed",
        &[("cli/import.rs", "mxd import")],
    ),
    (
        "cli_init.rs::a_repository_of_another_user_is_not_trusted_until_git_does",
        &[("git/discover.rs", "git config --global --add safe.directory {}")],
    ),
    (
        "cli_init.rs::commit_without_an_identity_says_so_and_the_hints_work",
        &[
            ("git/commit.rs", "git config --global user.email …"),
            ("git/commit.rs", "git config --global user.name …"),
            ("git/init.rs", "git config --global user.email …"),
            ("git/init.rs", "git config --global user.name …"),
        ],
    ),
    (
        "engine_cli.rs::a_run_returns_2_and_the_question_when_it_waits_and_the_command_it_names_answers",
        &[("cli/asks.rs", "mxd answer {} TEXT{}")],
    ),
    (
        "engine_work/merge_queue.rs::a_queued_merge_is_kept_by_a_quit_and_cancelled_by_what_is_said",
        &[("cli/outcome.rs", "mxd merge {} --cancel")],
    ),
    ("engine_serve.rs::a_project_that_is_attached_to_by_name_must_exist", &[("cli/attach.rs", "mxd projects")]),
    (
        "permit_gate.rs::rules_are_added_and_removed_where_they_are_and_bad_ones_are_refused",
        &[("cli/permit.rs", "mxd permit list")],
    ),
    (
        "git_shadow.rs::an_index_with_a_path_into_the_git_folder_is_not_published",
        &[("git/shadow/sync.rs", "git read-tree HEAD")],
    ),
    (
        "advice/programs.rs::commands_about_lifecycle_hooks_run",
        &[
            ("cli/hooks.rs", "mxd help hooks"),
            ("cli/hooks.rs", "mxd hooks approve"),
            ("cli/import_settings.rs", "mxd hooks list"),
            ("config/table/entries.rs", "mxd hooks approve"),
            ("engine/driver/lifecycle.rs", "mxd hooks list"),
            ("engine/hooks.rs", "mxd hooks approve"),
            ("hooks/task_hooks.rs", "mxd hooks approve"),
        ],
    ),
    (
        "advice/programs.rs::commands_about_outside_programs_run",
        &[
            ("cli/backends.rs", "mxd config set --global backend NAME"),
            ("cli/doctor/settings.rs", "mxd backends test {}"),
            ("cli/doctor/settings.rs", "mxd config set --global backends.{}.disabled false"),
            ("cli/mcp/serve.rs", "mxd mcp serve"),
            ("cli/onboarding.rs", "mxd config set --global backend {name}"),
            ("config/table/entries.rs", "mxd backends list"),
            ("engine/backend/outside/digest.rs", "git diff"),
            ("engine/backend/outside/digest.rs", "git log"),
            ("engine/backend/outside/digest.rs", "git status"),
            ("engine/backend/outside/program.rs", "mxd backends test {}"),
            ("engine/backend/outside/program.rs", "mxd config set --global backends.{}.command PATH"),
            ("engine/backend/outside/program.rs", "mxd config set --global backends.{}.startMs 180000"),
            ("engine/backend/outside/recovery.rs", "git status"),
            ("engine/backend/outside/run.rs", "git status"),
            ("engine/backend/outside/turn.rs", "git switch {branch}"),
            ("engine/backend/registry.rs", "mxd config set --global backends.{name}.command PROGRAM"),
            ("engine/backend/registry.rs", "mxd config set --global backends.{name}.disabled false"),
            ("engine/backend/registry.rs", "mxd config set --global outsideAgents true"),
        ],
    ),
    (
        "advice/programs.rs::commands_about_profiles_run",
        &[
            ("cli/agents.rs", "mxd agents use NAME --global"),
            ("cli/agents.rs", "mxd handover TASK --to {name}"),
            ("cli/context.rs", "mxd context --profile NAME"),
            ("cli/doctor/settings.rs", "mxd agents"),
            ("cli/doctor/settings.rs", "mxd agents use NAME"),
            ("cli/open_engine.rs", "mxd agents use NAME"),
            ("config/profile/fields.rs", "mxd help mcp"),
            ("config/profile/fields.rs", "mxd help permissions"),
            ("config/table/entries.rs", "mxd permit bypass"),
            ("engine/machine/modes.rs", "mxd permit bypass {name}"),
            ("engine/oneshot.rs", "mxd config set models.NAME.prices …"),
            ("engine/oneshot.rs", "mxd doctor"),
            ("ui/transcript/welcome.rs", "mxd demo"),
        ],
    ),
    (
        "advice/programs.rs::commands_about_skills_run",
        &[
            ("cli/doctor/settings.rs", "mxd skill check"),
            ("cli/skill.rs", "mxd skill add GIT_URL"),
            ("cli/skill.rs", "mxd skill check"),
            ("cli/skill.rs", "mxd skill list"),
            ("cli/skill.rs", "mxd skill remove {name}"),
            ("cli/skill.rs", "mxd skill remove {}"),
            ("cli/skill.rs", "mxd skill update {name}"),
            ("engine/skills/store.rs", "mxd skill list"),
        ],
    ),
    (
        "advice/programs.rs::commands_about_the_engine_run",
        &[
            ("cli/projects.rs", "mxd config set --global hosts '[\"me@bigbox\"]'"),
            ("cli/screen.rs", "mxd"),
            ("cli/screen.rs", "mxd serve stop"),
            ("cli/send/wait.rs", "mxd answer"),
            ("cli/send/wait.rs", "mxd log"),
            ("cli/serve.rs", "mxd serve"),
            ("cli/serve.rs", "mxd serve restart --now"),
            ("serve/background.rs", "mxd"),
            ("serve/background.rs", "mxd serve"),
            ("serve/connection.rs", "mxd serve restart"),
            ("serve/remote/link.rs", "mxd serve restart"),
            ("serve/ssh.rs", "mxd projects --json"),
        ],
    ),
];
