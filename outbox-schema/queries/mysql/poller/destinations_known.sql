  -- Where there are more: channels, then what is paused, and of those what opens soonest.
ORDER BY LOCATE(':', destination) > 0, (paused_until > UTC_TIMESTAMP(6)) IS NOT TRUE,
         GREATEST(COALESCE(paused_until, aside_until), COALESCE(aside_until, paused_until)), destination
LIMIT ?
