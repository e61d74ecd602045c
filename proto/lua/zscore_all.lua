-- ZSCORE_ALL: the highest score of some buckets.
--
-- KEYS    the sorted set with the fences
-- ARGV    the buckets
-- answer  the score as text; nil: none of the buckets is there
--
-- > ZADD redlock:,fences 7 1 9 2
-- > zscore_all redlock:,fences , 1 2 3 -> 9
local pcall, most, answer = redis.pcall, -1, false
for i = 1, #ARGV do
    local score = pcall('ZSCORE', KEYS[1], ARGV[i])
    if type(score) == 'table' then return score end
    if score and tonumber(score) > most then most, answer = tonumber(score), score end
end
return answer
