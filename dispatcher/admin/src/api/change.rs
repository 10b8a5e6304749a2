//! Changes of many messages: one request for any of them, and a path of its own for each, all by one table.

use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, post};
use axum::{Extension, Json, Router};
use futures_util::future::BoxFuture;
use outbox_desk::{Action, Author, Change, Desk, MessageGroup, Preview};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use utoipa::openapi::{OpenApi, PathItem};
use utoipa::{IntoParams, IntoResponses, Modify, ToSchema};

use super::change_body::ChangeBody;
use super::extract::{Body, Id};
use super::followed::{Wish, answer};
use super::problem::{Kind, checked};
use super::requests::{Authored, ByClient, MessageCountBody, UndoBody};
use super::{Answer, ApiState, PREFIX, Problem};
use crate::access::Role;

/// Reads a request to one of the paths.
type Read = fn(Request) -> BoxFuture<'static, Result<ChangeBody, Problem>>;

/// A path that asks for one kind of change.
struct Route {
    action: Action,
    path: &'static str,
    read: Read,
    /// What the description says of it.
    operation_id: &'static str,
    tag: &'static str,
    body: &'static str,
    says: &'static str,
    /// What is worth to know besides.
    more: &'static str,
    /// What goes on while a client follows it.
    followed: &'static str,
    done: &'static str,
}

/// A path that counts the messages of a selection.
struct Count {
    action: Action,
    path: &'static str,
    operation_id: &'static str,
    says: &'static str,
    more: &'static str,
}

const ROUTES: [Route; 8] = [
    Route {
        action: Action::Redrive,
        path: "/dead-letters/redrive",
        read: |request| read(request, ChangeBody::Redrive),
        operation_id: "redrive_dead_letters",
        tag: "dead letters",
        body: "RedriveBody",
        says: "Makes dead letters due again. Their attempts and their age start anew.",
        more: "",
        followed: "redrive",
        done: "What the redrive did. Its `audit_id` names it for an undo",
    },
    Route {
        action: Action::Replay,
        path: "/messages/replay",
        read: |request| read(request, ChangeBody::Replay),
        operation_id: "replay_messages",
        tag: "messages",
        body: "ReplayBody",
        says: "Sends delivered messages again, each by a row of its own that names the message it repeats (`replay_of`).",
        more: "The receiver gets the same idempotency key, or with `new_key` another one.",
        followed: "replay",
        done: "What the replay did. Its `audit_id` names it for an undo",
    },
    Route {
        action: Action::Cancel,
        path: "/messages/cancel",
        read: |request| read(request, ChangeBody::Cancel),
        operation_id: "cancel_messages",
        tag: "messages",
        body: "WaitingBody",
        says: "Cancels messages that wait: they become dead letters with the reason `cancelled`. What may be in flight is left as it is.",
        more: "",
        followed: "cancellation",
        done: "What the cancellation did",
    },
    Route {
        action: Action::Retry,
        path: "/messages/retry",
        read: |request| read(request, ChangeBody::Retry),
        operation_id: "retry_messages",
        tag: "messages",
        body: "WaitingBody",
        says: "Makes messages due now that wait for another attempt. Attempts and age go on.",
        more: "A filter means only messages that were tried. By its id a message is made due also where it was never \
               tried, and is scheduled for later. What is deferred, due already or in flight is left as it is. Lines \
               with `Accept: application/x-ndjson`, as of a cancellation.",
        followed: "",
        done: "What the retry did",
    },
    Route {
        action: Action::Edit,
        path: "/dead-letters/edit",
        read: |request| read(request, ChangeBody::Edit),
        operation_id: "edit_dead_letters",
        tag: "dead letters",
        body: "EditAllBody",
        says: "Makes the same change to dead letters: another target, other headers. Each gets a new idempotency key, or keeps its own \
               with `keep_key`.",
        more: "",
        followed: "edit",
        done: "What the edit did",
    },
    Route {
        action: Action::Undo,
        path: "/redrives/{id}/undo",
        read: |request| Box::pin(read_undo(request)),
        operation_id: "undo_redrive",
        tag: "dead letters",
        body: "Authored",
        says: "Undoes a redrive or a replay, for the messages that have not been claimed or attempted since.",
        more: "After a redrive they are dead letters again. The rows of a replay are removed. `id` is the `audit_id` of \
               either.",
        followed: "undo",
        done: "What the undo did",
    },
    Route {
        action: Action::Purge,
        path: "/dead-letters/purge",
        read: |request| read(request, ChangeBody::Purge),
        operation_id: "purge_dead_letters",
        tag: "dead letters",
        body: "PurgeBody",
        says: "Deletes dead letters and their attempts. Only the audit remembers them.",
        more: "",
        followed: "purge",
        done: "What the purge did",
    },
    Route {
        action: Action::Prune,
        path: "/prune",
        read: |request| read(request, ChangeBody::Prune),
        operation_id: "prune",
        tag: "retention",
        body: "PruneBody",
        says: "Removes the messages that are past their retention, and their attempts.",
        more: "A dead letter that halts its ordering key stays.",
        followed: "removal",
        done: "How many messages were removed",
    },
];

