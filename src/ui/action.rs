//! The one table of everything a person can do: name in the settings, where it works, keys, words, weight in the
//! hint bar. Key handling, help, palette, hint bar and `docs/keys.md` all read it and nothing else.
//!
//! Says nothing about how an action is carried out. A plain character never triggers an action while text is being
//! written, so the same key may type in one place and act in another.

use std::fmt;

/// A part of the screen in which keys have their own meaning. The nearer one wins over the wider one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    Anywhere,
    Tree,
    Asks,
    /// An answer is being written.
    Answer,
    Transcript,
    /// Lines of a transcript are being chosen.
    Select,
    Diff,
    /// A remark on lines of a diff is being written.
    Comment,
    /// A text to read: description, info, log.
    Page,
    Composer,
    /// The composer offers how to go on.
    Complete,
    /// A filter or a search is being written.
    Filter,
    /// One line is asked for.
    Prompt,
    /// A list to choose from: palette, help, projects.
    List,
    Board,
    /// What bringing a branch into another would do.
    Merge,
    /// The turns that can be gone back to.
    Rewind,
    Confirm,
    /// Wherever text is written.
    Text,
}

impl Context {
    pub const ALL: [Self; 19] = [
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
        Self::List,
        Self::Board,
        Self::Merge,
        Self::Rewind,
        Self::Confirm,
        Self::Text,
    ];

    /// Returns how the context is headed in the help.
    pub fn title(self) -> &'static str {
        match self {
            Self::Anywhere => "Everywhere",
            Self::Tree => "Tasks",
            Self::Asks => "Asks",
            Self::Answer => "Answering",
            Self::Transcript => "Transcript",
            Self::Select => "Choosing lines",
            Self::Diff => "Diff",
            Self::Comment => "Writing a comment",
            Self::Page => "Description, info and log",
            Self::Composer => "Composer",
            Self::Complete => "Completion",
            Self::Filter => "Filter and search",
            Self::Prompt => "Asking for one line",
            Self::List => "Lists to choose from",
            Self::Board => "Dashboard and settings",
            Self::Merge => "Merging",
            Self::Rewind => "Going back",
            Self::Confirm => "Confirmation",
            Self::Text => "Writing",
        }
    }

    /// Tells whether plain characters are text here and never keys of actions.
    pub fn types(self) -> bool {
        match self {
            Self::Answer
            | Self::Comment
            | Self::Composer
            | Self::Complete
            | Self::Filter
            | Self::Prompt
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
            | Self::Confirm => false,
        }
    }
}

/// What the table says of an action.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub action: Action,
    /// The name in the settings.
    pub name: &'static str,
    pub contexts: &'static [Context],
    pub keys: &'static [&'static str],
    /// Place in the hint bar: the higher, the earlier. Zero: not there.
    pub weight: u8,
    /// A word or two for the hint bar.
    pub label: &'static str,
    /// One line for help and palette.
    pub help: &'static str,
}

impl Entry {
    /// Tells whether the palette offers it: what only makes sense as a key press is left out.
    pub fn in_palette(&self) -> bool {
        let reading = [Context::Anywhere, Context::Tree, Context::Asks, Context::Transcript, Context::Diff];
        let composing = self.action == Action::CycleMode || self.action == Action::OpenEditor;
        let here = self.contexts.iter().any(|context| reading.contains(context)) || composing;
        here && !MOVES.contains(&self.action)
    }
}

