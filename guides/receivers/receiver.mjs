// A receiver of signed webhooks: it verifies each, works on it once, and answers so that the sender does the right thing.
//
// Needs nothing but Node. Run: WEBHOOK_SECRET=whsec_... node receiver.mjs 8080

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const secret = Buffer.from(process.env.WEBHOOK_SECRET.replace(/^whsec_/, ""), "base64");
const TOLERANCE_SECONDS = 5 * 60;

/** Whether one of the signatures is ours, over these very bytes, and no older than the tolerance. */
function isGenuine(headers, body) {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures } = headers;
  if (!id || !signatures || !/^\d+$/.test(timestamp ?? "")) return false;
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false;
  const expected = createHmac("sha256", secret).update(`${id}.${timestamp}.`).update(body).digest();
  return signatures.split(" ").some((versioned) => {
    const [version, signature] = versioned.split(",");
    const given = Buffer.from(signature ?? "", "base64");
    return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

// In memory, for the example. Keep the ids in your database, in one transaction with what the messages are about: else a
// crash between the two loses a message or processes it twice.
const processed = new Map();

function processOnce(id, message) {
  if (processed.has(id)) return false;
  processed.set(id, message);
  return true;
}

async function receive(request, response) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  // Not from the sender, or changed on its way: no repetition helps.
  if (!isGenuine(request.headers, body)) return response.writeHead(400).end();
  const fresh = processOnce(request.headers["webhook-id"], JSON.parse(body));
  // A message that came before has been processed: it is accepted all the same.
  response.writeHead(fresh ? 200 : 204).end();
}

const server = createServer((request, response) => {
  receive(request, response).catch(() => {
    // Ours to mend: the sender tries again.
    if (!response.headersSent) response.writeHead(503);
    response.end();
  });
});
server.listen(Number(process.argv[2]), "127.0.0.1", () => console.log(`listening on ${server.address().port}`));
