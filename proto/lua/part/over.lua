-- A reader whose time is over counts as gone, and is removed here. A key of yet another type is not ours. Needs clock.
local over = pcall('ZRANGE', key, '-inf', now, 'BYSCORE')
if over.err then return string.find(over.err, 'WRONGTYPE', 1, true) and 0 or over end
for i = 1, #over do
    pcall('ZREM', key, over[i])
end
