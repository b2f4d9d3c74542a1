//! The table of all actions: id in the settings, contexts, default keys, hint-bar label and help line.
//!
//! Key handling, help, palette, hint bar and `docs/keys.md` are all derived from this table. It does not say how an
//! action is carried out. A plain character never triggers an action while the user types text, so the same key may
//! type in one context and act in another.

use std::fmt;

/// A part of the screen with its own key bindings. A more specific context takes precedence over a general one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    Anywhere,
    Tree,
    Asks,
    /// The user writes an answer.
    Answer,
    Transcript,
    /// The user selects lines of a transcript or diff.
    Select,
    Diff,
    /// The user writes a review comment.
    Comment,
    /// A read-only page: description, info or log.
    Page,
    Composer,
    /// The completion popup of the composer is open.
    Complete,
    /// The user types a filter or a search.
    Filter,
    /// A one-line prompt.
    Prompt,
    /// The user writes the brief of a new task.
    Brief,
    /// A filterable list: palette, help, projects.
    List,
    Board,
    /// The merge dialog.
    Merge,
    /// The rewind dialog.
    Rewind,
    Confirm,
    /// The user leaves while agents are at work.
    Leave,
    /// Another process is about to take over.
    HandOver,
    /// Any text input.
    Text,
}

impl Context {
    pub const ALL: [Self; 22] = [
        Self::Anywhere,
        Self::Tree,
        Self::Asks,
        Self::Answer,
        Self::Transcript,
        Self::Select,
        Self::Diff,
        Self::Comment,
        Self::Page,
        Self::Composer,
        Self::Complete,
        Self::Filter,
        Self::Prompt,
        Self::Brief,
        Self::List,
        Self::Board,
        Self::Merge,
        Self::Rewind,
        Self::Confirm,
        Self::Leave,
        Self::HandOver,
        Self::Text,
    ];

    /// Returns the heading of the context in the help.
    pub fn title(self) -> &'static str {
        match self {
            Self::Anywhere => "Everywhere",
            Self::Tree => "Tasks",
            Self::Asks => "Questions",
            Self::Answer => "Answer",
            Self::Transcript => "Transcript",
            Self::Select => "Line selection",
            Self::Diff => "Diff",
            Self::Comment => "Review comment",
            Self::Page => "Description, info and log",
            Self::Composer => "Composer",
            Self::Complete => "Completion",
            Self::Filter => "Filter and search",
            Self::Prompt => "Prompt",
            Self::Brief => "Brief of a new task",
            Self::List => "Lists",
            Self::Board => "Board and settings",
            Self::Merge => "Merge dialog",
            Self::Rewind => "Rewind dialog",
            Self::Confirm => "Confirmation",
            Self::Leave => "Leaving",
            Self::HandOver => "Handing over",
            Self::Text => "Text input",
        }
    }

    /// Returns true if plain characters are text in this context and never trigger actions.
    pub fn is_text_input(self) -> bool {
        match self {
            Self::Answer
            | Self::Comment
            | Self::Composer
            | Self::Complete
            | Self::Filter
            | Self::Prompt
            | Self::Brief
            | Self::List
            | Self::Text => true,
            Self::Anywhere
            | Self::Tree
            | Self::Asks
            | Self::Transcript
            | Self::Select
            | Self::Diff
            | Self::Page
            | Self::Board
            | Self::Merge
            | Self::Rewind
            | Self::Confirm
            | Self::Leave
            | Self::HandOver => false,
        }
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct ActionSpec {
    pub action: Action,
    /// The id in the settings.
    pub name: &'static str,
    pub contexts: &'static [Context],
    pub keys: &'static [&'static str],
    /// Priority in the hint bar: higher comes first. Zero hides it.
    pub weight: u8,
    /// The label in the hint bar.
    pub label: &'static str,
    /// The line in help and palette.
    pub help: &'static str,
}

impl ActionSpec {
    /// Returns true if the palette offers the action. Actions that only make sense as a key press are left out.
    pub fn in_palette(&self) -> bool {
        let reading = [Context::Anywhere, Context::Tree, Context::Asks, Context::Transcript, Context::Diff];
        let composing = matches!(self.action, Action::CycleMode | Action::CyclePermissions | Action::OpenEditor);
        let here = self.contexts.iter().any(|context| reading.contains(context)) || composing;
        here && !MOVES.contains(&self.action)
    }
}