const COUNTS: [Count; 3] = [
    Count {
        action: Action::Replay,
        path: "/messages/replay/count",
        operation_id: "count_delivered_messages",
        says: "Counts the delivered messages of a selection by channel and destination.",
        more: "The answer shows what a replay of this selection would send. It changes nothing itself.",
    },
    Count {
        action: Action::Cancel,
        path: "/messages/cancel/count",
        operation_id: "count_waiting_messages",
        says: "Counts the messages of a selection that wait, by channel and destination.",
        more: "The answer shows what a cancellation of this selection would take back. It changes nothing itself.",
    },
    Count {
        action: Action::Retry,
        path: "/messages/retry/count",
        operation_id: "count_messages_to_retry",
        says: "Counts the messages that a retry of a selection means, by channel and destination.",
        more: "The answer shows what a retry of this selection would make due. It changes nothing itself.",
    },
];

fn read<T: DeserializeOwned + 'static>(
    request: Request,
    change: fn(T) -> ChangeBody,
) -> BoxFuture<'static, Result<ChangeBody, Problem>> {
    Box::pin(async move { Ok(change(Body::from_request(request, &()).await?.0)) })
}

async fn read_undo(request: Request) -> Result<ChangeBody, Problem> {
    let (mut parts, body) = request.into_parts();
    let Id(operation) = Id::from_request_parts(&mut parts, &()).await?;
    let Body(author) = Body::<Authored>::from_request(Request::from_parts(parts, body), &()).await?;
    Ok(ChangeBody::Undo(UndoBody { operation, author }))
}

/// The paths of the changes that need this role.
pub(super) fn paths(role: Role) -> Router<ApiState> {
    let its = ROUTES.iter().filter(|route| Role::of(route.action) == role);
    its.fold(Router::new(), |router, route| router.route(route.path, asked(route.read)))
}

/// Answers requests to one of the paths.
fn asked(read: Read) -> MethodRouter<ApiState> {
    post(async move |State(api_state): State<ApiState>, wish: Wish, request: Request| -> Result<Response, Problem> {
        let (change, author) = read(request).await?.into_change(&api_state).await?;
        answer(wish, api_state, change, author).await
    })
}

/// The paths that count what a change means.
pub(super) fn counts() -> Router<ApiState> {
    COUNTS.iter().fold(Router::new(), |router, count| router.route(count.path, counted(count.action)))
}

fn counted(action: Action) -> MethodRouter<ApiState> {
    post(
        async move |State(api_state): State<ApiState>,
                    Body(MessageCountBody { selection, after }): Body<MessageCountBody>|
                    -> Answer<Vec<MessageGroup>> {
            checked(&selection, action)?;
            Ok(Json(api_state.database.message_groups(action, &selection, after).await?))
        },
    )
}

/// Where a change is asked of a replica: the path below [`PREFIX`], and the body.
///
/// # Errors
/// The change cannot be written as JSON.
pub fn request_for(change: &Change, author: &Author) -> serde_json::Result<(String, Value)> {
    let path = ROUTES.iter().find(|route| route.action == change.action()).map_or("", |route| route.path);
    let path = path.trim_start_matches('/');
    if let Change::Undo { asked, .. } = change {
        let body = serde_json::to_value(Authored::from(author))?;
        return Ok((path.replace("{id}", &asked.to_string()), body));
    }
    let mut body = serde_json::to_value(ChangeBody::of(change, author))?;
    if let Some(fields) = body.as_object_mut() {
        // The path says it.
        fields.remove("action");
    }
    Ok((path.to_owned(), body))
}

/// Any change of many messages.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(super) struct AnyChange {
    /// Whether nothing is changed, and the answer is only which messages the change means.
    #[serde(default)]
    dry_run: bool,
    /// The change. It refuses the fields that nobody knows.
    #[serde(flatten)]
    change: ChangeBody,
}

