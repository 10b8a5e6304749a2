// https://worker.graphile.org: `fill` puts the jobs in, `run` works on them until it is killed.
import { run, runMigrations } from 'graphile-worker'
import { databaseUrl, payload, pieces, post, settings, withClient } from './work.js'

const ADD = `SELECT count(*) FROM graphile_worker.add_jobs(
    array(SELECT json_populate_recordset(null::graphile_worker.job_spec, $1::json)))`

if (process.argv[2] === 'fill') {
  await runMigrations({ connectionString: databaseUrl })
  await withClient(async client => {
    for (const count of pieces(10_000)) {
      await client.query(ADD, [JSON.stringify(Array(count).fill({ identifier: 'send', payload }))])
    }
  })
} else {
  const { requests, localQueue, completeEvery } = settings
  const runner = await run({
    taskList: { send: post },
    preset: {
      worker: {
        connectionString: databaseUrl,
        concurrentJobs: requests,
        maxPoolSize: 25,
        localQueue: { size: localQueue },
        completeJobBatchDelay: completeEvery,
        failJobBatchDelay: completeEvery
      }
    }
  })
  await runner.promise
}
