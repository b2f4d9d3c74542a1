//! The table of roles: what a thing on the screen is, never what it looks like.
//!
//! A role has a name in theme files, a sentence for the documentation, a fallback role for themes that do not mention
//! it, and modifiers that distinguish it without colour. Fallback chains end at `background`, which every theme must
//! define.

use ratatui::style::Modifier;

const PLAIN: Modifier = Modifier::empty();
const BOLD: Modifier = Modifier::BOLD;
const DIM: Modifier = Modifier::DIM;
const ITALIC: Modifier = Modifier::ITALIC;
const UNDERLINED: Modifier = Modifier::UNDERLINED;
const REVERSED: Modifier = Modifier::REVERSED;
const STRIKE: Modifier = Modifier::CROSSED_OUT;
const BOLD_UNDERLINED: Modifier = BOLD.union(UNDERLINED);
const BOLD_REVERSED: Modifier = BOLD.union(REVERSED);

macro_rules! roles {
    ($($role:ident $name:literal < $fallback:ident, $mono:expr, $about:literal;)*) => {
        /// The meaning of a thing on the screen.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Role {
            $(#[doc = $about] $role,)*
        }

        impl Role {
            /// Every role, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$role,)*];

            /// Returns the name of the role in theme files.
            pub fn name(self) -> &'static str {
                match self { $(Self::$role => $name,)* }
            }

            /// Returns the purpose of the role, in one line.
            pub fn about(self) -> &'static str {
                match self { $(Self::$role => $about,)* }
            }

            /// Returns the role that replaces this one in a theme that does not mention it.
            pub fn fallback(self) -> Self {
                match self { $(Self::$role => Self::$fallback,)* }
            }

            /// Returns the modifiers that distinguish the role without colour.
            pub fn mono(self) -> Modifier {
                match self { $(Self::$role => $mono,)* }
            }
        }
    };
}

