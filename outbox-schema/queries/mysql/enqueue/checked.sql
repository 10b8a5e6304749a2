-- MySQL knows no such setting: there the mode stays as it is.
SET SESSION sql_mode = @@sql_mode /*M!100600 , SESSION check_constraint_checks = 1 */
