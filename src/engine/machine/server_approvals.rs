//! Approval of MCP servers that a repository configures, and of changed tool lists.
//!
//! The user is asked about each once, in the root's session. The id of the Ask is derived from the hash of the entry or
//! list, so a restart does not ask twice and a change asks again.

use crate::base::{AskId, Fault, TaskId, Timestamp};
use crate::engine::command::CommandId;
use crate::engine::machine::asks::not_a_choice;
use crate::engine::machine::{AppendContinuation, Effect, Machine, UnapprovedServer};
use crate::model::ask::{Approval, AskMode, ChoiceId, ServerApproval, Subject};
use crate::model::event::{AskAnswered, AskWithdrawn, Body};
use crate::model::{Answer, Ask, AskKind};
use crate::tools::mcp::ToolChange;

const START: [(ChoiceId, &str); 2] = [(ChoiceId::Approve, "Start it"), (ChoiceId::Decline, "Do not start it")];
const TOOLS: [(ChoiceId, &str); 2] =
    [(ChoiceId::Approve, "Use the new list"), (ChoiceId::Decline, "Keep the accepted list")];

/// A decision of the user that is being saved to the settings.
#[derive(Debug)]
pub struct ApprovalDecision {
    pub task: TaskId,
    pub approval: Approval,
    pub approved: bool,
    /// The Ask that it answers. `None` for a recurring task of an earlier version, which is approved without an Ask.
    pub(super) answered: Option<AnsweredAsk>,
}

#[derive(Debug)]
pub(super) struct AnsweredAsk {
    pub(super) ask: AskId,
    pub(super) answer: Answer,
    pub(super) command: CommandId,
}

/// Returns the id of the Ask about an entry or a list with this hash. Its timestamp part is arbitrary.
fn ask_id(hash: &str) -> Option<AskId> {
    let bits = u128::from_str_radix(hash.get(..32)?, 16).ok()?;
    Some(AskId::from_ulid((bits >> 8).into()))
}

impl UnapprovedServer {
    fn question(&self) -> (String, String) {
        let question = format!("The repository configures the MCP server \"{}\". Start it?", self.name);
        let detail = format!(
            "{}\n\nIt runs as your user, outside of any sandbox. If its entry changes, you are asked again.",
            self.entry.join("\n")
        );
        (question, detail)
    }
}

fn question_about_tools(change: &ToolChange) -> (String, String) {
    let question = format!("The MCP server \"{}\" changed its tools. Use the new list?", change.server);
    let detail = format!(
        "{}\n\nAgents read these descriptions as instructions. Until you decide, tools keep the description that you \
         accepted, and new tools are not offered.",
        change.lines.join("\n")
    );
    (question, detail)
}

impl Machine {
    /// Raises an Ask for every undecided server or list, and withdraws Asks that are outdated.
    pub(super) fn ask_about_servers(&mut self) {
        let root = self.tree.root_id();
        // An Ask would replace an answer that is not acted on yet. Then the next start asks.
        let undone = self.runtimes.get(&root).is_some_and(|runtime| !runtime.state.decisions.is_empty());
        if self.limits.hold || undone {
            return;
        }
        let of_servers = self.env.servers.iter();
        let of_servers = of_servers.map(|server| (&server.hash, server.question(), ServerApproval::Start, START));
        let of_tools = self.env.changed_tools.iter();
        let of_tools =
            of_tools.map(|change| (&change.hash, question_about_tools(change), ServerApproval::Tools, TOOLS));
        let wanted: Vec<_> = of_servers
            .chain(of_tools)
            .filter_map(|(hash, (question, detail), of, choices)| {
                let ask = self.new_ask(Subject::McpApproval { of }, question, detail, &choices);
                Some(Ask { id: ask_id(hash)?, mode: AskMode::Continues, ..ask })
            })
            .collect();
        let open: Vec<AskId> = self
            .runtimes
            .get(&root)
            .into_iter()
            .flat_map(|runtime| runtime.state.asks.iter())
            .filter(|ask| ask.kind() == AskKind::McpApproval)
            .map(|ask| ask.id)
            .collect();
        self.server_asks.extend(&open);
        let mut bodies: Vec<Body> = Vec::new();
        // An answer that is being written withdraws its own Ask.
        let is_gone = |id: &AskId| wanted.iter().all(|ask| ask.id != *id) && !self.answering.contains(id);
        for id in open.into_iter().filter(is_gone) {
            let reason = "its subject changed or is already decided".to_owned();
            bodies.push(AskWithdrawn { id, reason }.into());
            self.server_asks.remove(&id);
        }
        for ask in wanted {
            if self.server_asks.insert(ask.id) {
                bodies.push(ask.into());
            }
        }
        if !bodies.is_empty() {
            self.append(root, bodies, AppendContinuation::Nothing);
        }
    }

    /// Saves the answer to the settings first, so that the session never records an answer that is not in effect.
    pub(super) fn answer_server_approval(
        &mut self,
        command: CommandId,
        task: TaskId,
        ask: &Ask,
        answer: Answer,
    ) -> Result<(), Fault> {
        let servers = self.env.servers.iter().map(|server| &server.hash);
        let lists = self.env.changed_tools.iter().map(|change| &change.hash);
        let Some(hash) = servers.chain(lists).find(|hash| ask_id(hash) == Some(ask.id)).cloned() else {
            return Err(Fault::user("nothing was changed: the server entry or its tools changed since you were asked")
                .hint("answer the new question; `mxd mcp list` shows the servers"));
        };
        let approved = match ask.choice_of(&answer) {
            Some(choice) => *choice == ChoiceId::Approve,
            None => return Err(not_a_choice(ask)),
        };
        self.answering.insert(ask.id);
        let approval = Approval::McpServer { hash };
        let answered = Some(AnsweredAsk { ask: ask.id, answer, command });
        let decision = ApprovalDecision { task, approval, approved, answered };
        self.out.push(Effect::SaveDecision(Box::new(decision)));
        Ok(())
    }

    pub(super) fn on_decision_saved(&mut self, now: Timestamp, decision: ApprovalDecision, result: Result<(), Fault>) {
        let ApprovalDecision { task, approval, approved, answered } = decision;
        let Some(AnsweredAsk { ask, answer, command }) = answered else { return };
        if let Err(fault) = result {
            self.answering.remove(&ask);
            return self.out.push(Effect::Reply { id: command, result: Err(fault) });
        }
        self.env.servers.retain(|server| ask_id(&server.hash) != Some(ask));
        self.env.changed_tools.retain(|change| ask_id(&change.hash) != Some(ask));
        self.server_asks.remove(&ask);
        let reason = "the answer is saved in the settings".to_owned();
        let bodies = vec![AskAnswered { id: ask, answer }.into(), AskWithdrawn { id: ask, reason }.into()];
        self.append(task, bodies, AppendContinuation::Answer { task, ask, command: Some(command) });
        self.on_approval_decided(now, approval, approved);
    }
}
