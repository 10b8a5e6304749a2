-- Gives the lease up where it is ARGV[1]'s, and tells the candidates. KEYS[1] lease, ARGV[1] holder, ARGV[2] channel.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
    return 0
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[2], '')
return 1