macro_rules! actions {
    ($($action:ident $name:literal [$($context:ident)*] [$($key:literal)*] $weight:literal $label:literal, $help:literal;)*) => {
        /// An action of the user.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Action {
            $(#[doc = $help] $action,)*
        }

        /// All actions in help order.
        pub const TABLE: &[ActionSpec] = &[$(ActionSpec {
            action: Action::$action,
            name: $name,
            contexts: &[$(Context::$context),*],
            keys: &[$($key),*],
            weight: $weight,
            label: $label,
            help: $help,
        },)*];
    };
}

actions! {
    FocusNext "focus_next" [Anywhere] ["tab"] 87 "focus", "Focus the next pane";
    FocusPrevious "focus_previous" [Anywhere] ["shift-tab"] 0 "previous pane", "Focus the previous pane";
    Write "write" [Anywhere] ["i"] 60 "write", "Write to the selected task";
    NextAsk "next_ask" [Anywhere] ["a" "ctrl-n"] 88 "answer", "Go to the next open question";
    Palette "commands" [Anywhere] [":" "ctrl-p"] 20 "commands", "Find an action by name";
    SearchAll "search_all" [Anywhere] ["S" "ctrl-o"] 91 "search all", "Search titles, messages and transcripts of all tasks";
    Help "help" [Anywhere] ["?" "f1"] 19 "help", "Show all keys and actions";
    Back "back" [Anywhere Answer Select Comment Complete Filter Prompt Brief List Board Merge Rewind] ["esc"] 0 "back", "Close this, or go back to the task tree";
    NextTask "next_task" [Anywhere] ["ctrl-down" "alt-j"] 0 "next task", "Select the next task";
    PreviousTask "previous_task" [Anywhere] ["ctrl-up" "alt-k"] 0 "previous task", "Select the previous task";
    ShowTranscript "show_transcript" [Anywhere] ["1" "g t"] 0 "transcript", "Show the task's transcript";
    ShowDiff "show_diff" [Anywhere Merge Rewind] ["d" "2" "g d"] 50 "diff", "Show the task's changes";
    ShowDescription "show_description" [Anywhere] ["3" "g e"] 0 "description", "Show the task's description";
    ShowInfo "show_info" [Anywhere] ["4" "g i"] 0 "info", "Show the task's model, context, cost, branch and processes";
    ShowLog "show_log" [Anywhere] ["5" "g l"] 0 "log", "Show the task's events";
    FocusTasks "tasks" [Anywhere] [] 0 "tasks", "Go to the task tree";
    WriteGuide "write_guide" [Anywhere] [] 0 "guide", "Write the goal of an AGENTS.md, which all agents read";
    Dashboard "dashboard" [Anywhere] ["g a"] 0 "agents", "Show the board of all agents";
    Notices "notices" [Anywhere] ["g n"] 0 "notices", "List the last notices";
    Settings "settings" [Anywhere] ["g s"] 0 "settings", "Change theme, model, budget and notifications";
    ChooseModel "choose_model" [Anywhere] [] 0 "model", "Choose the model of new tasks";
    ChooseTheme "choose_theme" [Anywhere] [] 0 "theme", "Choose the theme";
    Profiles "profiles" [Anywhere] ["g o"] 0 "profiles", "Choose who does new tasks, and see all profiles";
    SetUp "set_up" [Anywhere] [] 0 "set up", "Set up provider, key, model and budget";
    Projects "projects" [Anywhere] ["g p"] 0 "projects", "Switch to another project";
    ThirdColumn "third_column" [Anywhere] ["g 3" "\\"] 0 "third column", "Show or hide the third column of a wide screen";
    ShowConflict "show_conflict" [Anywhere] ["g x"] 0 "conflict", "Show the changes of the next branch that conflicts";
    Legend "legend" [Anywhere] ["g ?"] 0 "legend", "Show what the signs mean";
    Zoom "zoom" [Anywhere] ["Z"] 0 "zoom", "Zoom the task pane";
    Wider "wider" [Anywhere] [">"] 0 "wider", "Widen the left side";
    Narrower "narrower" [Anywhere] ["<"] 0 "narrower", "Narrow the left side";
    Interrupt "interrupt" [Anywhere] ["ctrl-x"] 89 "interrupt", "Interrupt the agent's current turn";
    Stop "stop" [Anywhere] ["X"] 0 "stop", "Stop the task's agent";
    StopSubtree "stop_subtree" [Anywhere] [] 0 "stop subtree", "Stop the agents of the task and its subtasks";
    StopAll "stop_all" [Anywhere] [] 0 "stop all", "Stop all agents";
    Resume "resume" [Anywhere] ["R"] 54 "resume", "Start or resume the task";
    Rewind "rewind" [Anywhere] ["g r"] 0 "rewind", "Rewind conversation, files or both to an earlier turn";
    Redo "redo_rewind" [Anywhere Rewind] ["g R"] 0 "redo", "Redo the last rewind";
    Fork "fork" [Anywhere Rewind] ["g f"] 70 "fork", "Fork the task here or after the chosen turn";
    UndoMerge "undo_merge" [Anywhere Merge] ["g u"] 58 "undo merge", "Undo the task's last merge";
    CancelMerge "cancel_merge" [Anywhere Merge] ["g c"] 59 "cancel merge", "Cancel the task's queued merge";
    Compact "compact" [Anywhere] [] 0 "summarise", "Summarise the conversation now";
    Withdraw "withdraw" [Anywhere] ["ctrl-r"] 53 "withdraw", "Withdraw your last unread message";
    Cancel "cancel" [Anywhere] ["ctrl-c"] 0 "cancel", "Close or clear; press twice to quit";
    Suspend "suspend" [Anywhere] ["ctrl-z"] 0 "suspend", "Suspend to the shell";
    Redraw "redraw" [Anywhere] ["ctrl-l"] 0 "redraw", "Redraw the screen";
    Who "who" [Anywhere] ["g w"] 0 "who", "List the screens and pages that are attached";
    Detach "detach" [Anywhere] [] 0 "detach", "Leave; agents keep working in the background";
    RestartEngine "restart_engine" [Anywhere] [] 0 "restart", "Restart an older engine with this version";
    Quit "quit" [Anywhere] ["q" "ctrl-q"] 5 "quit", "Quit; agents at work keep working or stop";

    Open "open" [Tree Asks Board] ["enter"] 70 "open", "Open the selection";
    NextColumn "next_column" [Board] ["l" "right" "tab"] 60 "column", "Go to the next column";
    PreviousColumn "previous_column" [Board] ["h" "left" "shift-tab"] 0 "previous column", "Go to the previous column";
    NewTask "new_task" [Tree] ["n"] 85 "new task", "Create a task next to the selected one";
    NewSubtask "new_subtask" [Tree] ["N"] 40 "subtask", "Create a subtask of the selected task";
    Fold "fold" [Tree] ["h" "left"] 0 "fold", "Fold, or go to the parent task";
    Unfold "unfold" [Tree] ["l" "right"] 0 "unfold", "Unfold, or go to the first subtask";
    FoldToggle "fold_toggle" [Tree Transcript Diff] ["space"] 0 "fold", "Fold or unfold";
    FoldAll "fold_all" [Tree Transcript Diff] ["z M"] 0 "fold all", "Fold everything";
    UnfoldAll "unfold_all" [Tree Transcript Diff] ["z R"] 0 "unfold all", "Unfold everything";
    Rename "rename" [Tree] ["r"] 30 "rename", "Rename the task";
    Describe "describe" [Tree Page] ["e"] 28 "describe", "Edit the description in $EDITOR";
    HandOver "hand_over" [Tree] ["H"] 0 "hand over", "Give the task to another profile";
    MoveTask "move_task" [Tree] ["M"] 0 "move", "Move the task under another task";
    MoveUp "move_up" [Tree] ["K" "shift-up"] 0 "move up", "Move the task up";
    MoveDown "move_down" [Tree] ["J" "shift-down"] 0 "move down", "Move the task down";
    Colour "colour" [Tree] ["c"] 0 "colour", "Set the task's colour";
    ChoosePermissions "choose_mode" [Tree] ["P"] 0 "mode", "Choose what the task's agent may do without asking";
    Budget "budget" [Tree] ["b"] 0 "budget", "Set the task's budget";
    ToggleDraft "toggle_draft" [Tree] ["t"] 0 "draft", "Mark the task as draft or ready";
    CloseTask "close_task" [Tree] ["C"] 0 "close", "Close the task and archive its work";
    DeleteTask "delete_task" [Tree] ["D" "delete"] 0 "delete", "Delete the task and its subtasks";
    ResetTask "reset_task" [Tree] [] 0 "reset", "Restart with an empty conversation on a new branch";
    RestoreTask "restore_task" [Tree] [] 0 "restore", "Restore the task's worktree";
    Filter "filter" [Tree] ["/"] 45 "filter", "Filter tasks by title";
    FilterMode "filter_mode" [Tree] ["f"] 0 "show", "Show all tasks, or only open, needs-me or active ones";
    Sort "sort" [Tree] ["s"] 0 "sort", "Sort by tree or by attention";
    CostColumn "cost_column" [Tree] ["$"] 0 "cost", "Show or hide the cost of each subtree";

    Merge "merge" [Tree Asks Transcript Diff Page] ["m"] 48 "merge", "Preview and merge the task's branch";
    Verify "verify" [Tree Diff Page Merge] ["V"] 56 "verify", "Run the verify command in the task's worktree";
    CatchUp "catch_up" [Tree Page Merge] ["u"] 57 "update", "Ask the agent to update from the parent branch";
    DoMerge "do_merge" [Merge] ["enter"] 90 "merge", "Merge with the selected strategy";
    MergeBase "merge_base" [Merge] ["b"] 54 "target", "Switch the target: parent branch or base branch";
    TellAgent "tell_agent" [Merge] ["t"] 80 "agent resolves", "Let the agent resolve the conflicts";
    SolveConflicts "solve_conflicts" [Merge] ["e"] 79 "resolve", "Resolve the conflicts in $EDITOR, then merge";
    GoBack "go_back" [Rewind] ["enter"] 90 "rewind", "Rewind to the selected turn";
    RewindWhat "rewind_what" [Rewind] ["tab"] 80 "conversation/files", "Rewind conversation, files or both";
    EditResend "edit_resend" [Transcript Rewind] ["E"] 66 "edit, resend", "Edit one of your messages and resend it";

    Choose "choose" [Answer Asks] ["1" "2" "3" "4" "5" "6" "7" "8" "9"] 85 "choose", "Answer with that choice, if nothing is typed yet";
    WriteAnswer "write_answer" [Asks] ["i" "w"] 78 "write", "Write an answer";
    Later "answer_later" [Asks] ["l"] 76 "later", "Answer later; the question stays in the list";
    GoToTask "go_to_task" [Asks Transcript Board] ["o"] 62 "go to task", "Go to the task that this is about";

    NextEntry "next_entry" [Transcript] ["J" "shift-down"] 0 "next", "Go to the next entry";
    PreviousEntry "previous_entry" [Transcript] ["K" "shift-up"] 0 "previous", "Go to the previous entry";
    NextTurn "next_turn" [Transcript] ["] t" "}"] 0 "next turn", "Go to the next turn";
    PreviousTurn "previous_turn" [Transcript] ["[ t" "{"] 0 "previous turn", "Go to the previous turn";
    NextError "next_error" [Transcript] ["] e"] 0 "next error", "Go to the next error";
    PreviousError "previous_error" [Transcript] ["[ e"] 0 "previous error", "Go to the previous error";
    NextUserMessage "next_said" [Transcript] ["] u"] 0 "next message", "Go to your next message";
    PreviousUserMessage "previous_said" [Transcript] ["[ u"] 0 "previous message", "Go to your previous message";
    UnfoldEntry "unfold_entry" [Transcript Diff] ["enter"] 70 "unfold", "Fold or unfold the entry";
    Follow "follow" [Transcript] ["F"] 0 "follow", "Follow new output";
    Search "search" [Transcript Diff Page] ["/"] 45 "search", "Search for text";
    SearchNext "search_next" [Transcript Diff Page] ["n"] 72 "next match", "Go to the next match";
    SearchPrevious "search_previous" [Transcript Diff Page] ["N"] 71 "previous match", "Go to the previous match";
    CopyEntry "copy" [Transcript Diff Page] ["y y"] 30 "copy", "Copy the entry";
    CopyCode "copy_code" [Transcript] ["y c"] 0 "copy code", "Copy the code in the entry";
    SelectLines "select_lines" [Transcript Diff] ["v"] 25 "select", "Select lines to copy or comment on";
    CopySelection "copy_selection" [Select] ["y" "enter"] 80 "copy", "Copy the selected lines";
    OpenPager "pager" [Transcript Diff Page] ["p"] 0 "pager", "Open in $PAGER";
    Background "background" [Transcript] ["B"] 0 "background", "Move the running command to the background";
    NextFile "next_file" [Diff] ["J" "] f"] 0 "next file", "Go to the next file";
    PreviousFile "previous_file" [Diff] ["K" "[ f"] 0 "previous file", "Go to the previous file";
    NextHunk "next_hunk" [Diff] ["}" "] h"] 0 "next hunk", "Go to the next hunk";
    PreviousHunk "previous_hunk" [Diff] ["{" "[ h"] 0 "previous hunk", "Go to the previous hunk";
    NextUnseen "next_unseen" [Diff] ["u" "] u"] 56 "next unseen", "Go to the next unseen hunk";
    PreviousUnseen "previous_unseen" [Diff] ["U" "[ u"] 0 "previous unseen", "Go to the previous unseen hunk";
    NextComment "next_comment" [Diff] ["] c"] 0 "next comment", "Go to the next comment";
    PreviousComment "previous_comment" [Diff] ["[ c"] 0 "previous comment", "Go to the previous comment";
    GoToFile "go_to_file" [Diff] ["f"] 42 "files", "List the changed files and go to one";
    Seen "seen" [Diff] ["s"] 64 "seen", "Mark the hunk as seen or unseen";
    SeenFile "seen_file" [Diff] ["S"] 0 "file seen", "Mark the file as seen or unseen";
    Comment "comment" [Diff] ["c"] 66 "comment", "Add or edit a comment on the selected lines";
    RemoveComment "remove_comment" [Diff] ["D" "delete"] 0 "delete", "Delete the comment";
    SendReview "send_review" [Diff Comment] ["ctrl-s"] 92 "send comments", "Send all comments to the agent";
    KeepComment "keep_comment" [Comment] ["enter"] 90 "save", "Save the comment until you send them all";
    Compare "compare" [Diff] ["b"] 46 "compare", "Compare the task, a turn, two turns or recent changes";
    SideBySide "side_by_side" [Diff] ["|"] 0 "side by side", "Switch between side-by-side, unified and automatic";
    IgnoreSpaces "ignore_spaces" [Diff] ["w"] 0 "whitespace", "Ignore or show whitespace changes";
    MoreContext "more_context" [Diff] ["+"] 0 "more context", "Show more context lines";
    LessContext "less_context" [Diff] ["-"] 0 "less context", "Show fewer context lines";
    Reload "reload" [Diff] ["r"] 0 "reload", "Reload the diff";

    Down "down" [Tree Asks Transcript Select Diff Page Board Merge Rewind List Complete Filter] ["j" "down"] 0 "down", "Move down";
    Up "up" [Tree Asks Transcript Select Diff Page Board Merge Rewind List Complete Filter] ["k" "up"] 0 "up", "Move up";
    PageDown "page_down" [Tree Asks Transcript Select Diff Page Board Rewind] ["ctrl-d" "pagedown"] 0 "page down", "Move down half a page";
    PageUp "page_up" [Tree Asks Transcript Select Diff Page Board Rewind] ["ctrl-u" "pageup"] 0 "page up", "Move up half a page";
    ScrollDown "scroll_down" [Composer List] ["pagedown"] 0 "scroll down", "Scroll down half a page while writing";
    ScrollUp "scroll_up" [Composer List] ["pageup"] 0 "scroll up", "Scroll up half a page while writing";
    Top "top" [Tree Asks Transcript Select Diff Page Board Rewind] ["g g" "home"] 0 "top", "Go to the first line";
    Bottom "bottom" [Tree Asks Transcript Select Diff Page Board Rewind] ["G" "end"] 0 "bottom", "Go to the last line; follow new output";

    Send "send" [Composer Answer] ["enter"] 90 "send", "Send the message or answer";
    CycleMode "send_mode" [Composer] ["ctrl-t"] 62 "delivery", "Switch delivery: steer, next or interrupt";
    CyclePermissions "permission_mode" [Composer] ["shift-tab"] 55 "mode", "Switch what the task's agent may do without asking";
    OpenEditor "editor" [Composer Answer Comment Brief] ["ctrl-g"] 70 "editor", "Continue in $EDITOR";
    Accept "accept" [Filter Prompt Brief List Complete Confirm Leave] ["enter"] 92 "accept", "Accept";
    AcceptTab "complete" [Complete] ["tab"] 0 "complete", "Accept the completion and keep writing";
    AcceptDraft "accept_draft" [Brief] ["ctrl-s"] 85 "save as draft", "Save the task as a draft, to start it later";
    ChooseProfile "choose_profile" [Brief] ["tab"] 75 "profile", "Choose the new task's profile";
    Yes "yes" [Confirm] ["y"] 90 "yes", "Confirm";
    No "no" [Confirm Leave] ["n" "esc" "q"] 80 "no", "Cancel";
    KeepWorking "keep_working" [Leave] ["k" "y"] 90 "keep working", "Leave; the agents keep working in the background";
    StopAgents "stop_agents" [Leave] ["s"] 85 "stop them", "Leave and stop the agents; work resumes next time";
    InterruptRest "interrupt_rest" [HandOver] ["enter"] 90 "interrupt", "Interrupt what a hand-over waits for";

    TextLeft "text_left" [Text] ["left" "ctrl-b"] 0 "left", "Move left";
    TextRight "text_right" [Text] ["right" "ctrl-f"] 0 "right", "Move right";
    TextUp "text_up" [Composer Answer Comment Brief] ["up"] 0 "up", "Move up, or recall the previous message";
    TextDown "text_down" [Composer Answer Comment Brief] ["down"] 0 "down", "Move down, or recall the next message";
    TextWordLeft "text_word_left" [Text] ["alt-left" "ctrl-left" "alt-b"] 0 "word left", "Move to the previous word";
    TextWordRight "text_word_right" [Text] ["alt-right" "ctrl-right" "alt-f"] 0 "word right", "Move to the next word";
    TextHome "text_home" [Text] ["home" "ctrl-a"] 0 "line start", "Move to the start of the line";
    TextEnd "text_end" [Text] ["end" "ctrl-e"] 0 "line end", "Move to the end of the line";
    TextStart "text_start" [Text] ["ctrl-home"] 0 "text start", "Move to the start of the text";
    TextFinish "text_finish" [Text] ["ctrl-end"] 0 "text end", "Move to the end of the text";
    TextNewline "newline" [Composer Answer Comment Brief] ["alt-enter" "shift-enter" "ctrl-j"] 60 "new line", "Insert a line break";
    TextBackspace "backspace" [Text] ["backspace" "ctrl-h"] 0 "backspace", "Delete the character before the cursor";
    TextDelete "delete" [Text] ["delete"] 0 "delete", "Delete the character after the cursor";
    TextDeleteWord "delete_word" [Text] ["ctrl-w" "alt-backspace" "ctrl-backspace"] 0 "delete word", "Delete the word before the cursor";
    TextDeleteToStart "delete_to_start" [Text] ["ctrl-u"] 0 "delete left", "Delete to the start of the line";
    TextDeleteToEnd "delete_to_end" [Text] ["ctrl-k"] 0 "delete right", "Delete to the end of the line";
    TextYank "yank" [Text] ["ctrl-y"] 0 "paste", "Paste the last deleted text";
    TextUndo "undo" [Text] ["ctrl-_" "ctrl-/" "alt-z"] 0 "undo", "Undo the last edit";
    TextRedo "redo" [Text] ["alt-y"] 0 "redo", "Redo the last undone edit";
}

/// Actions that only make sense as a key press.
const MOVES: &[Action] = &[
    Action::Down,
    Action::Up,
    Action::PageDown,
    Action::PageUp,
    Action::ScrollDown,
    Action::ScrollUp,
    Action::Top,
    Action::Bottom,
    Action::Back,
    Action::Cancel,
    Action::Choose,
    Action::Fold,
    Action::Unfold,
    Action::FoldToggle,
    Action::FocusNext,
    Action::FocusPrevious,
    Action::Palette,
    Action::CopySelection,
    Action::Later,
    Action::WriteAnswer,
    Action::KeepComment,
];

impl Action {
    pub fn spec(self) -> &'static ActionSpec {
        // The macro builds the enum and the table in the same order.
        &TABLE[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// Returns the action with the id `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.iter().find(|entry| entry.name == name).map(|entry| entry.action)
    }

    /// Returns the id most similar to `name`, if one is similar enough.
    pub fn nearest(name: &str) -> Option<&'static str> {
        let likeness = TABLE.iter().map(|entry| (strsim::jaro_winkler(entry.name, name), entry.name));
        likeness.filter(|(like, _)| *like > 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
#[path = "action_tests.rs"]
mod tests;
