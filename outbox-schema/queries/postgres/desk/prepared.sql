-- How many transactions may be prepared at once, where a hint would make them fail: the trigger is on, and no role does without.
SELECT setting::bigint AS most FROM pg_settings
WHERE name = 'max_prepared_transactions' AND setting <> '0'
  AND EXISTS (SELECT FROM pg_trigger
              WHERE tgrelid = 'outbox'::regclass AND tgname = 'outbox_wakeup' AND tgenabled <> 'D')
  AND NOT EXISTS (SELECT FROM pg_db_role_setting CROSS JOIN unnest(setconfig) AS config
                  WHERE lower(config) = 'outbox.wakeup=off')