pub(super) async fn change(
    State(api_state): State<ApiState>,
    Extension(role): Extension<Role>,
    wish: Wish,
    Body(AnyChange { dry_run, change }): Body<AnyChange>,
) -> Result<Response, Problem> {
    if role < Role::of(change.action()) {
        return Err(Problem::new(Kind::NotAllowed, role.refused()));
    }
    let (change, author) = change.into_change(&api_state).await?;
    if !dry_run {
        return answer(wish, api_state, change, author).await;
    }
    let why = "an undo has no dry run: it takes back what has not been sent when it comes to it";
    let preview = Preview::of(&api_state.database, &change).await?;
    Ok(Json(preview.ok_or_else(|| Problem::new(Kind::BadRequest, why))?).into_response())
}

/// Describes the paths of the tables.
pub(super) struct Described;

impl Modify for Described {
    fn modify(&self, openapi: &mut OpenApi) {
        let any = std::iter::once(("/changes", any_change()));
        let changes = ROUTES.iter().map(|route| (route.path, route.described()));
        let counts = COUNTS.iter().map(|count| (count.path, count.described()));
        for (path, described) in any.chain(changes).chain(counts) {
            let described: PathItem = serde_json::from_value(json!({ "post": described })).unwrap_or_default();
            openapi.paths.paths.insert(format!("{PREFIX}{path}"), described);
        }
    }
}

/// The path of any change.
fn any_change() -> Value {
    let outcomes = Action::ALL.map(|action| of(action.schema())).into_iter().chain([of("Preview")]);
    let done = "What the change did, in the fields of its action. With `dry_run`, which messages it means";
    let mut described = asks(&of("AnyChange"), (done, &json!({ "anyOf": outcomes.collect::<Vec<_>>() })));
    described["tags"] = json!(["changes"]);
    described["operationId"] = "change_messages".into();
    described["summary"] =
        "Makes any change of many messages, by its `action`: what the path of that action does.".into();
    described["description"] =
        "With `dry_run` nothing is changed, and the answer is that of the path which counts.".into();
    described["parameters"] = by_client().into();
    described["responses"]["202"] = begun();
    described
}

impl Route {
    fn described(&self) -> Value {
        let follow = match self.followed {
            "" => String::new(),
            followed => format!(
                "With `Accept: application/x-ndjson` the answer is lines while the {followed} goes on: `{{\"progress\": …}}`, and at \
                 last `{{\"done\": …}}` or `{{\"problem\": …}}`."
            ),
        };
        let id =
            json!({ "name": "id", "in": "path", "required": true, "schema": { "type": "integer", "format": "int64" } });
        let id = Some(id).filter(|_| self.path.contains("{id}"));
        let mut described = asks(&of(self.body), (self.done, &of(self.action.schema())));
        described["tags"] = json!([self.tag]);
        described["operationId"] = self.operation_id.into();
        described["summary"] = self.says.into();
        described["description"] = [self.more, &follow].join(" ").trim().into();
        described["parameters"] = id.into_iter().chain(by_client()).collect();
        described["responses"]["202"] = begun();
        described
    }
}

impl Count {
    fn described(&self) -> Value {
        let groups = json!({ "type": "array", "items": of("MessageGroup") });
        let mut described = asks(&of("MessageCountBody"), ("The groups", &groups));
        described["tags"] = json!(["messages"]);
        described["operationId"] = self.operation_id.into();
        described["summary"] = self.says.into();
        described["description"] = self.more.into();
        described
    }
}

/// A request with this body, and its answer.
fn asks(body: &Value, (done, answer): (&str, &Value)) -> Value {
    let in_json = |schema: &Value| json!({ "application/json": { "schema": schema } });
    json!({
        "requestBody": { "content": in_json(body), "required": true },
        "responses": {
            "200": { "description": done, "content": in_json(answer) },
            "default": Problem::responses()["default"],
        },
    })
}

/// The answer to whoever waits for no end.
fn begun() -> Value {
    json!({
        "description": "With `Prefer: respond-async`: the operation has begun. `Location` leads to it",
        "content": { "application/json": { "schema": of("OperationEntry") } },
    })
}

/// The header of a change.
fn by_client() -> Vec<Value> {
    ByClient::into_params(|| None).into_iter().filter_map(|one| serde_json::to_value(one).ok()).collect()
}

fn of(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}
