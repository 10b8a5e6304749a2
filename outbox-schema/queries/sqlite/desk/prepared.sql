-- No trigger gives a hint here.
SELECT 0 AS most FROM (SELECT 1 AS one) none WHERE one = 0
