-- A part of the tables here.
SELECT 1
