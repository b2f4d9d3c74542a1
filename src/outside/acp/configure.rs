//! Sets mode, model and effort of a new session, as far as the program has them, and checks that they are in effect.

use serde_json::{Value, json};

use super::open::{CallError, Opening, Updates};
use crate::outside::programs::Quirks;
use crate::outside::session::{OpenError, OpenRequest, Opened};
use crate::outside::update::text;

/// The settings of a session, as the program reports them.
struct Settings {
    options: Vec<Value>,
    modes: Vec<String>,
    mode: Option<String>,
    models: Vec<String>,
    model: Option<String>,
}

impl Settings {
    fn read(reported: &Value) -> Self {
        let options = reported.get("configOptions").and_then(Value::as_array).cloned().unwrap_or_default();
        let ids = |path: &str, name: &str| {
            let entries = reported.pointer(path).and_then(Value::as_array).into_iter().flatten();
            entries.filter_map(|entry| text(entry, name).or_else(|| text(entry, "id"))).collect()
        };
        let current = |path: &str| reported.pointer(path).and_then(Value::as_str).map(str::to_owned);
        Self {
            modes: ids("/modes/availableModes", "id"),
            mode: current("/modes/currentModeId"),
            models: ids("/models/availableModels", "modelId"),
            model: current("/models/currentModelId"),
            options,
        }
    }

    /// Returns the option of a category.
    fn option(&self, category: &str) -> Option<&Value> {
        self.options.iter().find(|option| text(option, "category").as_deref() == Some(category))
    }

    fn current(&self, category: &str) -> Option<String> {
        text(self.option(category)?, "currentValue")
    }
}

pub(super) async fn configure(
    opening: &mut Opening,
    quirks: &Quirks,
    request: &OpenRequest,
    reported: &Value,
    opened: &mut Opened,
) -> Result<(), OpenError> {
    let mut settings = Settings::read(reported);
    let mode = request.mode.as_deref().or(quirks.mode);
    if let Some(wanted) = mode {
        if settings.option("mode").is_some() {
            set_option(opening, &mut settings, "mode", wanted).await?;
        } else if settings.modes.iter().any(|mode| mode == wanted) {
            let params = json!({"sessionId": opening.session.id, "modeId": wanted});
            if call(opening, "session/set_mode", &params).await?.is_some() {
                settings.mode = Some(wanted.to_owned());
            }
        }
    }
    if let Some(wanted) = request.model.as_deref() {
        if settings.option("model").is_some() {
            set_option(opening, &mut settings, "model", wanted).await?;
        } else if settings.models.iter().any(|model| model == wanted) {
            let params = json!({"sessionId": opening.session.id, "modelId": wanted});
            if call(opening, "session/set_model", &params).await?.is_some() {
                settings.model = Some(wanted.to_owned());
            }
        }
    }
    if let Some(wanted) = request.effort.as_deref() {
        set_option(opening, &mut settings, "thought_level", wanted).await?;
    }
    opened.mode = settings.current("mode").or(settings.mode.clone());
    opened.model = settings.current("model").or(settings.model.clone());
    let effort = settings.current("thought_level");
    // A program may accept a value and not use it.
    let wanted = [
        ("mode", request.mode.as_deref(), opened.mode.as_deref()),
        ("model", request.model.as_deref(), opened.model.as_deref()),
        ("effort", request.effort.as_deref(), effort.as_deref()),
    ];
    for (name, wanted, current) in wanted {
        let Some(wanted) = wanted.filter(|wanted| Some(*wanted) != current) else { continue };
        let current = current.map(|current| format!(" (it uses {current})")).unwrap_or_default();
        opened.ignored.push(format!("{name} {wanted}{current}"));
    }
    Ok(())
}

/// Sets an option of a category. What the program refuses stays as it was.
async fn set_option(
    opening: &mut Opening,
    settings: &mut Settings,
    category: &str,
    wanted: &str,
) -> Result<(), OpenError> {
    let Some(id) = settings.option(category).and_then(|option| text(option, "id")) else { return Ok(()) };
    if settings.current(category).as_deref() == Some(wanted) {
        return Ok(());
    }
    let params = json!({"sessionId": opening.session.id, "configId": id, "value": wanted});
    if let Some(answer) = call(opening, "session/set_config_option", &params).await?
        && let Some(options) = answer.get("configOptions").and_then(Value::as_array)
    {
        settings.options.clone_from(options);
    }
    Ok(())
}

/// Sends a request whose refusal does not matter. Returns `None` if it was refused.
async fn call(opening: &mut Opening, method: &str, params: &Value) -> Result<Option<Value>, OpenError> {
    match opening.call(method, params, Updates::Keep).await {
        Ok(answer) => Ok(Some(answer)),
        Err(CallError::Answer(_)) => Ok(None),
        Err(CallError::Open(error)) => Err(error),
    }
}
