-- Sets the time to live anew where the lease is ARGV[1]'s, and answers what all replicas saw. KEYS[1] lease, KEYS[2] witness,
-- ARGV[1] holder, ARGV[2] milliseconds, ARGV[3] what this replica saw.
if redis.call('GET', KEYS[1]) ~= ARGV[1] or redis.call('PEXPIRE', KEYS[1], ARGV[2]) == 0 then
    return false
end
return witness(KEYS[2], ARGV[3])
