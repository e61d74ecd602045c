-- SET_ALL and HEAL_ALL: set all keys of a list of names, or none.
--
-- KEYS    the locks
-- ARGV    1 the value, 2 the TTL or the instant, in ms, 3 PX or PXAT
-- answer  1: set; 0, -1, ...: the first, the second, ... key was there
--
-- A script that has written before may write when the memory is full, so that only the first SET can fail; whatever
-- else fails takes back what was set.
--
-- > set_all redlock:a redlock:b , t1 9000 PX -> 1
-- > DEL redlock:a
-- > set_all redlock:a redlock:b , t2 9000 PX -> -1
-- > EXISTS redlock:a                         -> 0
local pcall, keys, argv = redis.pcall, KEYS, ARGV
for i = 1, #keys do
    local value = pcall('GET', keys[i])
    if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then return value end
    if value then return 1 - i end
end
for i = 1, #keys do
    local done = pcall('SET', keys[i], argv[1], argv[3], argv[2])
    if done.err then
        for j = 1, i - 1 do
            pcall('DEL', keys[j])
        end
        return done
    end
end
return 1
