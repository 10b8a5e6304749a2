// https://timgit.github.io/pg-boss: `fill` puts the jobs in, `run` works on them until it is killed.
import { PgBoss } from 'pg-boss'
import { databaseUrl, payload, pieces, post, settings, withClient } from './work.js'

const boss = new PgBoss({ connectionString: databaseUrl })
boss.on('error', console.error)
await boss.start()

// Each job has an outcome of its own, as a message has.
async function send({ id, data }) {
  try {
    await post(data)
    return { id, status: 'completed' }
  } catch (error) {
    return { id, status: 'failed', output: { message: error.message } }
  }
}

if (process.argv[2] === 'fill') {
  await boss.createQueue('send')
  for (const count of pieces(5_000)) {
    await boss.insert('send', Array(count).fill({ data: payload }))
  }
  await boss.stop()
  await withClient(async () => {})
} else {
  const { requests, batch } = settings
  const manner = {
    batchSize: batch,
    localConcurrency: requests / batch,
    perJobResults: true,
    pollingIntervalSeconds: 0.5,
    burstWhenBatchFull: true
  }
  await boss.work('send', manner, jobs => Promise.all(jobs.map(send)))
}
