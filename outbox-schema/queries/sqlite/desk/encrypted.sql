SELECT 'cipher', ''
