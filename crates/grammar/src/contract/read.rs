//! Reads a contract out of a JSON value and says where it is wrong.

use super::{Agent, Auth, AuthMode, ExecutionContract, Model, ModelSetting, PermissionMode, Tools, WorkingDirectory};
use crate::error::{ChatError, Result};
use serde_json::{Map, Value};

pub(super) fn contract(value: &Value) -> Result<ExecutionContract> {
    let root = Fields::new(value, "", &["agent", "model", "auth", "tools", "cwd", "permissionMode", "computerId"])?;
    Ok(ExecutionContract {
        agent: agent(&root)?,
        model: model(&root)?,
        auth: auth(&root)?,
        tools: tools(&root)?,
        cwd: cwd(&root)?,
        permission_mode: match root.text("permissionMode")?.as_str() {
            "ask" => PermissionMode::Ask,
            "full_access" => PermissionMode::FullAccess,
            other => return Err(root.wrong("permissionMode", format!("{other:?} is none of \"ask\", \"full_access\""))),
        },
        computer_id: root.text("computerId")?,
    })
}

fn agent(root: &Fields<'_>) -> Result<Agent> {
    let fields = root.object("agent", &["adapterId", "installationId", "revisionId"])?;
    Ok(Agent {
        adapter_id: fields.text("adapterId")?,
        installation_id: fields.text("installationId")?,
        revision_id: fields.text("revisionId")?,
    })
}

fn model(root: &Fields<'_>) -> Result<Model> {
    let fields = root.object("model", &["providerId", "modelId", "settings"])?;
    let mut settings: Vec<ModelSetting> = Vec::new();
    for (index, value) in fields.array("settings")?.iter().enumerate() {
        let path = format!("{}[{index}]", fields.path("settings"));
        let setting = setting(&Fields::new(value, &path, &["configId", "type", "value", "_meta"])?)?;
        if settings.iter().any(|earlier| earlier.config_id == setting.config_id) {
            return Err(ChatError::contract(format!("{path}.configId"), format!("{:?} is set twice", setting.config_id)));
        }
        settings.push(setting);
    }
    Ok(Model { provider_id: fields.text("providerId")?, model_id: fields.text("modelId")?, settings })
}

fn setting(fields: &Fields<'_>) -> Result<ModelSetting> {
    let kind = match fields.members.get("type") {
        None => None,
        Some(Value::String(kind)) if kind == "boolean" => Some(kind.clone()),
        Some(_) => return Err(fields.wrong("type", "must be left out or be \"boolean\"")),
    };
    let value = match (fields.required("value")?, &kind) {
        (value @ Value::Bool(_), Some(_)) => value.clone(),
        (_, Some(_)) => return Err(fields.wrong("value", "must be true or false, since type is \"boolean\"")),
        (value @ Value::String(_), None) => value.clone(),
        (_, None) => return Err(fields.wrong("value", "must be a string (a boolean needs type \"boolean\")")),
    };
    let meta = match fields.members.get("_meta") {
        None | Some(Value::Null) => None,
        Some(meta @ Value::Object(_)) => Some(meta.clone()),
        Some(_) => return Err(fields.wrong("_meta", "must be an object")),
    };
    Ok(ModelSetting { config_id: fields.text("configId")?, kind, value, meta })
}

fn auth(root: &Fields<'_>) -> Result<Auth> {
    let fields = root.object("auth", &["mode", "bindingId"])?;
    let mode = match fields.text("mode")?.as_str() {
        "platform" => AuthMode::Platform,
        "subscription" => AuthMode::Subscription,
        "byok" => AuthMode::Byok,
        other => {
            return Err(fields.wrong("mode", format!("{other:?} is none of \"platform\", \"subscription\", \"byok\"")));
        }
    };
    Ok(Auth { mode, binding_id: fields.text("bindingId")? })
}

fn tools(root: &Fields<'_>) -> Result<Tools> {
    let fields = root.object("tools", &["revisionId", "toolIds"])?;
    let mut tool_ids = Vec::new();
    for (index, value) in fields.array("toolIds")?.iter().enumerate() {
        match value {
            Value::String(id) if !id.is_empty() => tool_ids.push(id.clone()),
            _ => {
                let path = format!("{}[{index}]", fields.path("toolIds"));
                return Err(ChatError::contract(path, "must be a non-empty string"));
            }
        }
    }
    Ok(Tools { revision_id: fields.nullable_text("revisionId")?, tool_ids })
}

fn cwd(root: &Fields<'_>) -> Result<WorkingDirectory> {
    let fields = root.object("cwd", &["path", "workspaceId", "materializationRevision"])?;
    let path = fields.text("path")?;
    if !is_absolute(&path) {
        return Err(fields.wrong("path", format!("{path:?} is not absolute")));
    }
    Ok(WorkingDirectory {
        path,
        workspace_id: fields.nullable_text("workspaceId")?,
        materialization_revision: fields.nullable_text("materializationRevision")?,
    })
}

// By form and not by this machine's rules: a contract has one meaning on every host.
fn is_absolute(path: &str) -> bool {
    let mut characters = path.chars();
    match (characters.next(), characters.next(), characters.next()) {
        (Some('/'), _, _) | (Some('\\'), Some('\\'), _) => true,
        (Some(drive), Some(':'), Some('/' | '\\')) => drive.is_ascii_alphabetic(),
        _ => false,
    }
}

/// An object of the contract with its JSON path.
struct Fields<'a> {
    members: &'a Map<String, Value>,
    path: String,
}

impl<'a> Fields<'a> {
    fn new(value: &'a Value, path: &str, known: &[&str]) -> Result<Self> {
        let Value::Object(members) = value else {
            let path = if path.is_empty() { "execution" } else { path };
            return Err(ChatError::contract(path, "must be an object"));
        };
        let fields = Self { members, path: path.to_owned() };
        match members.keys().find(|key| !known.contains(&key.as_str())) {
            Some(unknown) => {
                Err(fields.wrong(unknown, format!("is no field of the contract; known here: {}", known.join(", "))))
            }
            None => Ok(fields),
        }
    }

    fn path(&self, field: &str) -> String {
        if self.path.is_empty() { field.to_owned() } else { format!("{}.{field}", self.path) }
    }

    fn wrong(&self, field: &str, problem: impl std::fmt::Display) -> ChatError {
        ChatError::contract(self.path(field), problem)
    }

    fn required(&self, field: &str) -> Result<&'a Value> {
        self.members.get(field).ok_or_else(|| self.wrong(field, "is missing"))
    }

    fn object(&self, field: &str, known: &[&str]) -> Result<Fields<'a>> {
        Fields::new(self.required(field)?, &self.path(field), known)
    }

    fn array(&self, field: &str) -> Result<&'a [Value]> {
        match self.required(field)? {
            Value::Array(items) => Ok(items),
            _ => Err(self.wrong(field, "must be an array")),
        }
    }

    fn text(&self, field: &str) -> Result<String> {
        match self.required(field)? {
            Value::String(text) if text.is_empty() => Err(self.wrong(field, "must not be empty")),
            Value::String(text) => Ok(text.clone()),
            _ => Err(self.wrong(field, "must be a string")),
        }
    }

    fn nullable_text(&self, field: &str) -> Result<Option<String>> {
        match self.required(field)? {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text.clone())),
            _ => Err(self.wrong(field, "must be a string or null")),
        }
    }
}
