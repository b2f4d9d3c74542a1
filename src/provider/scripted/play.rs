//! Plays an answer with delays, until it ends or is cancelled.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::model::event::StopReason;
use crate::model::usage::Tokens;
use crate::provider::decode::{cut_call, text_blocks};
use crate::provider::error::ApiError;
use crate::provider::response::{Response, ResponseBlock, Signal};
use crate::provider::scripted::scenario::{ScaledPacing, ScriptedError};
use crate::provider::scripted::select::Answer;

/// Interval between signals.
const TICK: Duration = Duration::from_millis(30);

pub(super) struct Player {
    pub(super) signals: mpsc::Sender<Signal>,
    pub(super) cancel: CancellationToken,
    pub(super) pacing: ScaledPacing,
}

/// Why an answer was cut short.
enum Cut {
    Cancelled,
    Failed,
}

impl Player {
    pub(super) async fn play(
        &self,
        answer: &Answer,
        error: Option<ScriptedError>,
        tokens: Tokens,
    ) -> Result<Response, ApiError> {
        let mut sent_texts = Vec::new();
        let limit = error.map(|error| error.after_chars.unwrap_or(0));
        let cut = self.send_answer(answer, limit, &mut sent_texts).await.err();
        let partial = |texts| Response {
            blocks: text_blocks(texts),
            tokens: Tokens::default(),
            usage_reported: false,
            stop: StopReason::Interrupted,
            cut_call: None,
            model: answer.model.clone(),
        };
        match (cut, error) {
            (Some(Cut::Cancelled), _) => Err(ApiError::cancelled().with_partial(partial(sent_texts))),
            (_, Some(error)) => {
                let failure = ApiError {
                    status: error.status,
                    retry_after: error.retry_after_ms.map(Duration::from_millis),
                    ..ApiError::new(error.class, "scripted error")
                };
                Err(failure.with_partial(partial(sent_texts)))
            }
            (_, None) => {
                let mut blocks = answer.blocks.clone();
                Ok(Response {
                    cut_call: cut_call(&answer.stop, &mut blocks),
                    blocks,
                    tokens,
                    usage_reported: true,
                    stop: answer.stop.clone(),
                    model: answer.model.clone(),
                })
            }
        }
    }

    /// Sends the signals of an answer. With a `limit`, stops after that many characters of text.
    async fn send_answer(
        &self,
        answer: &Answer,
        limit: Option<usize>,
        sent_texts: &mut Vec<String>,
    ) -> Result<(), Cut> {
        self.pause(self.pacing.first_token).await?;
        let mut left = limit.unwrap_or(usize::MAX);
        let mut calls = 0;
        for block in &answer.blocks {
            if left == 0 {
                return Err(Cut::Failed);
            }
            match block {
                ResponseBlock::Thinking(thought) => {
                    for piece in self.pieces(&thought.text) {
                        self.emit(Signal::Thinking(piece.to_owned())).await?;
                        self.pace(piece).await?;
                    }
                }
                ResponseBlock::Text(text) => {
                    sent_texts.push(String::new());
                    let end = text.char_indices().nth(left).map_or(text.len(), |(end, _)| end);
                    for piece in self.pieces(&text[..end]) {
                        self.emit(Signal::Text(piece.to_owned())).await?;
                        if let Some(sent_texts) = sent_texts.last_mut() {
                            sent_texts.push_str(piece);
                        }
                        self.pace(piece).await?;
                    }
                    left = left.saturating_sub(text.chars().count());
                }
                ResponseBlock::ToolUse(call) => {
                    let mut bytes = 0;
                    for piece in self.pieces(call.input.as_str()) {
                        bytes += piece.len() as u64;
                        let (call, name) = (call.call.clone(), call.name.clone());
                        self.emit(Signal::Call { index: calls, call, name, bytes }).await?;
                        self.pace(piece).await?;
                    }
                    calls += 1;
                }
            }
        }
        if limit.is_some() { Err(Cut::Failed) } else { Ok(()) }
    }

    /// Splits `text` into the pieces of one tick each, or returns all of it without pacing.
    fn pieces<'a>(&self, text: &'a str) -> impl Iterator<Item = &'a str> + use<'a> {
        let size = match self.pacing.per_char {
            None => usize::MAX,
            Some(per_char) => usize::try_from(TICK.as_nanos() / per_char.as_nanos().max(1)).unwrap_or(1).max(1),
        };
        let mut rest = text;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let end = rest.char_indices().nth(size).map_or(rest.len(), |(end, _)| end);
            let (piece, after) = rest.split_at(end);
            rest = after;
            Some(piece)
        })
    }

    async fn pace(&self, piece: &str) -> Result<(), Cut> {
        let chars = u32::try_from(piece.chars().count()).unwrap_or(u32::MAX);
        self.pause(self.pacing.per_char.unwrap_or_default().saturating_mul(chars)).await
    }

    async fn pause(&self, time: Duration) -> Result<(), Cut> {
        if self.cancel.is_cancelled() {
            return Err(Cut::Cancelled);
        }
        if time.is_zero() {
            return Ok(());
        }
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Cut::Cancelled),
            () = tokio::time::sleep(time) => Ok(()),
        }
    }

    async fn emit(&self, signal: Signal) -> Result<(), Cut> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Cut::Cancelled),
            // The receiver may be gone.
            _ = self.signals.send(signal) => Ok(()),
        }
    }
}
