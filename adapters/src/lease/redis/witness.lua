-- Keeps the highest epoch and the newest lineage that any replica saw, as `EPOCH TIMELINE SERVER`, and answers both. Of two servers
-- that nothing orders, the one of the higher epoch is kept. What is no such text stays, and is answered as it is.
local function witness(key, seen)
    local kept = redis.pcall('GET', key)
    if type(kept) == 'table' then
        return kept.err
    end
    local function parts(text)
        local epoch, timeline, server = string.match(text, '^(%d+) (%d+) (.*)$')
        return tonumber(epoch), tonumber(timeline), server
    end
    local epoch, timeline, server = parts(seen)
    if kept then
        local kept_epoch, kept_timeline, kept_server = parts(kept)
        if not kept_epoch then
            return kept
        end
        local same = server == kept_server
        if (same and kept_timeline > timeline) or server == '' or (not same and kept_server ~= '' and kept_epoch >= epoch) then
            timeline, server = kept_timeline, kept_server
        end
        epoch = math.max(epoch, kept_epoch)
    end
    local newest = string.format('%.0f %d %s', epoch, timeline, server)
    if newest ~= kept then
        redis.call('SET', key, newest)
    end
    return newest
end
