-- MOVE_ALL: MOVE of a list of names, if all keys are ours.
--
-- KEYS    the locks
-- ARGV    1 the value, 2 the new one
-- answer  1: moved; 0: one of the keys is not ours
--
-- > SET redlock:a t1
-- > move_all redlock:a redlock:b , t1 t2 -> 0
-- > SET redlock:b t1
-- > move_all redlock:a redlock:b , t1 t2 -> 1
-- > MGET redlock:a redlock:b             -> t2 t2
local not_ours = 0
-- include: all_ours
for i = 1, #keys do
    local done = pcall('SET', keys[i], argv[2], 'KEEPTTL')
    if done.err then return done end
end
return 1