macro_rules! actions {
    ($($action:ident $name:literal [$($context:ident)*] [$($key:literal)*] $weight:literal $label:literal, $help:literal;)*) => {
        /// Something a person can do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Action {
            $(#[doc = $help] $action,)*
        }

        /// Every action, in the order in which help shows them.
        pub const TABLE: &[Entry] = &[$(Entry {
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
    FocusNext "focus_next" [Anywhere] ["tab"] 90 "focus", "Go to the next pane";
    FocusPrevious "focus_previous" [Anywhere] ["shift-tab"] 0 "back", "Go to the previous pane";
    Write "write" [Anywhere] ["i"] 60 "write", "Write to the selected task";
    NextAsk "next_ask" [Anywhere] ["a" "ctrl-n"] 88 "answer", "Go to the next thing that waits for you";
    Palette "commands" [Anywhere] [":" "ctrl-p"] 20 "commands", "Find any action by its name";
    SearchAll "search_all" [Anywhere] ["S" "ctrl-o"] 91 "search all", "Search everything: titles, messages and transcripts of all tasks";
    Help "help" [Anywhere] ["?" "f1"] 19 "help", "Show what can be done here, and every key";
    Back "back" [Anywhere Answer Select Comment Complete Filter Prompt List Board Merge Rewind] ["esc"] 0 "back", "Leave what is open, or go back to the tasks";
    NextTask "next_task" [Anywhere] ["ctrl-down" "alt-j"] 0 "next task", "Select the next task, from anywhere";
    PreviousTask "previous_task" [Anywhere] ["ctrl-up" "alt-k"] 0 "previous task", "Select the previous task, from anywhere";
    ShowTranscript "show_transcript" [Anywhere] ["1" "g t"] 0 "transcript", "Show the transcript of the task";
    ShowDiff "show_diff" [Anywhere Merge Rewind] ["d" "2" "g d"] 50 "diff", "Show what the task has changed";
    ShowDescription "show_description" [Anywhere] ["3" "g e"] 0 "description", "Show the description of the task";
    ShowInfo "show_info" [Anywhere] ["4" "g i"] 0 "info", "Show model, context, cost, branch and processes of the task";
    ShowLog "show_log" [Anywhere] ["5" "g l"] 0 "log", "Show the events of the task";
    Dashboard "dashboard" [Anywhere] ["g a"] 0 "agents", "Show all agents at work";
    Settings "settings" [Anywhere] ["g s"] 0 "settings", "Change theme, model, budget, notifications and the like";
    SetUp "set_up" [Anywhere] [] 0 "set up", "Set up how a model is reached: provider, key, model, budget";
    Projects "projects" [Anywhere] ["g p"] 0 "projects", "Go to another project";
    Zoom "zoom" [Anywhere] ["Z"] 0 "zoom", "Give the task the whole width, or take it back";
    Wider "wider" [Anywhere] [">"] 0 "wider", "Make the left side wider";
    Narrower "narrower" [Anywhere] ["<"] 0 "narrower", "Make the left side narrower";
    Interrupt "interrupt" [Anywhere] ["ctrl-x"] 55 "interrupt", "Cut the turn of the agent short and keep the agent";
    Stop "stop" [Anywhere] ["X"] 0 "stop", "Stop the agent of the task";
    StopSubtree "stop_subtree" [Anywhere] [] 0 "stop below", "Stop the agents of the task and of everything below it";
    StopAll "stop_all" [Anywhere] [] 0 "stop all", "Stop every agent";
    Resume "resume" [Anywhere] ["R"] 54 "resume", "Let the task work: a new one, or one that was stopped";
    Rewind "rewind" [Anywhere] ["g r"] 0 "go back", "Choose a turn to go back to: conversation, files or both";
    Redo "redo_rewind" [Anywhere Rewind] ["g R"] 0 "forward again", "Undo the last going back";
    Fork "fork" [Anywhere Rewind] ["g f"] 70 "fork", "Make a new task that goes on from here, or from the chosen turn";
    UndoMerge "undo_merge" [Anywhere Merge] ["g u"] 58 "undo merge", "Take the last merge of the task back";
    CancelMerge "cancel_merge" [Anywhere Merge] ["g c"] 59 "cancel merge", "Cancel the queued merge of the task";
    Compact "compact" [Anywhere] [] 0 "summarise", "Summarise the conversation of the task now";
    Withdraw "withdraw" [Anywhere] ["ctrl-r"] 53 "take back", "Take back the last message that the agent has not read";
    Cancel "cancel" [Anywhere] ["ctrl-c"] 0 "cancel", "Close what is open, empty the composer; twice: quit";
    Suspend "suspend" [Anywhere] ["ctrl-z"] 0 "suspend", "Go back to the shell for a while";
    Redraw "redraw" [Anywhere] ["ctrl-l"] 0 "redraw", "Draw the whole screen again";
    Quit "quit" [Anywhere] ["q" "ctrl-q"] 5 "quit", "Stop the agents and end; everything goes on next time";

    Open "open" [Tree Asks Board] ["enter"] 70 "open", "Open what is selected";
    NewTask "new_task" [Tree] ["n"] 85 "new task", "Make a task beside the selected one";
    NewSubtask "new_subtask" [Tree] ["N"] 40 "sub task", "Make a task below the selected one";
    Fold "fold" [Tree] ["h" "left"] 0 "fold", "Hide what is below, or go to the task above";
    Unfold "unfold" [Tree] ["l" "right"] 0 "unfold", "Show what is below, or go into it";
    FoldToggle "fold_toggle" [Tree Transcript Diff] ["space"] 0 "fold", "Hide or show what belongs to this line";
    FoldAll "fold_all" [Tree Transcript Diff] ["z M"] 0 "fold all", "Hide everything that can be hidden";
    UnfoldAll "unfold_all" [Tree Transcript Diff] ["z R"] 0 "unfold all", "Show everything that is hidden";
    Rename "rename" [Tree] ["r"] 30 "rename", "Change the title";
    Describe "describe" [Tree Page] ["e"] 28 "describe", "Edit the description in $EDITOR";
    MoveTask "move_task" [Tree] ["M"] 0 "move", "Put the task below another one";
    MoveUp "move_up" [Tree] ["K" "shift-up"] 0 "earlier", "Put the task before the one above it";
    MoveDown "move_down" [Tree] ["J" "shift-down"] 0 "later", "Put the task after the one below it";
    Colour "colour" [Tree] ["c"] 0 "colour", "Mark the task with a colour";
    Budget "budget" [Tree] ["b"] 0 "budget", "Limit what the task may cost";
    ToggleDraft "toggle_draft" [Tree] ["t"] 0 "draft", "Make a draft of a task that has not begun, or make it ready";
    CloseTask "close_task" [Tree] ["C"] 0 "close", "Put the task away; its work is archived";
    DeleteTask "delete_task" [Tree] ["D" "delete"] 0 "delete", "Take the task and everything below it out of the tree";
    ResetTask "reset_task" [Tree] [] 0 "reset", "Start the task over with an empty conversation on a fresh branch";
    RestoreTask "restore_task" [Tree] [] 0 "restore", "Bring the worktree of the task back";
    Filter "filter" [Tree] ["/"] 45 "filter", "Show only tasks with these letters";
    FilterMode "filter_mode" [Tree] ["f"] 0 "show", "Show all tasks, only open ones, those that need you, or those at work";
    Sort "sort" [Tree] ["s"] 0 "sort", "Sort by the tree or by what needs you most";
    CostColumn "cost_column" [Tree] ["$"] 0 "cost", "Show what each task and everything below it cost";

    Merge "merge" [Tree Asks Transcript Diff Page] ["m"] 48 "merge", "Bring the work of the task into the branch above: what that would do, and how";
    Verify "verify" [Tree Diff Page Merge] ["V"] 56 "check", "Run the check of the project in the worktree of the task";
    CatchUp "catch_up" [Tree Page Merge] ["u"] 57 "catch up", "Ask the agent to take in what the branch above has gained";
    DoMerge "do_merge" [Merge] ["enter"] 90 "merge", "Merge in the chosen way";
    MergeBase "merge_base" [Merge] ["b"] 54 "other branch", "Merge into the base branch instead of the branch above, or back";
    TellAgent "tell_agent" [Merge] ["t"] 80 "tell the agent", "Give the conflicts to the agent, with both sides";
    SolveConflicts "solve_conflicts" [Merge] ["e"] 79 "solve in $EDITOR", "Solve the conflicts yourself in $EDITOR, then merge";
    GoBack "go_back" [Rewind] ["enter"] 90 "go back", "Go back to the chosen turn";
    RewindWhat "rewind_what" [Rewind] ["tab"] 80 "what", "Choose what goes back: conversation, files or both";
    EditResend "edit_resend" [Transcript Rewind] ["E"] 66 "edit and resend", "Change something you said, and go on from there";

    Choose "choose" [Asks] ["1" "2" "3" "4" "5" "6" "7" "8" "9"] 80 "choose", "Answer with the choice of that number";
    WriteAnswer "write_answer" [Asks] ["i" "w"] 78 "write", "Answer in your own words";
    Later "answer_later" [Asks] ["l"] 76 "later", "Put the question aside; it stays in the list";
    GoToTask "go_to_task" [Asks Transcript Board] ["o"] 62 "go to task", "Go to the task that this comes from or goes to";

    NextEntry "next_entry" [Transcript] ["J" "shift-down"] 0 "next", "Go to the next entry";
    PreviousEntry "previous_entry" [Transcript] ["K" "shift-up"] 0 "previous", "Go to the previous entry";
    NextTurn "next_turn" [Transcript] ["] t" "}"] 0 "next turn", "Go to the next turn";
    PreviousTurn "previous_turn" [Transcript] ["[ t" "{"] 0 "previous turn", "Go to the previous turn";
    NextError "next_error" [Transcript] ["] e"] 0 "next error", "Go to the next error";
    PreviousError "previous_error" [Transcript] ["[ e"] 0 "previous error", "Go to the previous error";
    NextSaid "next_said" [Transcript] ["] u"] 0 "next message", "Go to the next thing you said";
    PreviousSaid "previous_said" [Transcript] ["[ u"] 0 "previous message", "Go to the previous thing you said";
    UnfoldEntry "unfold_entry" [Transcript Diff] ["enter"] 70 "unfold", "Show or hide the whole of it";
    Follow "follow" [Transcript] ["F"] 0 "follow", "Stay at the end while new lines come";
    Search "search" [Transcript Diff Page] ["/"] 45 "search", "Find text";
    SearchNext "search_next" [Transcript Diff Page] ["n"] 72 "next match", "Go to the next place that was found";
    SearchPrevious "search_previous" [Transcript Diff Page] ["N"] 71 "previous match", "Go to the previous place that was found";
    CopyEntry "copy" [Transcript Diff Page] ["y y"] 30 "copy", "Copy the entry";
    CopyCode "copy_code" [Transcript] ["y c"] 0 "copy code", "Copy the code in the entry";
    SelectLines "select_lines" [Transcript Diff] ["v"] 25 "select", "Choose lines to copy or to comment on";
    CopySelection "copy_selection" [Select] ["y" "enter"] 80 "copy", "Copy the chosen lines";
    OpenPager "pager" [Transcript Diff Page] ["p"] 0 "pager", "Open it in $PAGER";
    Background "background" [Transcript] ["B"] 0 "background", "Let the command that runs go on in the background";
    NextFile "next_file" [Diff] ["J" "] f"] 0 "next file", "Go to the next file";
    PreviousFile "previous_file" [Diff] ["K" "[ f"] 0 "previous file", "Go to the previous file";
    NextHunk "next_hunk" [Diff] ["}" "] h"] 0 "next hunk", "Go to the next change";
    PreviousHunk "previous_hunk" [Diff] ["{" "[ h"] 0 "previous hunk", "Go to the previous change";
    NextUnseen "next_unseen" [Diff] ["u" "] u"] 56 "next unseen", "Go to the next change that you have not seen";
    PreviousUnseen "previous_unseen" [Diff] ["U" "[ u"] 0 "previous unseen", "Go to the previous change that you have not seen";
    NextComment "next_comment" [Diff] ["] c"] 0 "next comment", "Go to the next comment";
    PreviousComment "previous_comment" [Diff] ["[ c"] 0 "previous comment", "Go to the previous comment";
    GoToFile "go_to_file" [Diff] ["f"] 42 "files", "List the files with their sizes, and go to one";
    Seen "seen" [Diff] ["s"] 64 "seen", "Remember this change as seen and go on, or forget that it was";
    SeenFile "seen_file" [Diff] ["S"] 0 "file seen", "Remember all changes of the file as seen, or forget that they were";
    Comment "comment" [Diff] ["c"] 66 "comment", "Say something about the line or the chosen lines, or change what was said";
    RemoveComment "remove_comment" [Diff] ["D" "delete"] 0 "remove", "Take the comment away";
    SendReview "send_review" [Diff Comment] ["ctrl-s"] 92 "send comments", "Send all comments to the agent as one message";
    KeepComment "keep_comment" [Comment] ["enter"] 90 "keep", "Keep the comment until all are sent";
    Compare "compare" [Diff] ["b"] 46 "compare", "Choose what is compared: the whole task, a turn, two turns, or what is new since you looked";
    SideBySide "side_by_side" [Diff] ["|"] 0 "side by side", "Show the two sides beside each other or below, or as the width allows";
    IgnoreSpaces "ignore_spaces" [Diff] ["w"] 0 "spaces", "Leave out changes of spaces, or show them";
    MoreContext "more_context" [Diff] ["+"] 0 "more lines", "Show more unchanged lines around changes";
    LessContext "less_context" [Diff] ["-"] 0 "fewer lines", "Show fewer unchanged lines around changes";
    Reload "reload" [Diff] ["r"] 0 "reload", "Look again at what has changed";

    Down "down" [Tree Asks Transcript Select Diff Page Board Merge Rewind List Complete Filter] ["j" "down"] 0 "down", "Go down";
    Up "up" [Tree Asks Transcript Select Diff Page Board Merge Rewind List Complete Filter] ["k" "up"] 0 "up", "Go up";
    PageDown "page_down" [Tree Asks Transcript Select Diff Page Board Rewind] ["ctrl-d" "pagedown"] 0 "page down", "Go down by half a page";
    PageUp "page_up" [Tree Asks Transcript Select Diff Page Board Rewind] ["ctrl-u" "pageup"] 0 "page up", "Go up by half a page";
    ScrollDown "scroll_down" [Composer List] ["pagedown"] 0 "read on", "Go down by half a page, and go on writing";
    ScrollUp "scroll_up" [Composer List] ["pageup"] 0 "read back", "Go up by half a page, and go on writing";
    Top "top" [Tree Asks Transcript Select Diff Page Board Rewind] ["g g" "home"] 0 "top", "Go to the first line";
    Bottom "bottom" [Tree Asks Transcript Select Diff Page Board Rewind] ["G" "end"] 0 "bottom", "Go to the last line; a transcript follows again";

    Send "send" [Composer Answer] ["enter"] 90 "send", "Send what is written";
    CycleMode "send_mode" [Composer] ["ctrl-t"] 62 "when it is read", "Change when a message reaches an agent at work";
    OpenEditor "editor" [Composer Answer Comment] ["ctrl-g"] 70 "editor", "Go on writing in $EDITOR";
    Accept "accept" [Filter Prompt List Complete] ["enter"] 92 "accept", "Take this";
    AcceptTab "complete" [Complete] ["tab"] 0 "complete", "Take this and go on writing";
    AcceptDraft "accept_draft" [Prompt] ["alt-enter"] 70 "as draft", "Make the new task as a draft, not yet to be started";
    ChooseProfile "choose_profile" [Prompt] ["tab"] 75 "profile", "Choose who does the work of the new task";
    Yes "yes" [Confirm] ["y"] 90 "yes", "Do it";
    No "no" [Confirm] ["n" "esc" "q"] 80 "no", "Leave everything as it is";

    TextLeft "text_left" [Text] ["left" "ctrl-b"] 0 "left", "Move left";
    TextRight "text_right" [Text] ["right" "ctrl-f"] 0 "right", "Move right";
    TextUp "text_up" [Composer Answer Comment] ["up"] 0 "up", "Move up; above the first line: what was said before";
    TextDown "text_down" [Composer Answer Comment] ["down"] 0 "down", "Move down; below the last line: what was said after";
    TextWordLeft "text_word_left" [Text] ["alt-left" "ctrl-left" "alt-b"] 0 "word left", "Move to the word before";
    TextWordRight "text_word_right" [Text] ["alt-right" "ctrl-right" "alt-f"] 0 "word right", "Move to the word after";
    TextHome "text_home" [Text] ["home" "ctrl-a"] 0 "start", "Move to the start of the line";
    TextEnd "text_end" [Text] ["end" "ctrl-e"] 0 "end", "Move to the end of the line";
    TextStart "text_start" [Text] ["ctrl-home"] 0 "first", "Move to the start of the text";
    TextFinish "text_finish" [Text] ["ctrl-end"] 0 "last", "Move to the end of the text";
    TextNewline "newline" [Composer Answer Comment] ["alt-enter" "shift-enter" "ctrl-j"] 60 "new line", "Begin a new line";
    TextBackspace "backspace" [Text] ["backspace" "ctrl-h"] 0 "erase", "Erase what is before the cursor";
    TextDelete "delete" [Text] ["delete"] 0 "delete", "Erase what is after the cursor";
    TextDeleteWord "delete_word" [Text] ["ctrl-w" "alt-backspace" "ctrl-backspace"] 0 "erase word", "Erase the word before the cursor";
    TextDeleteToStart "delete_to_start" [Text] ["ctrl-u"] 0 "erase to start", "Erase to the start of the line";
    TextDeleteToEnd "delete_to_end" [Text] ["ctrl-k"] 0 "erase to end", "Erase to the end of the line";
    TextYank "yank" [Text] ["ctrl-y"] 0 "yank", "Insert what was last erased as a word or to an end of the line";
    TextUndo "undo" [Text] ["ctrl-_" "ctrl-/" "alt-z"] 0 "undo", "Undo what was written";
    TextRedo "redo" [Text] ["alt-y"] 0 "redo", "Do again what was undone";
}

/// What only makes sense as a key press.
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
    pub fn entry(self) -> &'static Entry {
        // The table is made by the same macro as the enum, in the same order.
        &TABLE[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Returns the action that the settings call `name`.
    pub fn named(name: &str) -> Option<Self> {
        TABLE.iter().find(|entry| entry.name == name).map(|entry| entry.action)
    }

    /// Returns the known name most like `name`, if one is at all.
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
