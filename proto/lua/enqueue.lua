-- ENQUEUE: this daemon joins the queue of a name, and the daemon that has the key is told that somebody waits.
--
-- KEYS    the lock; its queue; its writer's mark
-- ARGV    1 for how many ms this daemon's head has waited, 2 this daemon, 3 how channels begin, 4 the name,
--         5 how long the queue lives, in ms, 6 whether the head is a reader ('1')
-- answer  1 the TTL that the key has left, in ms (-1: none; -2: there is no key), 2 how many heard that somebody waits
--         (-1: PUBLISH is not allowed), 3 1: a writer's mark was left; 2: the key is a mark that keeps the name
--
-- Nobody holds a name that is kept, so nobody is told, and that counts as heard: the one who waits knows the end.
--
-- For a reader the TTL is -2 where readers have the name, unless a mark bars it: then the mark's daemon is woken if the
-- name is free, and a mark of a daemon that is gone is removed. A writer leaves a mark where it finds readers. None of
-- the readers' daemons need be told: each reader's release wakes, if it is the last.
--
-- > enqueue redlock:job redlock:,queue:job redlock:,writer:job , 0 d1d1d1d1 redlock:,wake: job 9000 0 -> -2 0 0
-- > SET redlock:job d2d2d2d2
-- > enqueue redlock:job redlock:,queue:job redlock:,writer:job , 0 d1d1d1d1 redlock:,wake: job 9000 0 -> -1 0 0
-- > ZRANGE redlock:,queue:job 0 -1 -> d1d1d1d1
-- > SET redlock:job d1d1d1d1040000000000000000000000cbec648d
-- > enqueue redlock:job redlock:,queue:job redlock:,writer:job , 0 d3d3d3d3 redlock:,wake: job 9000 0 -> -1 1 2
-- include: say
-- include: bars
-- include: made
local added = pcall('ZADD', queue, 'NX', now() - ARGV[1], ARGV[2])
if type(added) == 'table' then return added end
pcall('PEXPIRE', queue, ARGV[5])
local ttl, heard, left = pcall('PTTL', KEYS[1]), 0, 0
local value, came = pcall('GET', KEYS[1]), now() - ARGV[1]
if type(value) == 'string' and marks(value) then
    heard, left = 1, 2
elseif type(value) == 'string' then
    heard = say(string.sub(value, 1, 8), 't')
elseif value and type(pcall('ZSCORE', KEYS[1], '')) == 'table' then
    -- The key is of yet another type: nobody is told.
elseif ARGV[6] == '1' then
    local owner = bars(KEYS[3], ARGV[2], came)
    if owner and not value then
        pcall('ZREM', queue, owner)
        heard = say(owner, 'w')
        if heard == 0 then
            pcall('DEL', KEYS[3])
            owner = nil
        end
    else
        heard = 1
    end
    ttl = owner and pcall('PTTL', KEYS[3]) or -2
elseif value then
    heard = 1
    if not bars(KEYS[3], ARGV[2], came) then
        local set = pcall('SET', KEYS[3], string.format('%.0f %s', came, ARGV[2]), 'PX', 2000)
        if not set.err then left = 1 end
    end
end
if type(heard) == 'table' then heard = -1 end
return {ttl, heard, left}
