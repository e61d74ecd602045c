-- RELEASE_ALL: deletes each key of a list of names that is ours. Another daemon whose keys they were gets a letter
-- about the first name.
--
-- KEYS    the locks
-- ARGV    1 the value, 2 this daemon, 3 how channels begin; without these two nobody gets a letter
-- answer  1: there were some; 0: none
--
-- > SET redlock:b t1
-- > release_all redlock:a redlock:b , t1 -> 1
-- > release_all redlock:a redlock:b , t1 -> 0
local pcall, some = redis.pcall, 0
for i = 1, #KEYS do
    local value = pcall('GET', KEYS[i])
    if value == ARGV[1] then
        local done = pcall('DEL', KEYS[i])
        if type(done) == 'table' then return done end
        some = 1
    elseif type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then
        return value
    end
end
if some == 1 and ARGV[3] then
    local whose = ARGV[1]
    -- include: letter
end
return some
