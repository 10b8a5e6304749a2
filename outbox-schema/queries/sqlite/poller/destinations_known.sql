  -- Where there are more: channels, then what is paused, and of those what opens soonest.
ORDER BY instr(destination, ':') > 0, (paused_until > now.ms) IS NOT TRUE, max(coalesce(paused_until, 0), coalesce(aside_until, 0)),
         destination
LIMIT ?1
