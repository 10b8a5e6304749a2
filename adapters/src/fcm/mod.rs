//! Delivery over the FCM HTTP v1 API: `POST {base_url}/v1/projects/{project}/messages:send`
//! (<https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages/send>).

mod fcm;
mod key_file;
mod kind;
mod refusals;
mod request;
mod response;
mod settings;
mod token;

pub use self::kind::KIND;
pub use self::settings::Settings;
pub use fcm::FcmChannel;
use fcm::{PROJECT_ID, RAMP_UP, check_project_id};
