//! The user: wishes at any moment, sensible or not; and, at the end, somebody who looks after everything.

use mxd::base::{MessageId, MicroUsd, TaskId};
use mxd::engine::command::{Actor, Command, CommandId, Outgoing, StopScope, TaskChanges, TaskDraft, TaskStart};
use mxd::engine::machine::Input;
use mxd::model::Ask;
use mxd::model::ask::AskReply;
use mxd::model::message::Delivery;
use mxd::model::message::MessageSource;
use mxd::model::task::Status;

use super::world::World;

impl World {
    pub fn next_command(&mut self) -> CommandId {
        self.numbers += 1;
        CommandId(self.numbers)
    }

    pub fn issue(&mut self, command: Command) {
        self.tally.count("commands");
        let id = self.next_command();
        self.commands.insert(id, command.clone());
        self.inbox.push_back(Input::Command { id, actor: Actor::User, command });
    }

    pub fn say(&mut self, task: TaskId) {
        let mode = [Delivery::Steer, Delivery::Next, Delivery::Interrupt][self.dice.draw(3)];
        let message = Outgoing { text: "do this".to_owned(), ..Outgoing::default() };
        self.issue(Command::Send { task, message, mode });
    }

    /// Wishes for something.
    pub fn wish(&mut self) {
        if let Some(command) = self.some_command() {
            self.issue(command);
        }
    }

    /// Returns a task that is in no tree any more.
    fn deleted(&mut self) -> Option<TaskId> {
        let tree = self.machine.tree();
        let gone: Vec<TaskId> = self.disk.logs.keys().copied().filter(|task| tree.get(*task).is_none()).collect();
        self.dice.pick(&gone)
    }

    fn some_command(&mut self) -> Option<Command> {
        let tasks: Vec<TaskId> = self.machine.tree().all().map(|node| node.id).collect();
        let task = if self.dice.draw(50) == 0 { TaskId::fresh(&self.ids) } else { self.dice.pick(&tasks)? };
        let other = self.dice.pick(&tasks)?;
        let before = self.dice.chance(40).then_some(other);
        Some(match self.dice.draw(46) {
            0..=7 => {
                self.say(task);
                return None;
            }
            8..=14 => {
                let (task, ask) = self.some_ask()?;
                let reply = match self.dice.draw(4) {
                    0 => AskReply::Text("go on".to_owned()),
                    _ => ask.reply_with_number(self.dice.draw(4) + 1),
                };
                // A hasty user answers twice.
                if self.dice.draw(8) == 0 {
                    self.issue(Command::Answer { task, ask: ask.id, reply: reply.clone(), by: None });
                }
                Command::Answer { task, ask: ask.id, reply, by: None }
            }
            15..=17 => Command::Withdraw { task, messages: self.unread(task) },
            18..=20 => {
                let draft = TaskDraft {
                    title: "A wish".to_owned(),
                    description: "of the user".to_owned(),
                    profile: None,
                    budget: self.dice.chance(30).then_some(MicroUsd(100)),
                    colour: None,
                    ..TaskDraft::default()
                };
                let start = [TaskStart::Now, TaskStart::Now, TaskStart::Later, TaskStart::Draft][self.dice.draw(4)];
                Command::Create { parent: task, before, draft, start }
            }
            21 | 22 => {
                let changes = TaskChanges {
                    description: self.dice.chance(70).then(|| "otherwise".to_owned()),
                    draft: (self.dice.draw(4) == 0).then_some(self.dice.chance(50)),
                    ..TaskChanges::default()
                };
                Command::Update { task, changes }
            }
            23 | 24 => Command::Close { task },
            25 => Command::Delete { task },
            26 | 27 => Command::Reset { task },
            28 => Command::Restore { task: self.deleted().unwrap_or(task) },
            29 | 30 => Command::Move { task, parent: other, before },
            31 => {
                let mut order = self.machine.tree().get(task)?.children.clone();
                order.reverse();
                Command::Reorder { parent: task, order }
            }
            32..=34 => Command::Resume { task },
            35 | 36 => Command::Interrupt { task },
            37..=40 => Command::Stop { scope: StopScope::Task(task) },
            41 => Command::Stop { scope: StopScope::Subtree(task) },
            42 => Command::Stop { scope: StopScope::All },
            43 if self.dice.chance(40) => Command::Quit,
            44 => {
                let (project, message) = (self.there, MessageId::fresh(&self.ids));
                let (name, body) = ("there".to_owned(), "greetings".to_owned());
                self.inbox.push_back(Input::FromProject { project, name, message, body });
                return None;
            }
            _ => Command::Kill { task, process: "p".to_owned() },
        })
    }

    /// Returns a question that stands, as far as the user can see.
    fn some_ask(&mut self) -> Option<(TaskId, Ask)> {
        let asks: Vec<(TaskId, Ask)> = self.open_asks();
        self.dice.pick(&asks)
    }

    pub fn open_asks(&self) -> Vec<(TaskId, Ask)> {
        let tasks = self.machine.tree().all().map(|node| node.id);
        tasks
            .filter_map(|task| Some((task, self.machine.state(task)?)))
            .flat_map(|(task, state)| state.asks.iter().map(move |ask| (task, ask.clone())))
            .collect()
    }

    fn unread(&self, task: TaskId) -> Vec<MessageId> {
        let Some(state) = self.machine.state(task) else { return Vec::new() };
        state.messages.iter().filter(|message| message.from == MessageSource::User).map(|message| message.id).collect()
    }

    /// Answers what is asked and wakes what sleeps, until nothing is left to be done.
    pub fn look_after_everything(&mut self) {
        for _ in 0..60 {
            let asks = self.open_asks();
            for (task, ask) in &asks {
                self.issue(Command::Answer { task: *task, ask: ask.id, reply: ask.reply_with_number(1), by: None });
            }
            self.quiesce();
            if !asks.is_empty() {
                continue;
            }
            // The deepest first: those above wait for them.
            let tree = self.machine.tree();
            let asleep = tree.all().filter(|node| node.status == Status::InProgress && node.parent.is_some());
            let Some(deepest) = asleep.map(|node| node.id).max_by_key(|task| tree.depth(*task)) else { return };
            self.issue(Command::Resume { task: deepest });
            self.quiesce();
        }
        panic!("seed {}: it never ends\n{}", self.seed, super::rules::describe(self));
    }
}
