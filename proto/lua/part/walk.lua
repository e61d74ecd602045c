-- walk(): takes the first other daemon off the queue and wakes it. If nobody hears that, the daemon is gone, or polls:
-- the next one is woken then, and told that it comes after a daemon that polls. 2 and for how many ms the woken one
-- had waited; 1: nobody else is there; -1: somebody did not listen, or the queue cannot be read; -2: PUBLISH is not
-- allowed. An error of PUBLISH must not hide that a key was deleted before.
-- include: say
local function walk()
    local answer = 1
    for i = 1, 64 do
        local first = pcall('ZRANGE', queue, 0, 1, 'WITHSCORES')
        if first.err then return -1 end
        local at = first[1] == ARGV[2] and 3 or 1
        local id = first[at]
        if not id then break end
        local removed = pcall('ZREM', queue, id)
        if type(removed) == 'table' then return removed end
        local heard = say(id, answer < 0 and 'l' or 'w')
        if type(heard) == 'table' then
            pcall('ZADD', queue, first[at + 1], id)
            pcall('PEXPIRE', queue, ARGV[5])
            return -2
        end
        if heard > 0 then return answer < 0 and answer or 2 + math.max(0, now() - first[at + 1]) end
        answer = -1
    end
    return answer
end
