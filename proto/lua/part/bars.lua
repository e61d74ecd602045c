-- A writer's mark, "<when it came> <daemon>", stands in the way of readers of other daemons that came later.
-- bars(mark, id, came): whose mark that is; nil or false: no mark bars daemon id, whose reader came then.
local function bars(mark, id, came)
    local text = redis.pcall('GET', mark)
    local since, owner = string.match(type(text) == 'string' and text or '', '^(%d+) (%x+)$')
    return since and owner ~= id and tonumber(since) < came and owner
end
