import org.flywaydb.core.Flyway;

class Apply {
    public static void main(String[] arguments) {
        Flyway.configure()
            .dataSource(arguments[0], arguments[1], "")
            .locations("filesystem:" + arguments[2])
            // The test of an upgrade begins beside the tables of version 1.
            .baselineOnMigrate(true).baselineVersion("0")
            .load().migrate();
    }
}
