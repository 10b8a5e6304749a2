-- KEYS[1] witness, ARGV[1] what this replica saw.
return witness(KEYS[1], ARGV[1])