roles! {
    Background "background" < Background, PLAIN, "The background of the screen and the default text colour";
    Text "text" < Background, PLAIN, "Ordinary text";
    Muted "muted" < Text, PLAIN, "Secondary text: times, counts, labels";
    Faint "faint" < Muted, DIM, "Least important text: closed tasks, separators";
    Strong "strong" < Text, BOLD, "Important text";
    Accent "accent" < Text, BOLD, "The accent colour";
    Ok "ok" < Text, PLAIN, "Success";
    Warn "warn" < Text, BOLD, "A warning";
    Error "error" < Text, BOLD, "Failure";
    Ask "ask" < Warn, BOLD_UNDERLINED, "A question to the user";
    Working "working" < Accent, BOLD, "A working agent";
    Waiting "waiting" < Muted, PLAIN, "An agent that waits, but not for the user";
    Idle "idle" < Muted, PLAIN, "An idle task";

    Header "header" < Text, PLAIN, "The top line";
    Brand "brand" < Accent, BOLD, "The wordmark";
    Sidebar "sidebar" < Background, PLAIN, "The surface of the sidebar";
    Field "field" < Background, PLAIN, "The surface of the composer";
    TabActive "tab_active" < Strong, BOLD_UNDERLINED, "The open tab";
    Footer "footer" < Muted, PLAIN, "The bottom line";
    Key "key" < Accent, BOLD, "A key in hints and help";
    Title "title" < Muted, PLAIN, "The title of a pane";
    TitleFocus "title_focus" < Accent, BOLD, "The title of the focused pane";
    Border "border" < Faint, DIM, "The frame of a pane";
    BorderFocus "border_focus" < Accent, BOLD, "The frame of the focused pane";
    Popup "popup" < Background, PLAIN, "Popups: palette, help, dialogs";
    Selection "selection" < Text, REVERSED, "The selected row in the focused pane";
    SelectionDim "selection_dim" < Text, UNDERLINED, "The selected row in an unfocused pane";
    CursorLine "cursor_line" < Text, UNDERLINED, "The line of the cursor";
    Cursor "cursor" < Text, REVERSED, "The cursor";
    Scrollbar "scrollbar" < Faint, DIM, "The track of a scroll bar";
    ScrollbarThumb "scrollbar_thumb" < Muted, PLAIN, "The thumb of a scroll bar";
    Placeholder "placeholder" < Faint, DIM, "The placeholder of an empty input";
    Chip "chip" < Text, REVERSED, "A small label";
    ChipActive "chip_active" < Chip, BOLD_REVERSED, "An active small label";
    Gauge "gauge" < Accent, BOLD, "The filled part of a bar";
    GaugeEmpty "gauge_empty" < Faint, DIM, "The empty part of a bar";
    GaugeHigh "gauge_high" < Warn, BOLD, "The filled part of a bar that is nearly full";
    Sparkline "sparkline" < Gauge, PLAIN, "A chart of tokens over time";
    SearchMatch "search_match" < Text, UNDERLINED, "A search match";
    SearchCurrent "search_current" < SearchMatch, REVERSED, "The current search match";
    Match "match" < Accent, BOLD_UNDERLINED, "The matched letters of a name";

    User "user" < Accent, BOLD, "Messages of the user";
    Card "card" < Background, PLAIN, "The surface of a card: a question, a summary";
    UserBg "user_bg" < Background, PLAIN, "The surface of a message of the user";
    Agent "agent" < Text, PLAIN, "Text of an agent";
    Thinking "thinking" < Muted, DIM, "Thinking of an agent";
    Tool "tool" < Muted, PLAIN, "A tool call";
    ToolName "tool_name" < Strong, BOLD, "The name of a tool";
    Output "output" < Muted, PLAIN, "Output of a tool";
    Message "message" < Accent, PLAIN, "A message from one task to another";
    Notice "notice" < Muted, DIM, "Notices of Matrix in a transcript";
    Separator "separator" < Faint, DIM, "The time at which a run or a day begins";

    HeadingTop "heading_top" < Strong, BOLD, "A heading of the first level";
    Heading "heading" < Accent, BOLD_UNDERLINED, "A heading of the second level";
    HeadingMinor "heading_minor" < Strong, BOLD, "A heading of a deeper level";
    Emphasis "emphasis" < Text, ITALIC, "Emphasised words";
    Strike "strike" < Muted, STRIKE, "Struck-out words";
    Code "code" < Text, PLAIN, "Inline code";
    CodeBg "code_bg" < Background, PLAIN, "The background of a code block";
    CodeLabel "code_label" < Faint, DIM, "The language label of a code block";
    Link "link" < Accent, UNDERLINED, "The text of a link";
    LinkUrl "link_url" < Muted, PLAIN, "The address of a link";
    Quote "quote" < Muted, PLAIN, "Quoted text";
    QuoteBar "quote_bar" < Faint, DIM, "The bar beside quoted text";
    ListMarker "list_marker" < Muted, PLAIN, "The bullet or number of a list";
    TableBorder "table_border" < Faint, DIM, "The lines of a table";
    TableHeader "table_header" < Strong, BOLD, "The first row of a table";
    Rule "rule" < Faint, DIM, "A horizontal rule";
    Html "html" < Faint, DIM, "HTML, shown as source";
    Footnote "footnote" < Muted, PLAIN, "The number of a footnote";

    DiffAdd "diff.add" < Ok, PLAIN, "An added line";
    DiffRemove "diff.remove" < Error, PLAIN, "A removed line";
    DiffAddStrong "diff.add_strong" < DiffAdd, REVERSED, "The new words of an added line";
    DiffRemoveStrong "diff.remove_strong" < DiffRemove, REVERSED, "The deleted words of a removed line";
    DiffContext "diff.context" < Text, PLAIN, "An unchanged line";
    DiffHunk "diff.hunk" < Muted, DIM, "The heading of a hunk";
    DiffFile "diff.file" < Strong, BOLD, "The name of a changed file";
    DiffPlus "diff.plus" < Ok, PLAIN, "The count of added lines and the sign before one";
    DiffMinus "diff.minus" < Error, PLAIN, "The count of removed lines and the sign before one";
    DiffFold "diff.fold" < Faint, DIM, "Folded unchanged lines";
    LineNumber "line_number" < Faint, DIM, "A line number";
    Whitespace "whitespace" < Faint, DIM, "Spaces and tabs made visible";

    SyntaxKeyword "syntax.keyword" < Text, BOLD, "`if`, `let`, `return`";
    SyntaxString "syntax.string" < Text, PLAIN, "Strings";
    SyntaxEscape "syntax.escape" < SyntaxString, PLAIN, "Escapes and placeholders in strings";
    SyntaxComment "syntax.comment" < Muted, DIM, "Comments";
    SyntaxFunction "syntax.function" < Text, PLAIN, "Names of functions";
    SyntaxMacro "syntax.macro" < SyntaxFunction, PLAIN, "Names of macros";
    SyntaxType "syntax.type" < Text, PLAIN, "Names of types";
    SyntaxNumber "syntax.number" < Text, PLAIN, "Numbers";
    SyntaxConstant "syntax.constant" < SyntaxNumber, PLAIN, "`true`, `null`, and names of constants";
    SyntaxOperator "syntax.operator" < Text, PLAIN, "`+`, `=`, `=>`";
    SyntaxPunctuation "syntax.punctuation" < Muted, PLAIN, "Brackets, commas, semicolons";
    SyntaxVariable "syntax.variable" < Text, PLAIN, "Names of variables and parameters";
    SyntaxProperty "syntax.property" < SyntaxVariable, PLAIN, "Names of fields and keys";
    SyntaxModule "syntax.module" < SyntaxType, PLAIN, "Names of modules and paths";
    SyntaxAttribute "syntax.attribute" < SyntaxMacro, PLAIN, "Attributes, decorators, annotations";
    SyntaxTag "syntax.tag" < SyntaxKeyword, BOLD, "Tags of markup";
    SyntaxInvalid "syntax.invalid" < Error, PLAIN, "Invalid syntax";

    TaskRed "task.red" < Error, PLAIN, "A task marked red";
    TaskOrange "task.orange" < Warn, PLAIN, "A task marked orange";
    TaskYellow "task.yellow" < Warn, PLAIN, "A task marked yellow";
    TaskGreen "task.green" < Ok, PLAIN, "A task marked green";
    TaskBlue "task.blue" < Accent, PLAIN, "A task marked blue";
    TaskPurple "task.purple" < Accent, PLAIN, "A task marked purple";
    TaskGray "task.gray" < Muted, PLAIN, "A task marked gray";

    AnsiBlack "ansi.black" < Faint, PLAIN, "Black in the output of a tool";
    AnsiRed "ansi.red" < Error, BOLD, "Red in the output of a tool";
    AnsiGreen "ansi.green" < Ok, PLAIN, "Green in the output of a tool";
    AnsiYellow "ansi.yellow" < Warn, BOLD, "Yellow in the output of a tool";
    AnsiBlue "ansi.blue" < TaskBlue, PLAIN, "Blue in the output of a tool";
    AnsiMagenta "ansi.magenta" < TaskPurple, PLAIN, "Magenta in the output of a tool";
    AnsiCyan "ansi.cyan" < Accent, PLAIN, "Cyan in the output of a tool";
    AnsiWhite "ansi.white" < Text, PLAIN, "White in the output of a tool";
    AnsiBrightBlack "ansi.bright_black" < Muted, DIM, "Bright black in the output of a tool";
    AnsiBrightRed "ansi.bright_red" < AnsiRed, BOLD, "Bright red in the output of a tool";
    AnsiBrightGreen "ansi.bright_green" < AnsiGreen, PLAIN, "Bright green in the output of a tool";
    AnsiBrightYellow "ansi.bright_yellow" < AnsiYellow, BOLD, "Bright yellow in the output of a tool";
    AnsiBrightBlue "ansi.bright_blue" < AnsiBlue, PLAIN, "Bright blue in the output of a tool";
    AnsiBrightMagenta "ansi.bright_magenta" < AnsiMagenta, PLAIN, "Bright magenta in the output of a tool";
    AnsiBrightCyan "ansi.bright_cyan" < AnsiCyan, PLAIN, "Bright cyan in the output of a tool";
    AnsiBrightWhite "ansi.bright_white" < Strong, BOLD, "Bright white in the output of a tool";
}

impl Role {
    /// The sixteen colours of a terminal, in their order.
    pub const ANSI: [Self; 16] = [
        Self::AnsiBlack,
        Self::AnsiRed,
        Self::AnsiGreen,
        Self::AnsiYellow,
        Self::AnsiBlue,
        Self::AnsiMagenta,
        Self::AnsiCyan,
        Self::AnsiWhite,
        Self::AnsiBrightBlack,
        Self::AnsiBrightRed,
        Self::AnsiBrightGreen,
        Self::AnsiBrightYellow,
        Self::AnsiBrightBlue,
        Self::AnsiBrightMagenta,
        Self::AnsiBrightCyan,
        Self::AnsiBrightWhite,
    ];

    /// Returns the role with that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|role| role.name() == name)
    }

    /// Returns the role whose name is most similar to `name`, if one is similar.
    pub fn nearest(name: &str) -> Option<Self> {
        let names = Self::ALL.iter().map(|role| (strsim::jaro_winkler(role.name(), name), *role));
        names.filter(|(likeness, _)| *likeness > 0.8).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, role)| role)
    }
}

#[cfg(test)]
#[path = "role_tests.rs"]
mod tests;
