//! Maps the scopes of grammars to roles. The longest listed prefix of a scope decides.

use std::sync::OnceLock;

use syntect::parsing::Scope;

use crate::theme::Role;

const TABLE: &[(&str, Role)] = &[
    ("comment", Role::SyntaxComment),
    ("punctuation.definition.comment", Role::SyntaxComment),
    ("punctuation.definition.string", Role::SyntaxString),
    ("punctuation.section.interpolation", Role::SyntaxEscape),
    ("punctuation.definition.annotation", Role::SyntaxAttribute),
    ("punctuation.definition.tag", Role::SyntaxPunctuation),
    ("punctuation.definition.heading", Role::Heading),
    ("punctuation.definition.bold", Role::Strong),
    ("punctuation.definition.italic", Role::Emphasis),
    ("punctuation", Role::SyntaxPunctuation),
    ("string.regexp", Role::SyntaxEscape),
    ("string", Role::SyntaxString),
    ("constant.character.escape", Role::SyntaxEscape),
    ("constant.other.placeholder", Role::SyntaxEscape),
    ("constant.numeric", Role::SyntaxNumber),
    ("constant.language", Role::SyntaxConstant),
    ("constant", Role::SyntaxConstant),
    ("keyword.operator.word", Role::SyntaxKeyword),
    ("keyword.operator", Role::SyntaxOperator),
    ("keyword", Role::SyntaxKeyword),
    ("storage.type.function", Role::SyntaxKeyword),
    ("storage", Role::SyntaxKeyword),
    ("entity.name.function.macro", Role::SyntaxMacro),
    ("entity.name.function", Role::SyntaxFunction),
    ("entity.name.macro", Role::SyntaxMacro),
    ("entity.name.tag", Role::SyntaxTag),
    ("entity.name.namespace", Role::SyntaxModule),
    ("entity.name.module", Role::SyntaxModule),
    ("entity.name.constant", Role::SyntaxConstant),
    ("entity.name.section", Role::Heading),
    ("entity.name.label", Role::SyntaxAttribute),
    ("entity.name", Role::SyntaxType),
    ("entity.other.attribute-name", Role::SyntaxProperty),
    ("entity.other.inherited-class", Role::SyntaxType),
    ("support.function", Role::SyntaxFunction),
    ("support.macro", Role::SyntaxMacro),
    ("support.constant", Role::SyntaxConstant),
    ("support.type.property-name", Role::SyntaxProperty),
    ("support.type", Role::SyntaxType),
    ("support.class", Role::SyntaxType),
    ("support.module", Role::SyntaxModule),
    ("variable.function", Role::SyntaxFunction),
    ("variable.annotation", Role::SyntaxAttribute),
    ("variable.language", Role::SyntaxKeyword),
    ("variable.other.member", Role::SyntaxProperty),
    ("variable.other.property", Role::SyntaxProperty),
    ("variable.other.constant", Role::SyntaxConstant),
    ("variable", Role::SyntaxVariable),
    ("meta.annotation", Role::SyntaxAttribute),
    ("meta.attribute", Role::SyntaxAttribute),
    ("meta.mapping.key", Role::SyntaxProperty),
    ("markup.inserted", Role::DiffPlus),
    ("markup.deleted", Role::DiffMinus),
    ("markup.changed", Role::Warn),
    ("markup.heading", Role::Heading),
    ("markup.bold", Role::Strong),
    ("markup.italic", Role::Emphasis),
    ("markup.raw", Role::Code),
    ("markup.quote", Role::Quote),
    ("markup.underline.link", Role::Link),
    ("meta.diff.header", Role::DiffFile),
    ("meta.diff.range", Role::DiffHunk),
    ("meta.toc-list.line-number", Role::DiffHunk),
    ("invalid", Role::SyntaxInvalid),
];

/// Returns the role of a scope, or `None` if the enclosing scopes decide.
pub fn role(scope: Scope) -> Option<Role> {
    static SCOPES: OnceLock<Vec<(Scope, Role)>> = OnceLock::new();
    let scopes =
        SCOPES.get_or_init(|| TABLE.iter().filter_map(|(name, role)| Some((Scope::new(name).ok()?, *role))).collect());
    let fitting = scopes.iter().filter(|(prefix, _)| prefix.is_prefix_of(scope));
    fitting.max_by_key(|(prefix, _)| prefix.len()).map(|(_, role)| *role)
}
