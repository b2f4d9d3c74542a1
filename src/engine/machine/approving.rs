//! Tool servers that a repository brings along: the person is asked about each, once. The question is the root's; its id
//! follows from the entry, so a restart asks nothing twice and a changed entry asks anew.

use crate::base::{AskId, Fault, TaskId};
use crate::engine::machine::asking::one_of_its_choices;
use crate::engine::machine::{Effect, Machine, Pending, Ticket, Unapproved};
use crate::model::ask::AskMode;
use crate::model::event::{AskAnswered, AskWithdrawn, Body};
use crate::model::{Answer, Ask, AskKind};

const APPROVE: &str = "Let it start";
const DECLINE: &str = "Leave it out";

/// What the person decided, on its way into the settings.
#[derive(Debug)]
pub(super) struct Decision {
    task: TaskId,
    ask: AskId,
    answer: Answer,
    command: Ticket,
}

impl Unapproved {
    /// Returns the id of the question about this entry. It has no time of its own: it is older than everything.
    fn ask(&self) -> Option<AskId> {
        let bits = u128::from_str_radix(self.hash.get(..32)?, 16).ok()?;
        Some(AskId::from_ulid((bits >> 8).into()))
    }
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
        let servers = self.ground.servers.clone();
        let wanted: Vec<AskId> = servers.iter().filter_map(Unapproved::ask).collect();
        let open: Vec<AskId> = self
            .lives
            .get(&root)
            .into_iter()
            .flat_map(|life| life.state.asks.iter())
            .filter(|ask| ask.kind == AskKind::McpApproval)
            .map(|ask| ask.id)
            .collect();
        let mut bodies: Vec<Body> = Vec::new();
        for id in open.iter().filter(|id| !wanted.contains(id)) {
            let reason = "the repository no longer asks for it like this, or it is decided".to_owned();
            bodies.push(AskWithdrawn { id: *id, reason }.into());
        }
        for server in servers {
            let Some(id) = server.ask().filter(|id| !open.contains(id)) else { continue };
            let question = format!("The repository asks for the tool server \"{}\". Let it start?", server.name);
            let detail = format!(
                "{}\n\nIt runs as you do, outside of any sandbox. A change of its entry asks again.",
                server.entry.join("\n")
            );
            let ask = self.new_ask(AskKind::McpApproval, question, detail, &[APPROVE, DECLINE]);
            bodies.push(Ask { id, mode: AskMode::Continues, ..ask }.into());
        }
        if !bodies.is_empty() {
            self.append(root, bodies, Pending::Nothing);
        }
    }

    /// Writes the answer about a server into the settings first: what the session says is then already so.
    pub(super) fn decide(&mut self, command: Ticket, task: TaskId, ask: &Ask, answer: Answer) -> Result<(), Fault> {
        let server = self.ground.servers.iter().find(|server| server.ask() == Some(ask.id));
        let Some(hash) = server.map(|server| server.hash.clone()) else {
            return Err(Fault::user("the repository asks for another entry by now, so this answer is for nothing")
                .hint("`mxd mcp list` shows what it asks for"));
        };
        let approved = match answer.choice {
            Some(0) => true,
            Some(_) => false,
            None => return Err(one_of_its_choices(ask)),
        };
        self.answering.insert(ask.id);
        let ticket = self.number();
        self.pending.insert(ticket, Pending::Decision(Decision { task, ask: ask.id, answer, command }));
        self.out.push(Effect::Decide { ticket, hash, approved });
        Ok(())
    }

    pub(super) fn decided(&mut self, ticket: Ticket, result: Result<(), String>) {
        let Some(Pending::Decision(Decision { task, ask, answer, command })) = self.pending.remove(&ticket) else {
            return;
        };
        if let Err(reason) = result {
            self.answering.remove(&ask);
            return self.out.push(Effect::Reply { ticket: command, result: Err(Fault::environment(reason)) });
        }
        self.ground.servers.retain(|server| server.ask() != Some(ask));
        let reason = "the settings have the answer".to_owned();
        let bodies = vec![AskAnswered { id: ask, answer }.into(), AskWithdrawn { id: ask, reason }.into()];
        self.append(task, bodies, Pending::Answer { task, ask, ticket: Some(command) });
    }
}
