SELECT 'synchronous' AS name, CAST(synchronous AS TEXT) AS setting FROM pragma_synchronous
