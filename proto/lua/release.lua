-- RELEASE: deletes the key if it is ours, as on the Redlock page, and then wakes the first of its queue. Another daemon
-- whose key it was (its client was taken over) gets a letter.
--
-- KEYS    the lock; its queue, without which nobody is told and nobody woken
-- ARGV    1 the token, 2 this daemon, 3 how channels begin, 4 the name, 5 how long the queue lives, in ms,
--         6 whether this daemon goes to the end of the queue ('1') or leaves it, 7 and 8 other tokens that the key
--         may have
-- answer  0: not ours; 1: deleted, and nobody was woken; else as walk() tells it
--
-- > SET redlock:job t1
-- > release redlock:job , t2                                                       -> 0
-- > release redlock:job , t1                                                       -> 1
-- > SET redlock:job t3
-- > release redlock:job redlock:,queue:job , t1 d1d1d1d1 redlock:,wake: job 9000 0 t2 t3 -> 1
local value = redis.pcall('GET', KEYS[1])
local done = 0
if value == ARGV[1] or value == ARGV[7] or value == ARGV[8] then
    done = redis.pcall('DEL', KEYS[1])
    if done == 1 and KEYS[2] then
        local whose = value
        -- include: letter
    end
elseif type(value) == 'table' then
    if not string.find(value.err, 'WRONGTYPE', 1, true) then return value end
    -- include: clock
    -- include: over
    done = pcall('ZREM', key, ARGV[1])
    if done == 1 and KEYS[2] then
        local whose = ARGV[1]
        -- include: letter
    end
    if done == 1 then
        local last = pcall('ZRANGE', key, -1, -1, 'WITHSCORES')
        if last[2] then
            pcall('PEXPIREAT', key, last[2])
            return 1
        end
    end
end
if done == 1 and KEYS[2] then
    -- include: walk
    done = walk()
    if type(done) == 'table' then done = -1 end
    if ARGV[6] == '1' then
        pcall('ZADD', queue, now(), ARGV[2])
        pcall('PEXPIRE', queue, ARGV[5])
    else
        pcall('ZREM', queue, ARGV[2])
    end
end
return done
