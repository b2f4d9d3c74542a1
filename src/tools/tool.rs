//! The tool interface: a specification for the model, and a handler with a typed input.
//!
//! [`Tool`] is the object-safe form in the registry; anything may implement it. [`Handler`] is the convenient one:
//! name, description, input type, function. [`TypedTool`] turns a handler into a tool.

use std::future::Future;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::base::Json;
use crate::model::ToolSpec;
use crate::tools::context::ToolContext;
use crate::tools::input::{self, InputError};
use crate::tools::names;
use crate::tools::reply::Reply;

/// The side effects of a call. Decides what needs permission and what must not run twice after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolEffect {
    /// Read-only.
    Reads,
    /// Changes files in the worktree, visible in a diff.
    Writes,
    /// Anything: a program, a server, another task.
    Opaque,
}

/// One call of a tool.
#[derive(Clone)]
pub struct Call {
    /// The model's id of the call.
    pub id: String,
    pub context: ToolContext,
}

/// A call with a parsed input, ready to run.
pub type Prepared = Box<dyn FnOnce(Call) -> BoxFuture<'static, Reply> + Send>;

/// A tool that an agent can call.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    fn effect(&self) -> ToolEffect;

    /// Parses the input, without side effects.
    fn prepare(&self, input: &Json) -> Result<Prepared, InputError>;

    /// Returns a valid input, for the documentation.
    fn example(&self) -> Option<&str> {
        None
    }
}

/// A built-in tool.
pub trait Handler: Send + Sync + 'static {
    /// One of the constants in [`names`].
    const NAME: &'static str;
    /// For the model: how to use it, its limits, how to continue.
    const DESCRIPTION: &'static str;
    const EFFECT: ToolEffect;
    /// A valid input, shown after an invalid one.
    const EXAMPLE: &'static str;

    type Input: DeserializeOwned + JsonSchema + Send + 'static;

    fn run(self: Arc<Self>, input: Self::Input, call: Call) -> impl Future<Output = Reply> + Send;
}

/// A [`Handler`] as a [`Tool`].
pub struct TypedTool<H> {
    handler: Arc<H>,
    spec: ToolSpec,
    schema: Value,
}

impl<H: Handler> TypedTool<H> {
    pub fn new(handler: H) -> Self {
        let schema = schema_of::<H::Input>();
        let spec = ToolSpec {
            name: names::wire(H::NAME),
            description: H::DESCRIPTION.to_owned(),
            schema: Json::of(&schema).unwrap_or_default(),
        };
        Self { handler: Arc::new(handler), spec, schema }
    }
}

impl<H: Handler> Tool for TypedTool<H> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> ToolEffect {
        H::EFFECT
    }

    fn prepare(&self, input: &Json) -> Result<Prepared, InputError> {
        let input: H::Input = input::read(input, &self.schema, H::EXAMPLE)?;
        let handler = Arc::clone(&self.handler);
        Ok(Box::new(move |call| handler.run(input, call).boxed()))
    }

    fn example(&self) -> Option<&str> {
        Some(H::EXAMPLE)
    }
}

/// Returns the JSON Schema of an input type, without parts that only cost tokens.
fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    trim(&mut schema);
    schema
}

fn trim(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            // The type's own name and number formats mean nothing to a model. A property may be called "title".
            if fields.get("title").is_some_and(Value::is_string) {
                fields.shift_remove("title");
            }
            if fields.get("format").is_some_and(Value::is_string) {
                fields.shift_remove("format");
            }
            fields.values_mut().for_each(trim);
        }
        Value::Array(items) => items.iter_mut().for_each(trim),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
