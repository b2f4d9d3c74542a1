//! The one table of roles: what a thing on the screen is, never what it looks like.
//!
//! A role has a name in theme files, a sentence for the documentation, a role it borrows from when a theme does
//! not mention it, and the modifiers that keep it apart where there is no colour. Chains of borrowing end at
//! `background`, which every theme must give.

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
        /// What a thing on the screen is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Role {
            $(#[doc = $about] $role,)*
        }

        impl Role {
            /// Every role, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$role,)*];

            /// Returns the role's name in theme files.
            pub fn name(self) -> &'static str {
                match self { $(Self::$role => $name,)* }
            }

            /// Returns what the role is for, in one line.
            pub fn about(self) -> &'static str {
                match self { $(Self::$role => $about,)* }
            }

            /// Returns the role that stands in when a theme does not mention this one.
            pub fn fallback(self) -> Self {
                match self { $(Self::$role => Self::$fallback,)* }
            }

            /// Returns what keeps the role apart where there is no colour.
            pub fn mono(self) -> Modifier {
                match self { $(Self::$role => $mono,)* }
            }
        }
    };
}

roles! {
    Background "background" < Background, PLAIN, "The screen itself: its background and the colour of everything unnamed";
    Text "text" < Background, PLAIN, "Ordinary text";
    Muted "muted" < Text, PLAIN, "Text that supports other text: times, counts, labels";
    Faint "faint" < Muted, DIM, "Text that may be overlooked: closed tasks, rules between things";
    Strong "strong" < Text, BOLD, "Text that must be seen first";
    Accent "accent" < Text, BOLD, "The one colour that leads the eye";
    Ok "ok" < Text, PLAIN, "It worked";
    Warn "warn" < Text, BOLD, "Look at this soon";
    Error "error" < Text, BOLD, "It failed";
    Ask "ask" < Warn, BOLD_UNDERLINED, "Something waits for the person";
    Working "working" < Accent, BOLD, "An agent is at work";
    Waiting "waiting" < Muted, PLAIN, "An agent waits for something else than the person";
    Idle "idle" < Muted, PLAIN, "Nothing is going on";

    Header "header" < Text, PLAIN, "The top line";
    Footer "footer" < Muted, PLAIN, "The bottom line";
    Key "key" < Accent, BOLD, "A key to press, where it is shown";
    Title "title" < Muted, PLAIN, "The title of a pane";
    TitleFocus "title_focus" < Accent, BOLD, "The title of the pane that has the keys";
    Border "border" < Faint, DIM, "The frame of a pane";
    BorderFocus "border_focus" < Accent, BOLD, "The frame of the pane that has the keys";
    Popup "popup" < Background, PLAIN, "What lies above the screen: palette, help, confirmation";
    Selection "selection" < Text, REVERSED, "The chosen row in the pane that has the keys";
    SelectionDim "selection_dim" < Text, UNDERLINED, "The chosen row in a pane that does not have the keys";
    CursorLine "cursor_line" < Text, UNDERLINED, "The line of the cursor in a text";
    Cursor "cursor" < Text, REVERSED, "The cursor";
    Scrollbar "scrollbar" < Faint, DIM, "The track of a scroll bar";
    ScrollbarThumb "scrollbar_thumb" < Muted, PLAIN, "The part of a scroll bar that says where one is";
    Placeholder "placeholder" < Faint, DIM, "What stands where nothing has been typed";
    Chip "chip" < Text, REVERSED, "A small label";
    ChipActive "chip_active" < Chip, BOLD_REVERSED, "A small label that says what will happen next";
    Gauge "gauge" < Accent, BOLD, "The filled part of a bar";
    GaugeEmpty "gauge_empty" < Faint, DIM, "The empty part of a bar";
    GaugeHigh "gauge_high" < Warn, BOLD, "The filled part of a bar that is nearly full";
    SearchMatch "search_match" < Text, UNDERLINED, "A place that a search found";
    SearchCurrent "search_current" < SearchMatch, REVERSED, "The found place that is being looked at";
    Match "match" < Accent, BOLD_UNDERLINED, "The letters of a name that fit what was typed";

    User "user" < Accent, BOLD, "What the person said";
    Agent "agent" < Text, PLAIN, "What an agent said";
    Thinking "thinking" < Muted, DIM, "What an agent thought";
    Tool "tool" < Muted, PLAIN, "A tool call";
    ToolName "tool_name" < Strong, BOLD, "The name of a tool";
    Output "output" < Muted, PLAIN, "What a tool printed";
    Message "message" < Accent, PLAIN, "A message from one task to another";
    Notice "notice" < Muted, DIM, "What Matrix itself says in a transcript";
    Separator "separator" < Faint, DIM, "The line between runs and between days";

    Heading "heading" < Accent, BOLD_UNDERLINED, "A heading of the first or second level";
    HeadingMinor "heading_minor" < Strong, BOLD, "A heading of a deeper level";
    Emphasis "emphasis" < Text, ITALIC, "Emphasised words";
    Strike "strike" < Muted, STRIKE, "Words struck out";
    Code "code" < Text, PLAIN, "Code within a sentence";
    CodeBg "code_bg" < Background, PLAIN, "The background of a block of code";
    CodeLabel "code_label" < Faint, DIM, "The language of a block of code";
    Link "link" < Accent, UNDERLINED, "The words of a link";
    LinkUrl "link_url" < Muted, PLAIN, "The address of a link";
    Quote "quote" < Muted, PLAIN, "Quoted text";
    QuoteBar "quote_bar" < Faint, DIM, "The bar beside quoted text";
    ListMarker "list_marker" < Muted, PLAIN, "The bullet or number of a list";
    TableBorder "table_border" < Faint, DIM, "The lines of a table";
    TableHeader "table_header" < Strong, BOLD, "The first row of a table";
    Rule "rule" < Faint, DIM, "A line across a text";
    Html "html" < Faint, DIM, "HTML, shown as it was written";
    Footnote "footnote" < Muted, PLAIN, "The number of a footnote";

    DiffAdd "diff.add" < Ok, PLAIN, "A line that was added";
    DiffRemove "diff.remove" < Error, PLAIN, "A line that was removed";
    DiffAddStrong "diff.add_strong" < DiffAdd, REVERSED, "The words of an added line that are new";
    DiffRemoveStrong "diff.remove_strong" < DiffRemove, REVERSED, "The words of a removed line that are gone";
    DiffContext "diff.context" < Text, PLAIN, "A line that did not change";
    DiffHunk "diff.hunk" < Muted, DIM, "Where a part of a diff stands in its file";
    DiffFile "diff.file" < Strong, BOLD, "The name of a changed file";
    DiffPlus "diff.plus" < Ok, PLAIN, "The count of added lines and the sign before one";
    DiffMinus "diff.minus" < Error, PLAIN, "The count of removed lines and the sign before one";
    DiffFold "diff.fold" < Faint, DIM, "Unchanged lines that are folded away";
    LineNumber "line_number" < Faint, DIM, "A line number";
    Whitespace "whitespace" < Faint, DIM, "Spaces and tabs made visible";

    SyntaxKeyword "syntax.keyword" < Text, BOLD, "`if`, `let`, `return`";
    SyntaxString "syntax.string" < Text, PLAIN, "Text in quotes";
    SyntaxEscape "syntax.escape" < SyntaxString, PLAIN, "`\\n` and placeholders within text in quotes";
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
    SyntaxInvalid "syntax.invalid" < Error, PLAIN, "What the language does not allow";

    TaskRed "task.red" < Error, PLAIN, "A task marked red";
    TaskOrange "task.orange" < Warn, PLAIN, "A task marked orange";
    TaskYellow "task.yellow" < Warn, PLAIN, "A task marked yellow";
    TaskGreen "task.green" < Ok, PLAIN, "A task marked green";
    TaskBlue "task.blue" < Accent, PLAIN, "A task marked blue";
    TaskPurple "task.purple" < Accent, PLAIN, "A task marked purple";
    TaskGray "task.gray" < Muted, PLAIN, "A task marked gray";

    AnsiBlack "ansi.black" < Faint, PLAIN, "Black in what a tool printed";
    AnsiRed "ansi.red" < Error, BOLD, "Red in what a tool printed";
    AnsiGreen "ansi.green" < Ok, PLAIN, "Green in what a tool printed";
    AnsiYellow "ansi.yellow" < Warn, BOLD, "Yellow in what a tool printed";
    AnsiBlue "ansi.blue" < TaskBlue, PLAIN, "Blue in what a tool printed";
    AnsiMagenta "ansi.magenta" < TaskPurple, PLAIN, "Magenta in what a tool printed";
    AnsiCyan "ansi.cyan" < Accent, PLAIN, "Cyan in what a tool printed";
    AnsiWhite "ansi.white" < Text, PLAIN, "White in what a tool printed";
    AnsiBrightBlack "ansi.bright_black" < Muted, DIM, "Bright black in what a tool printed";
    AnsiBrightRed "ansi.bright_red" < AnsiRed, BOLD, "Bright red in what a tool printed";
    AnsiBrightGreen "ansi.bright_green" < AnsiGreen, PLAIN, "Bright green in what a tool printed";
    AnsiBrightYellow "ansi.bright_yellow" < AnsiYellow, BOLD, "Bright yellow in what a tool printed";
    AnsiBrightBlue "ansi.bright_blue" < AnsiBlue, PLAIN, "Bright blue in what a tool printed";
    AnsiBrightMagenta "ansi.bright_magenta" < AnsiMagenta, PLAIN, "Bright magenta in what a tool printed";
    AnsiBrightCyan "ansi.bright_cyan" < AnsiCyan, PLAIN, "Bright cyan in what a tool printed";
    AnsiBrightWhite "ansi.bright_white" < Strong, BOLD, "Bright white in what a tool printed";
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

    /// Returns the role of that name in theme files.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|role| role.name() == name)
    }

    /// Returns the known role whose name is most like `name`, if one is at all.
    pub fn nearest(name: &str) -> Option<Self> {
        let names = Self::ALL.iter().map(|role| (strsim::jaro_winkler(role.name(), name), *role));
        names.filter(|(likeness, _)| *likeness > 0.8).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, role)| role)
    }
}

#[cfg(test)]
#[path = "role_tests.rs"]
mod tests;
