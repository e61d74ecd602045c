-- Tells the daemon with whose id the value `whose` begins, unless that is ARGV[2], this daemon, that its key was
-- deleted. KEYS[1] and the channel begin with the same prefix: what follows it is the name, and of a slot the number,
-- too. An error must not hide that the key was deleted.
local id = string.sub(whose, 1, 8)
if id ~= ARGV[2] then
    redis.pcall('PUBLISH', ARGV[3] .. id, 'g ' .. string.sub(KEYS[1], #ARGV[3] - 5))
end
