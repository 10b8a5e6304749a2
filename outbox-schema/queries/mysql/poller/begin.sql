BEGIN;
/*!80000 SET SESSION wait_timeout = 2 */ /*M! DO 0 */ -- See session.sql.
