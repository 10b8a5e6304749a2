-- A part of the tables here.
SELECT true
