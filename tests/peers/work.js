// What each queue is given to do: rows of the same body, and one request for each of them.
import { Pool } from 'undici'
import pg from 'pg'

export const databaseUrl = process.env.DATABASE_URL
export const rows = Number(process.env.ROWS)
export const settings = JSON.parse(process.env.SETTINGS)

export const payload = { order: 1, text: 'x'.repeat(225) }

const target = new URL(process.env.TARGET)
const connections = new Pool(target.origin, { connections: settings.requests, pipelining: 1 })

export async function post(body) {
  const answer = await connections.request({
    path: target.pathname,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body)
  })
  await answer.body.dump()
  if (answer.statusCode >= 300) throw new Error(`answered ${answer.statusCode}`)
}

// The rows in pieces of a size that one statement takes.
export function pieces(size) {
  const piece = (_, place) => Math.min(size, rows - place * size)
  return Array.from({ length: Math.ceil(rows / size) }, piece)
}

export async function withClient(use) {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  await use(client)
  // What the server would else do in the middle of the drain.
  await client.query('VACUUM ANALYZE')
  await client.query('CHECKPOINT')
  await client.end()
}
