COMMIT;
/*!80000 SET SESSION wait_timeout = 20 */ /*M! DO 0 */ -- See session.sql.
