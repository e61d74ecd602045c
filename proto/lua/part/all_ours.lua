-- For a list of names: whether all keys are ours, whose value is the token in ARGV[1] with the list's hash behind it.
-- Otherwise the script ends here, with the answer not_ours, which stands above.
local pcall, keys, argv = redis.pcall, KEYS, ARGV
for i = 1, #keys do
    local value = pcall('GET', keys[i])
    if value ~= argv[1] then
        if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then return value end
        return not_ours
    end
end
