//! Tool servers that a repository brings along, and servers whose tools changed: the user is asked about each, once. The
//! question is the root's; its id follows from the entry or the list, so a restart asks nothing twice and a change asks
//! anew.

use crate::base::{AskId, Fault, TaskId, Timestamp};
use crate::engine::command::CommandId;
use crate::engine::machine::asking::one_of_its_choices;
use crate::engine::machine::{Effect, Machine, Pending, Unapproved};
use crate::model::ask::{Approval, AskMode, ChoiceId, ServerApproval, Subject};
use crate::model::event::{AskAnswered, AskWithdrawn, Body};
use crate::model::{Answer, Ask, AskKind};
use crate::tools::mcp::ToolChange;

const START: [(ChoiceId, &str); 2] = [(ChoiceId::Approve, "Let it start"), (ChoiceId::Decline, "Leave it out")];
const TOOLS: [(ChoiceId, &str); 2] =
    [(ChoiceId::Approve, "Use the new list"), (ChoiceId::Decline, "Keep the accepted list")];

/// A decision of the user that is being saved in the settings.
#[derive(Debug)]
pub struct Decision {
    pub task: TaskId,
    pub approval: Approval,
    pub approved: bool,
    /// The Ask that it answers. `None` for a recurring task of an earlier version, which is approved without an Ask.
    pub(super) answered: Option<Answered>,
}

#[derive(Debug)]
pub(super) struct Answered {
    pub(super) ask: AskId,
    pub(super) answer: Answer,
    pub(super) command: CommandId,
}

/// Returns the id of the question about an entry or a list with this hash. It has no time of its own: it is older than
/// everything.
fn ask_id(hash: &str) -> Option<AskId> {
    let bits = u128::from_str_radix(hash.get(..32)?, 16).ok()?;
    Some(AskId::from_ulid((bits >> 8).into()))
}

impl Unapproved {
    fn question(&self) -> (String, String) {
        let question = format!("The repository asks for the tool server \"{}\". Let it start?", self.name);
        let detail = format!(
            "{}\n\nIt runs as you do, outside of any sandbox. A change of its entry asks again.",
            self.entry.join("\n")
        );
        (question, detail)
    }
}

fn question_about_tools(change: &ToolChange) -> (String, String) {
    let question = format!("The tool server \"{}\" changed its tools. Use the new list?", change.server);
    let detail = format!(
        "{}\n\nAgents read these descriptions as instructions. Until you decide, tools keep the description that you \
         accepted, and new tools are left out.",
        change.lines.join("\n")
    );
    (question, detail)
}

impl Machine {
    /// Asks about every server that nobody has decided about, and takes back questions that no longer stand.
    pub(super) fn ask_about_servers(&mut self) {
        let root = self.tree.root_id();
        // A question takes the place of an answer that nobody has acted on; then it is asked at the next start.
        let undone = self.lives.get(&root).is_some_and(|life| !life.state.decisions.is_empty());
        if self.limits.hold || undone {
            return;
        }
        let of_servers = self.ground.servers.iter();
        let of_servers = of_servers.map(|server| (&server.hash, server.question(), ServerApproval::Start, START));
        let of_tools = self.ground.changed_tools.iter();
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
            .lives
            .get(&root)
            .into_iter()
            .flat_map(|life| life.state.asks.iter())
            .filter(|ask| ask.kind() == AskKind::McpApproval)
            .map(|ask| ask.id)
            .collect();
        self.server_asks.extend(&open);
        let mut bodies: Vec<Body> = Vec::new();
        // An answer that is being written down takes its question back by itself.
        let is_gone = |id: &AskId| wanted.iter().all(|ask| ask.id != *id) && !self.answering.contains(id);
        for id in open.into_iter().filter(is_gone) {
            let reason = "what it asks about has changed, or is decided".to_owned();
            bodies.push(AskWithdrawn { id, reason }.into());
            self.server_asks.remove(&id);
        }
        for ask in wanted {
            if self.server_asks.insert(ask.id) {
                bodies.push(ask.into());
            }
        }
        if !bodies.is_empty() {
            self.append(root, bodies, Pending::Nothing);
        }
    }

    /// Writes the answer about a server into the settings first: what the session says is then already so.
    pub(super) fn decide(&mut self, command: CommandId, task: TaskId, ask: &Ask, answer: Answer) -> Result<(), Fault> {
        let servers = self.ground.servers.iter().map(|server| &server.hash);
        let lists = self.ground.changed_tools.iter().map(|change| &change.hash);
        let Some(hash) = servers.chain(lists).find(|hash| ask_id(hash) == Some(ask.id)).cloned() else {
            return Err(Fault::user(
                "the repository or the server asks for something else by now: nothing was changed",
            )
            .hint("`mxd mcp list` shows what it asks for"));
        };
        let approved = match ask.chosen(&answer) {
            Some(choice) => *choice == ChoiceId::Approve,
            None => return Err(one_of_its_choices(ask)),
        };
        self.answering.insert(ask.id);
        let approval = Approval::McpServer { hash };
        let answered = Some(Answered { ask: ask.id, answer, command });
        let decision = Decision { task, approval, approved, answered };
        self.out.push(Effect::Decide(Box::new(decision)));
        Ok(())
    }

    pub(super) fn decided(&mut self, now: Timestamp, decision: Decision, result: Result<(), Fault>) {
        let Decision { task, approval, approved, answered } = decision;
        let Some(Answered { ask, answer, command }) = answered else { return };
        if let Err(fault) = result {
            self.answering.remove(&ask);
            return self.out.push(Effect::Reply { id: command, result: Err(fault) });
        }
        self.ground.servers.retain(|server| ask_id(&server.hash) != Some(ask));
        self.ground.changed_tools.retain(|change| ask_id(&change.hash) != Some(ask));
        self.server_asks.remove(&ask);
        let reason = "the settings have the answer".to_owned();
        let bodies = vec![AskAnswered { id: ask, answer }.into(), AskWithdrawn { id: ask, reason }.into()];
        self.append(task, bodies, Pending::Answer { task, ask, command: Some(command) });
        self.approval_decided(now, approval, approved);
    }
}
