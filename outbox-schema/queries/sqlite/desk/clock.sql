SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 AS now_us
