  -- Where there are more: channels, then what is paused, and of those what opens soonest.
ORDER BY strpos(destination, ':') > 0, (paused_until > now()) IS NOT TRUE, greatest(paused_until, aside_until), destination
LIMIT $1
